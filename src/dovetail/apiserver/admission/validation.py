"""Validates objects: names and labels, and the rules of each kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from dovetail import api
from dovetail.api.checks import check
from dovetail.api.facts import SCHEDULE_READABLE
from dovetail.api.meta import Wire
from dovetail.apiserver.admission.naming import metadata_problems
from dovetail.apiserver.admission.schemas import UNCHECKED, blocks_rules, schema_problems, shape
from dovetail.apiserver.refusals import INVALID, REQUIRED
from dovetail.apiserver.selectors import selects
from dovetail.apiserver.traits import Traits
from dovetail.apiserver.trees import Obj, at, canonical, encoded, items, labels_of, text
from dovetail.units import cron

_SCHEDULE: Final = re.compile(cron.PATTERN)
_NEGATIVE: Final = "must be greater than or equal to 0"
_COUNTED: Final = ("replicas", "parallelism", "completions", "backoffLimit", "minReadySeconds")
_GROUPS: Final = ("apps", "batch")
_SELECTING: Final = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")


def object_problems(kind: api.Kind, traits: Traits, tree: Obj) -> list[api.FieldProblem]:
    """Everything wrong with an object. It is brought into the shape of its definition first."""
    found = [*metadata_problems(kind, tree)]
    if traits.schema is None:
        found += _workload(kind, tree)
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


# ------------------------------------------------------------------ workloads


def _workload(kind: api.Kind, tree: Obj) -> Iterator[api.FieldProblem]:
    """The mistakes that people make most with workloads."""
    if kind.group not in _GROUPS:
        return
    for field in _COUNTED:
        count = at(tree, "spec", field)
        if isinstance(count, int) and count < 0:
            yield api.FieldProblem(f"spec.{field}", f"{INVALID}{count}: {_NEGATIVE}")
    if kind.group == "apps" and kind.name in _SELECTING:
        yield from _selector(tree)
    if (kind.group == "apps" and kind.name in _SELECTING) or kind.name == "Job":
        yield from _containers(tree)


def _containers(tree: Obj) -> Iterator[api.FieldProblem]:
    if not at(tree, "spec", "template", "spec", "containers"):
        yield api.FieldProblem("spec.template.spec.containers", REQUIRED)


def _selector(tree: Obj) -> Iterator[api.FieldProblem]:
    selector = at(tree, "spec", "selector")
    if selector is None:
        yield api.FieldProblem("spec.selector", REQUIRED)
    labels = labels_of(tree, "spec", "template", "metadata", "labels")
    if not selects(selector, labels):
        held = at(tree, "spec", "template", "metadata", "labels")
        shown = canonical(held or None).decode()
        why = "`selector` does not match template `labels`"
        yield api.FieldProblem("spec.template.metadata.labels", f"{INVALID}{shown}: {why}")
