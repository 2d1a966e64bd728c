"""Can this selector select? Label selectors, node selectors and tolerations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from dovetail.api.decoding import FieldProblem
from dovetail.api.meta import LabelSelector, LabelSelectorRequirement
from dovetail.api.parts import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Toleration

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_SETS: Final = ("In", "NotIn")
_PRESENCE: Final = ("Exists", "DoesNotExist")
_BOUNDS: Final = ("Gt", "Lt")
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_TOLERATION_OPERATORS: Final = ("Equal", "Exists", "Gt", "Lt")
_NODE_NAME: Final = "metadata.name"


def label_selector_problems(selector: LabelSelector | None, at: str) -> Iterator[FieldProblem]:
    """What is wrong with a label selector."""
    if selector is None:
        return
    for index, one in enumerate(selector.match_expressions):
        where = f"{at}.matchExpressions[{index}]"
        yield from _expression(one, where, (*_SETS, *_PRESENCE))


def node_selector_problems(selector: NodeSelector | None, at: str) -> Iterator[FieldProblem]:
    """What is wrong with a node selector: it has terms, and each is sound."""
    if selector is None:
        return
    if not selector.node_selector_terms:
        yield FieldProblem(f"{at}.nodeSelectorTerms", "is empty; expected at least one term")
    for index, term in enumerate(selector.node_selector_terms):
        yield from node_term_problems(term, f"{at}.nodeSelectorTerms[{index}]")


def node_term_problems(term: NodeSelectorTerm, at: str) -> Iterator[FieldProblem]:
    """What is wrong with one alternative of a node selector."""
    for index, one in enumerate(term.match_expressions):
        yield from _expression(
            one, f"{at}.matchExpressions[{index}]", (*_SETS, *_PRESENCE, *_BOUNDS)
        )
    for index, one in enumerate(term.match_fields):
        where = f"{at}.matchFields[{index}]"
        if one.key != _NODE_NAME:
            yield FieldProblem(f"{where}.key", f"{one.key!r} is unknown; expected {_NODE_NAME}")
        yield from _expression(one, where, _SETS)


def _expression(
    one: LabelSelectorRequirement | NodeSelectorRequirement, at: str, operators: tuple[str, ...]
) -> Iterator[FieldProblem]:
    if not one.key:
        yield FieldProblem(f"{at}.key", "is empty; expected the key of a label")
    if one.operator not in operators:
        known = ", ".join(operators)
        yield FieldProblem(
            f"{at}.operator", f"{one.operator!r} is unknown; expected one of {known}"
        )
    elif (expected := _expected_values(one.operator, one.values)) is not None:
        yield FieldProblem(f"{at}.values", f"expected {expected} for operator {one.operator}")


def _expected_values(operator: str, values: tuple[str, ...]) -> str | None:
    """What the values should have been, if they are not."""
    if operator in _SETS:
        return None if values else "at least one value"
    if operator in _PRESENCE:
        return "no values" if values else None
    is_bound = len(values) == 1 and _INTEGER.fullmatch(values[0])
    return None if is_bound else "exactly one whole number"


def toleration_problems(one: Toleration, at: str) -> Iterator[FieldProblem]:
    """What is wrong with a toleration."""
    operator = one.operator or "Equal"
    if operator not in _TOLERATION_OPERATORS:
        known = ", ".join(_TOLERATION_OPERATORS)
        yield FieldProblem(
            f"{at}.operator", f"{one.operator!r} is unknown; expected one of {known}"
        )
    elif not one.key and operator != "Exists":
        yield FieldProblem(f"{at}.operator", "expected Exists where there is no key")
    elif operator == "Exists" and one.value:
        yield FieldProblem(f"{at}.value", "expected no value for operator Exists")
    elif operator in _BOUNDS and not _INTEGER.fullmatch(one.value):
        yield FieldProblem(
            f"{at}.value", f"{one.value!r} is no number; expected one for operator {operator}"
        )
    yield from effect_problems(one.effect, f"{at}.effect", may_be_empty=True)


def effect_problems(effect: str, at: str, *, may_be_empty: bool = False) -> Iterator[FieldProblem]:
    """What is wrong with the effect of a taint or toleration."""
    if effect not in EFFECTS and not (may_be_empty and not effect):
        yield FieldProblem(at, f"{effect!r} is unknown; expected one of {', '.join(EFFECTS)}")
