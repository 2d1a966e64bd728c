"""Does an object keep to the facts beside its fields? The same that the API server would check."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from dovetail.api.decoding import FieldProblem, join
from dovetail.api.facts import Facts
from dovetail.api.hints import Hint, fields
from dovetail.api.meta import Wire
from dovetail.units import quantity

_LONGEST: Final = 32768  # of any text, so that patterns are never tried on endless ones


def check(value: Wire, at: str = "") -> Iterator[FieldProblem]:
    """Everything wrong with an object by the facts of its type."""
    yield from _struct(value, at)


def _struct(value: Wire, at: str) -> Iterator[FieldProblem]:
    for field in fields(type(value)):
        held = getattr(value, field.attribute)
        if not field.has_default or held != field.default:
            yield from _value(held, field.hint, join(at, field.name))
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
            yield from _struct(value, at)
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
        for index, one in enumerate(value):
            yield from _value(one, hint.item, f"{at}[{index}]")
            if hint.facts.is_set and one in value[:index]:
                yield FieldProblem(f"{at}[{index}]", f"{one!r} is there twice; expected it once")


def _map(value: dict[str, object], hint: Hint, at: str) -> Iterator[FieldProblem]:
    most = hint.facts.max_properties
    if most is not None and len(value) > most:
        yield FieldProblem(at, f"has {len(value)} entries; expected at most {most}")
        return
    if hint.item is not None:
        for key in sorted(value):
            yield from _value(value[key], hint.item, join(at, key))
