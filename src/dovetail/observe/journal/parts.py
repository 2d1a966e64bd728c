"""Of which parts is a decision made, and how is each cut into lines?

Every field of the snapshot, its ledger and the plan is a part, whatever the model will hold one
day: a tuple is as many lines as it has members, a mapping one for each key, anything else one.
The certificate is none: it is large, changes each time, and follows from the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import GenericAlias
from typing import Final, get_args, get_origin

import msgspec

from dovetail.model.ledger import Ledger
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot

PODS: Final = "snapshot.pods"
INSTANCE_TYPES: Final = "snapshot.instance_types"
_APART: Final = frozenset({"snapshot.ledger", "plan.certificate"})


class Shape(StrEnum):
    """How a part is cut into lines."""

    LIST = "list"
    MAP = "map"
    ONE = "one"


class JournalPart(msgspec.Struct, frozen=True):
    """A field of the snapshot, its ledger or the plan, and what each of its lines is."""

    home: str
    field: str
    shape: Shape
    line_type: type | GenericAlias

    @property
    def name(self) -> str:
        """How records name it."""
        return f"{self.home}.{self.field}"

    def value(self, snapshot: Snapshot, plan: Plan) -> object:
        """What a decision has there."""
        homes = {"snapshot": snapshot, "ledger": snapshot.ledger, "plan": plan}
        found: object = getattr(homes[self.home], self.field)
        return found

    def lines(self, value: object) -> tuple[object, ...]:
        """The value in lines."""
        if self.shape is Shape.LIST and isinstance(value, Sequence):
            return tuple(value)
        if self.shape is Shape.MAP and isinstance(value, Mapping):
            return tuple(value.items())
        return (value,)

    def whole(self, lines: tuple[object, ...]) -> object:
        """The lines put together again. Raises ValueError if they make no such value."""
        if self.shape is Shape.LIST:
            return lines
        if self.shape is Shape.MAP:
            return dict(one for one in lines if isinstance(one, tuple))
        if len(lines) != 1:
            msg = f"{self.name} has {len(lines)} values instead of one"
            raise ValueError(msg)
        return lines[0]


def _part(home: str, found: msgspec.structs.FieldInfo) -> JournalPart:
    origin, inner = get_origin(found.type), get_args(found.type)
    if origin is tuple and inner[1:] == (...,):
        return JournalPart(home, found.name, Shape.LIST, inner[0])
    if origin is Mapping:
        return JournalPart(home, found.name, Shape.MAP, GenericAlias(tuple, inner))
    return JournalPart(home, found.name, Shape.ONE, found.type)


PARTS: Final = tuple(
    part
    for home, noun in (("snapshot", Snapshot), ("ledger", Ledger), ("plan", Plan))
    for part in (_part(home, one) for one in msgspec.structs.fields(noun))
    if part.name not in _APART
)
