"""generator — NodePools for teams, from a request: `generate(request, catalogue) -> Generated`.

Rule 1: the same request and catalogue give the same bytes; `generate` reads no clock or cluster.
Rule 2: a request that cannot be met is refused with every problem at once, each with its field.
Rule 3: providers are known by their form alone; `provider_catalogue` finds them.

    from dovetail.generator import generate, provider_catalogue

    request = {"name": "payments", "cpu": 64, "nodeClass": {"name": "default"}}
    documents = generate(request, provider_catalogue("aws")).documents
"""

from __future__ import annotations

from dovetail.generator.generate import Generated, generate
from dovetail.generator.provider import provider_catalogue, provider_names
from dovetail.generator.reading import RequestError
from dovetail.generator.request import NodePoolRequest
from dovetail.generator.schema import request_schema
from dovetail.generator.selection import ProviderCatalogue

__all__ = [
    "Generated",
    "NodePoolRequest",
    "ProviderCatalogue",
    "RequestError",
    "generate",
    "provider_catalogue",
    "provider_names",
    "request_schema",
]
