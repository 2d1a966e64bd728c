"""Finds fields of v1beta1 in objects that say they are of v1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from dovetail.api.karpenter import NodeClaim, NodePool
from dovetail.api.older.draft import Fields, Notice, as_fields, path_text
from dovetail.api.older.fields import knows, unknown_fields
from dovetail.api.older.shapes import BetaClaim, BetaPool

_CURRENT: Final[dict[type[msgspec.Struct], type[msgspec.Struct]]] = {
    BetaPool: NodePool,
    BetaClaim: NodeClaim,
}


def stale_fields(tree: Fields, shape: type[msgspec.Struct] | None) -> Iterator[Notice]:
    """A notice for each field that v1 does not have and v1beta1 had. The object is left alone."""
    if shape is None or shape not in _CURRENT:
        return
    for path in unknown_fields(_CURRENT[shape], tree):
        if path[0] == "spec" and knows(shape, path):
            yield Notice(path_text(path), _message())
    policy = as_fields(as_fields(tree.get("spec")).get("disruption")).get("consolidationPolicy")
    if policy == "WhenUnderutilized":
        yield Notice("spec.disruption.consolidationPolicy", _message("is a value of"))


def _message(words: str = "is a field of") -> str:
    return (
        f"{words} v1beta1, and the object says it is of v1, so it is left as it is; "
        "write apiVersion karpenter.sh/v1beta1 to have it converted"
    )
