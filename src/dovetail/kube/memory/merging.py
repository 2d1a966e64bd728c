"""What does a merge patch make of an object? RFC 7386: null takes away, lists are replaced."""

from __future__ import annotations

from dovetail.kube.memory.trees import Obj
from dovetail.kube.seam import Json


def merged(target: Json, patch: Json) -> Json:
    """The target with a patch laid over it. Neither is changed."""
    if not isinstance(patch, dict):
        return patch
    made: Obj = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = merged(made.get(key), value)
    return made
