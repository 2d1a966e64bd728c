"""What does a field's annotation say? Type hints taken apart, for the CRD writer and the checks."""

from __future__ import annotations

import types
import typing
from functools import cache
from typing import Any, Final

import msgspec

from dovetail.api.facts import Facts
from dovetail.api.meta import Wire

NO_FACTS: Final = Facts()
_INT_OR_STRING: Final = frozenset({int, str})
_QUANTITY: Final = frozenset({int, str, float})


class Hint(msgspec.Struct, frozen=True):
    """One type with the facts about it. `item` is set for lists and maps, `struct` for objects."""

    base: object
    facts: Facts = NO_FACTS
    item: Hint | None = None
    struct: type[Wire] | None = None

    @property
    def is_quantity(self) -> bool:
        """Whether it is an amount with a suffix, or a bare number."""
        return self.base == _QUANTITY

    @property
    def is_int_or_string(self) -> bool:
        """Whether it may be a number or text."""
        return self.base == _INT_OR_STRING


class Field(msgspec.Struct, frozen=True):
    """One field of a wire type: what we call it, what the wire does, and what it holds."""

    attribute: str
    name: str
    hint: Hint
    default: object

    @property
    def has_default(self) -> bool:
        """Whether it may be left out."""
        return self.default is not msgspec.NODEFAULT


@cache
def fields(struct: type[Wire]) -> tuple[Field, ...]:
    """The fields of a wire type, in order."""
    hints = typing.get_type_hints(struct, include_extras=True)
    return tuple(
        Field(one.name, one.encode_name, hint(hints[one.name]), _default(one))
        for one in msgspec.structs.fields(struct)
    )


def _default(field: msgspec.structs.FieldInfo) -> object:
    # Empty maps are given by a factory, since they are mutable.
    factory = field.default_factory
    return field.default if factory is msgspec.NODEFAULT else factory()


def hint(written: Any) -> Hint:  # noqa: ANN401  type hints have no common type
    """An annotation, taken apart."""
    if typing.get_origin(written) is typing.Annotated:
        inner, *more = typing.get_args(written)
        facts = next((one for one in more if isinstance(one, Facts)), NO_FACTS)
        found = hint(inner)
        return found if facts is NO_FACTS else msgspec.structs.replace(found, facts=facts)
    if isinstance(written, types.UnionType) or typing.get_origin(written) is typing.Union:
        return _union(written)
    origin, arguments = typing.get_origin(written), typing.get_args(written)
    if origin is tuple:
        return Hint(tuple, item=hint(arguments[0]))
    if origin is dict:
        return Hint(dict, item=hint(arguments[1]))
    if isinstance(written, type) and issubclass(written, Wire):
        return Hint(Wire, struct=written)
    return Hint(written)


def _union(written: Any) -> Hint:  # noqa: ANN401  as above
    members = [one for one in typing.get_args(written) if one is not type(None)]
    return hint(members[0]) if len(members) == 1 else Hint(frozenset(members))
