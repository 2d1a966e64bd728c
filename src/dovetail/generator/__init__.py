"""generator — NodePools for teams, from a request: `generate(request, offer) -> Generated`.

Rule 1: the same request and offer give the same bytes; nothing here reads a clock or a cluster.
Rule 2: a request that cannot be met is refused with every problem at once, each with its field.
Rule 3: providers are known by their form alone; `provider_offer` finds those that are installed.

    from dovetail.generator import generate, provider_offer

    request = {"name": "payments", "cpu": 64, "nodeClass": {"name": "default"}}
    documents = generate(request, provider_offer("aws")).documents
"""

from __future__ import annotations

from dovetail.generator.generate import Generated, generate
from dovetail.generator.offer import ProviderOffer
from dovetail.generator.provider import provider_names, provider_offer
from dovetail.generator.reading import RequestError
from dovetail.generator.request import NodePoolRequest
from dovetail.generator.schema import request_schema

__all__ = [
    "Generated",
    "NodePoolRequest",
    "ProviderOffer",
    "RequestError",
    "generate",
    "provider_names",
    "provider_offer",
    "request_schema",
]
