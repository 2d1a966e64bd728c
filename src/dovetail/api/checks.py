"""Checks an object against the facts beside its fields, as the API server would.

Type hints are taken apart here, for the checks and for the CRD writer.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import msgspec

from dovetail.api.decoding import FieldProblem, join, problem_of
from dovetail.api.facts import Facts
from dovetail.api.meta import Wire
from dovetail.units import quantity

_LONGEST: Final = 32768  # of any text, so that patterns are never tried on endless ones
NO_FACTS: Final = Facts()
INT_OR_STRING: Final = frozenset({int, str})
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
        Field(field.name, field.encode_name, hint(hints[field.name]), _default(field))
        for field in msgspec.structs.fields(struct)
    )


def _default(field: msgspec.structs.FieldInfo) -> object:
    # Empty maps are given by a factory, since they are mutable.
    factory = field.default_factory
    return field.default if factory is msgspec.NODEFAULT else factory()


def hint(written: Any) -> Hint:  # noqa: ANN401  type hints have no common type
    """An annotation, taken apart."""
    if typing.get_origin(written) is typing.Annotated:
        inner, *more = typing.get_args(written)
        facts = next((extra for extra in more if isinstance(extra, Facts)), NO_FACTS)
        inner_hint = hint(inner)
        return inner_hint if facts is NO_FACTS else msgspec.structs.replace(inner_hint, facts=facts)
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
    members = [member for member in typing.get_args(written) if member is not type(None)]
    return hint(members[0]) if len(members) == 1 else Hint(frozenset(members))


def known_keys(of: Hint) -> type[Wire] | None:
    """What is known of a map that may have any keys, as the fields of a wire type."""
    return None if of.facts.known_keys is None else hint(of.facts.known_keys).struct


def check(value: Wire, at: str = "") -> Iterator[FieldProblem]:
    """Everything wrong with an object by the facts of its type."""
    for field in fields(type(value)):
        own_value = getattr(value, field.attribute)
        if not field.has_default or own_value != field.default:
            yield from _value(own_value, field.hint, join(at, field.name))
    for rule in getattr(value, "rules", ()):
        if rule.holds is not None and not rule.holds(value):
            yield FieldProblem(at, rule.message)


def _value(value: object, hint: Hint, at: str) -> Iterator[FieldProblem]:
    yield from _by_type(value, hint, at)
    for rule in hint.facts.rules:
        if rule.holds is not None and not rule.holds(value):
            yield FieldProblem(at, rule.message)


def _by_type(value: object, hint: Hint, at: str) -> Iterator[FieldProblem]:
    if hint.is_quantity:
        yield from quantity_problems(value, at)
        return
    match value:
        case str():
            yield from _text(value, hint.facts, at)
        case int():
            yield from _number(value, hint.facts, at)
        case tuple():
            yield from _list(value, hint, at)
        case dict():
            yield from _map(value, hint, at)
        case Wire():
            yield from check(value, at)
        case _:
            pass  # moments and absent values have no further rules


def quantity_problems(value: object, at: str) -> Iterator[FieldProblem]:
    """What is wrong with an amount of something: no quantity, or less than nothing."""
    if not isinstance(value, str | int | float):
        return
    try:
        amount = quantity.parse(value)
    except ValueError as error:
        yield FieldProblem(at, str(error))
        return
    if amount < 0:
        yield FieldProblem(at, f"{value} is negative; expected 0 or more")


def _text(value: str, facts: Facts, at: str) -> Iterator[FieldProblem]:
    if facts.enum and value not in facts.enum:
        yield FieldProblem(at, f"{value!r} is unknown; expected one of {', '.join(facts.enum)}")
    elif facts.min_length is not None and len(value) < facts.min_length:
        yield FieldProblem(at, f"is empty; expected {facts.expected or 'a name'}")
    elif len(value) > (most := facts.max_length or _LONGEST):
        yield FieldProblem(at, f"is {len(value)} characters long; expected at most {most}")
    elif facts.pattern and not re.fullmatch(facts.pattern, value, re.ASCII):
        yield FieldProblem(at, f"{value!r} does not fit; expected {facts.expected}")


def _number(value: int, facts: Facts, at: str) -> Iterator[FieldProblem]:
    if facts.minimum is not None and value < facts.minimum:
        yield FieldProblem(at, f"{value} is too small; expected at least {facts.minimum}")
    if facts.maximum is not None and value > facts.maximum:
        yield FieldProblem(at, f"{value} is too large; expected at most {facts.maximum}")


def _list(value: tuple[object, ...], hint: Hint, at: str) -> Iterator[FieldProblem]:
    most = hint.facts.max_items
    if most is not None and len(value) > most:
        yield FieldProblem(at, f"has {len(value)} items; expected at most {most}")
        return
    if hint.item is not None:
        for index, item in enumerate(value):
            yield from _value(item, hint.item, f"{at}[{index}]")
            if hint.facts.is_set and item in value[:index]:
                yield FieldProblem(f"{at}[{index}]", f"{item!r} is there twice; expected it once")


def _map(value: dict[str, object], hint: Hint, at: str) -> Iterator[FieldProblem]:
    most = hint.facts.max_properties
    if most is not None and len(value) > most:
        yield FieldProblem(at, f"has {len(value)} entries; expected at most {most}")
        return
    shape = known_keys(hint)
    if shape is not None:
        yield from _known_keys(value, shape, at)
    elif hint.item is not None:
        for key in sorted(value):
            yield from _value(value[key], hint.item, join(at, key))


def _known_keys(value: dict[str, object], shape: type[Wire], at: str) -> Iterator[FieldProblem]:
    try:
        known = msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        yield problem_of(error, at)
        return
    yield from check(known, at)
