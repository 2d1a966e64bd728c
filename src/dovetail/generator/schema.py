"""Makes the JSON schema of a request, for editors and infrastructure-as-code tools."""

from __future__ import annotations

from typing import Final

from dovetail.api.decoding import Tree
from dovetail.api.schema import of_struct
from dovetail.generator.request import NodePoolRequest

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_OF_KUBERNETES: Final = "x-kubernetes-"
_AMOUNT: Final = "x-kubernetes-int-or-string"


def request_schema() -> dict[str, Tree]:
    """The schema, with a description of each field."""
    whole = _adapted(of_struct(NodePoolRequest))
    start: dict[str, Tree] = {
        "$schema": _DIALECT,
        "title": "NodePool request",
        "description": "What `dovetail new nodepool` generates a NodePool from.",
    }
    return start | whole if isinstance(whole, dict) else start


def _adapted(tree: Tree) -> Tree:
    """As JSON Schema has it: closed objects, and amounts as numbers or text."""
    if isinstance(tree, list):
        return [_adapted(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    adapted: dict[str, Tree] = {
        key: _adapted(value)
        for key, value in tree.items()
        if not key.startswith(_OF_KUBERNETES) and (key, value) != ("format", "int64")
    }
    if _AMOUNT in tree:
        del adapted["anyOf"]
        adapted["type"] = ["number", "string"]
    if isinstance(tree.get("properties"), dict):
        adapted["additionalProperties"] = False
    return adapted
