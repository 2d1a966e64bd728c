"""Requests for NodePools that tests begin with."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from dovetail.generator import ProviderCatalogue, generate, provider_catalogue

PLAIN: Final[dict[str, Any]] = {
    "name": "payments",
    "cpu": 64,
    "nodeClass": {"name": "default"},
}
FULL: Final[dict[str, Any]] = {
    "name": "payments",
    "provider": "aws",
    "cpu": 64,
    "memory": "256Gi",
    "families": ["m7g", "c7g"],
    "architectures": ["arm64"],
    "cpuPerNode": {"min": 2, "max": 32},
    "memoryPerNode": {"min": "8Gi", "max": "128Gi"},
    "spot": "allowed",
    "zones": ["us-west-2a", "us-west-2b"],
    "labels": {"team": "payments", "cost-center": "7"},
    "taints": [{"key": "dedicated", "value": "payments", "effect": "NoSchedule"}],
    "quietHours": ["mon-fri 08:00-18:00", "22:00-06:30"],
    "weight": 10,
    "nodeClass": {
        "name": "payments-nodes",
        "role": "KarpenterNodeRole-web",
        "cluster": "web",
        "image": "al2023@v20260101",
        "disk": "100Gi",
    },
}
GPU: Final[dict[str, Any]] = {
    "name": "training",
    "gpus": 16,
    "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}],
    "nodeClass": {"name": "default"},
}
KWOK: Final[dict[str, Any]] = {"name": "trial", "provider": "kwok", "cpu": 8}


@cache
def catalogue(name: str) -> ProviderCatalogue:
    """The catalogue of a provider."""
    return provider_catalogue(name)


def text_of(request: dict[str, Any]) -> str:
    """The file that a request comes to."""
    return generate(request, catalogue(request.get("provider", "aws"))).text
