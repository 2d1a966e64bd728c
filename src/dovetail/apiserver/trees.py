"""Reads and changes JSON trees in which fields may be missing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import msgspec

from dovetail.kube.seam import Body, Json

Obj = dict[str, Json]

_decoder: Final = msgspec.json.Decoder(dict)
_encoder: Final = msgspec.json.Encoder()
_canonical: Final = msgspec.json.Encoder(order="sorted")
_STAMP: Final = "%Y-%m-%dT%H:%M:%SZ"


def decode(raw: bytes | msgspec.Raw) -> Obj:
    """A tree of one's own, to change at will."""
    tree: Obj = _decoder.decode(raw)
    return tree


def encode(tree: Body) -> msgspec.Raw:
    """The tree as it crosses the seam."""
    return msgspec.Raw(_encoder.encode(tree))


def canonical(tree: Json) -> bytes:
    """Equal for equal JSON, whatever its order; Python's own `==` takes False for 0."""
    return _canonical.encode(tree)


def mapping(tree: Json) -> Obj:
    """The tree if it is a mapping, else an empty one."""
    return tree if isinstance(tree, dict) else {}


def items(tree: Json) -> list[Json]:
    """The tree if it is a list, else an empty one."""
    return tree if isinstance(tree, list) else []


def at(tree: Json, *path: str) -> Json:
    """What stands there, or None."""
    for key in path:
        if not isinstance(tree, dict):
            return None
        tree = tree.get(key)
    return tree


def part(tree: Obj, *path: str) -> Obj:
    """The mapping that stands there, made if there is none."""
    for key in path:
        inner = tree.get(key)
        if not isinstance(inner, dict):
            inner = tree[key] = {}
        tree = inner
    return tree


def text(tree: Json, *path: str) -> str:
    """The text that stands there, or none."""
    value = at(tree, *path)
    return value if isinstance(value, str) else ""


def number(tree: Json, *path: str) -> int:
    """The whole number that stands there, or 0."""
    value = at(tree, *path)
    return value if isinstance(value, int) else 0


def texts(tree: Json, *path: str) -> list[str]:
    """The texts that are listed there."""
    return [item for item in items(at(tree, *path)) if isinstance(item, str)]


def labels_of(tree: Json, *path: str) -> dict[str, str]:
    """A mapping of text to text."""
    stated = mapping(at(tree, *path))
    return {key: value for key, value in stated.items() if isinstance(value, str)}


def put(tree: Obj, key: str, value: Json) -> None:
    """Set a field, or take it out where the value is None."""
    if value is None:
        tree.pop(key, None)
    else:
        tree[key] = value


def stamp(moment: datetime) -> str:
    """A moment as Kubernetes writes it: whole seconds, in UTC."""
    return moment.astimezone(UTC).strftime(_STAMP)


def condition(tree: Json, kind: str) -> Obj:
    """The status condition of that type, or an empty mapping."""
    for item in items(at(tree, "status", "conditions")):
        if text(item, "type") == kind:
            return mapping(item)
    return {}


def set_condition(tree: Obj, wanted: Obj, now: str) -> None:
    """Put a status condition in the place of the one of its type; the time stays if status does."""
    status = part(tree, "status")
    conditions = items(status.get("conditions"))
    before = condition(tree, text(wanted, "type"))
    is_same = before.get("status") == wanted.get("status")
    since = text(before, "lastTransitionTime") if is_same else ""
    entry: Obj = {**wanted, "lastTransitionTime": since or now}
    kept = [item for item in conditions if text(item, "type") != text(wanted, "type")]
    status["conditions"] = [*kept, entry]
