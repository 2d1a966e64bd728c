"""Computes which instance types can boot an image, as requirements on their labels."""

from __future__ import annotations

from typing import Final

from dovetail import api, labels
from dovetail.providers.aws.images.aliases import Variant

GPU_COUNT: Final = f"{labels.AWS_GROUP}/instance-gpu-count"
ACCELERATOR_COUNT: Final = f"{labels.AWS_GROUP}/instance-accelerator-count"
_ARCHITECTURES: Final = {"x86_64": "amd64", "arm64": "arm64"}
_WINDOWS_BUILDS: Final = {
    Variant.WINDOWS2019: "10.0.17763",
    Variant.WINDOWS2022: "10.0.20348",
    Variant.WINDOWS2025: "10.0.26100",
}
_Requirements = tuple[api.NodeSelectorRequirement, ...]


def _requirement(key: str, operator: str, *values: str) -> api.NodeSelectorRequirement:
    return api.NodeSelectorRequirement(key=key, operator=operator, values=values)


_STANDARD: Final = (
    _requirement(ACCELERATOR_COUNT, "DoesNotExist"),
    _requirement(GPU_COUNT, "DoesNotExist"),
)


def architecture_of(image_architecture: str) -> str:
    """The architecture as Kubernetes names it; empty for one that has no nodes."""
    return _ARCHITECTURES.get(image_architecture, "")


def image_requirements(architecture: str, variant: Variant | None) -> _Requirements:
    """What an instance type must be to boot such an image, by key."""
    by_architecture = _requirement(labels.ARCH, "In", architecture)
    requirements = (by_architecture, *_variant_requirements(variant))
    return tuple(sorted(requirements, key=lambda requirement: requirement.key))


def _variant_requirements(variant: Variant | None) -> _Requirements:
    match variant:
        case None:
            return ()
        case Variant.STANDARD:
            return _STANDARD
        case Variant.NVIDIA:
            return (_requirement(GPU_COUNT, "Exists"),)
        case Variant.NEURON:
            return (_requirement(ACCELERATOR_COUNT, "Exists"),)
        case windows:
            return (
                _requirement(labels.OS, "In", "windows"),
                _requirement(labels.WINDOWS_BUILD, "In", _WINDOWS_BUILDS[windows]),
            )
