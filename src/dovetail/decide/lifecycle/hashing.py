"""Has a NodePool's template changed since a claim was made from it? One number says so.

The number is the reference's, bit for bit (spec/core.md 1.2), so that a fleet that was made by it
does not drift when Dovetail takes over. Every value is hashed with FNV-1 over 64 bits, little
endian. Maps and lists do not depend on order; zero values are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import reduce
from operator import xor
from typing import Final

from dovetail.model.pool import NodeClassRef, NodePool
from dovetail.model.taints import Taint

HASH_VERSION: Final = "v3"
_OFFSET: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3
_MASK: Final = 2**64 - 1
_Field = tuple[str, int | None]  # the name, and the hash of the value unless that is zero


def template_hash(pool: NodePool) -> str:
    """The hash of what claims are made from; requirements, limits, weight, replicas and
    everything about disruption do not count.
    """
    spec = _struct(
        "NodeClaimTemplateSpec",
        ("Taints", _set(map(_taint, pool.taints))),
        ("StartupTaints", _set(map(_taint, pool.startup_taints))),
        ("NodeClassRef", _node_class(pool.node_class)),
        ("TerminationGracePeriod", _grace(pool.termination_grace_period)),
        ("ExpireAfter", _expiry(pool.expire_after)),
    )
    meta = _struct(
        "ObjectMeta", ("Labels", _map(pool.labels)), ("Annotations", _map(pool.annotations))
    )
    has_meta = bool(pool.labels or pool.annotations)
    template = _struct(
        "NodeClaimTemplate",
        ("ObjectMeta", meta if has_meta else None),
        ("Spec", spec if spec != _text("NodeClaimTemplateSpec") else None),
    )
    return str(template)


def _taint(taint: Taint) -> int:
    return _struct(
        "Taint",
        ("Key", _text(taint.key) if taint.key else None),
        ("Value", _text(taint.value) if taint.value else None),
        ("Effect", _text(taint.effect) if taint.effect else None),
    )


def _node_class(ref: NodeClassRef) -> int | None:
    if ref == NodeClassRef():
        return None
    return _struct(
        "NodeClassReference",
        ("Kind", _text(ref.kind) if ref.kind else None),
        ("Name", _text(ref.name) if ref.name else None),
        ("Group", _text(ref.group) if ref.group else None),
    )


def _grace(span: timedelta | None) -> int | None:
    """A period of nothing is there, and yet has nothing in it."""
    return (
        None if span is None else _struct("Duration", ("Duration", _nanos(span) if span else None))
    )


def _expiry(span: timedelta | None) -> int | None:
    return None if span is None else _struct("NillableDuration", ("Duration", _nanos(span)))


def _nanos(span: timedelta) -> int:
    return _fnv(_bytes(span // timedelta(microseconds=1) * 1000 & _MASK))


def _struct(type_name: str, *fields: _Field) -> int:
    result = _text(type_name)
    for name, value in fields:
        if value is not None:
            result = _fnv(_bytes(result ^ _fnv(_bytes(_text(name), value))))
    return result


def _map(by_key: Mapping[str, str]) -> int | None:
    if not by_key:
        return None
    entries = (_fnv(_bytes(_text(key), _text(value))) for key, value in by_key.items())
    return _fnv(_bytes(reduce(xor, entries)))


def _set(elements: Iterable[int]) -> int | None:
    held = tuple(elements)
    return reduce(xor, held) if held else None


def _text(text: str) -> int:
    return _fnv(text.encode())


def _bytes(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8, "little") for number in numbers)


def _fnv(data: bytes) -> int:
    result = _OFFSET
    for byte in data:
        result = (result * _PRIME & _MASK) ^ byte
    return result
