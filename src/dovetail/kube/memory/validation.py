"""May an object be kept? Rules about names and labels, and the rules of its kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from dovetail import api
from dovetail.api.checks import check
from dovetail.api.facts import SCHEDULE_READABLE
from dovetail.api.meta import Wire
from dovetail.kube.memory.naming import metadata_problems
from dovetail.kube.memory.schema_rules import UNCHECKED, blocks_rules, schema_problems
from dovetail.kube.memory.shape import shape
from dovetail.kube.memory.traits import Traits
from dovetail.kube.memory.trees import Obj, at, encoded, items, text
from dovetail.kube.memory.workload_rules import workload_problems
from dovetail.units import cron

_SCHEDULE: Final = re.compile(cron.PATTERN)


def object_problems(kind: api.Kind, traits: Traits, tree: Obj) -> list[api.FieldProblem]:
    """Everything wrong with an object. It is brought into the shape of its definition first."""
    found = [*metadata_problems(kind, tree)]
    if traits.schema is None:
        found += workload_problems(kind, tree)
        return found or list(_by_kind(kind, traits, tree))
    shape(tree, traits.schema)
    found += schema_problems(tree, traits.schema)
    if any(map(blocks_rules, found)):
        return [*found, UNCHECKED]
    known = {one.field for one in found}
    rules = (one for one in _by_rules(kind, traits, tree) if one.field not in known)
    return [*found, *rules]


def _taints(tree: Obj) -> Iterator[api.FieldProblem]:
    seen: set[tuple[str, str]] = set()
    for index, one in enumerate(items(at(tree, "spec", "taints"))):
        taint = (text(one, "key"), text(one, "effect"))
        if taint in seen:
            said = "is there twice; expected one taint for each key and effect"
            yield api.FieldProblem(f"spec.taints[{index}]", said)
        seen.add(taint)


def _by_kind(kind: api.Kind, traits: Traits, tree: Obj) -> Iterator[api.FieldProblem]:
    try:
        value = api.read(kind, encoded(tree))
    except api.DecodeError as error:
        yield error.problem
        return
    if traits.is_custom:
        return
    yield from api.problems(value)
    if kind.name == "Node":
        yield from _taints(tree)


def _by_rules(kind: api.Kind, traits: Traits, tree: Obj) -> Iterator[api.FieldProblem]:
    """What the rules in CEL of a definition say, by their twins in Python.

    Only what a definition can say: the rest is for the controller to find, and to report.
    """
    try:
        value = api.read(kind, encoded(tree))
    except api.DecodeError as error:
        yield error.problem
        return
    for field in ("spec", "status"):
        held: object = getattr(value, field, None)
        if isinstance(held, Wire):
            yield from (one for one in check(held, field) if one.message in traits.rule_messages)
    if isinstance(value, api.NodePool):
        yield from _schedules(value)


def _schedules(pool: api.NodePool) -> Iterator[api.FieldProblem]:
    """What a rule of the definition says of schedules, as roughly as the API server does."""
    for index, budget in enumerate(pool.spec.disruption.budgets):
        if budget.schedule is not None and not _SCHEDULE.fullmatch(budget.schedule):
            at_field = f"spec.disruption.budgets[{index}].schedule"
            yield api.FieldProblem(at_field, SCHEDULE_READABLE.message)
