"""Validates objects: names and labels, and the rules of each kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from dovetail import api
from dovetail.api.checks import check
from dovetail.api.facts import SCHEDULE_READABLE
from dovetail.api.meta import Wire
from dovetail.api.poolrules import is_label_key, is_label_value
from dovetail.api.validation import requirement_problems
from dovetail.apiserver.admission.schemas import UNCHECKED, blocks_rules, schema_problems, shape
from dovetail.apiserver.deletion import FOREGROUND, ORPHAN
from dovetail.apiserver.refusals import INVALID, REQUIRED
from dovetail.apiserver.selectors import selects
from dovetail.apiserver.traits import Traits
from dovetail.apiserver.trees import (
    Obj,
    at,
    canonical,
    encode,
    items,
    labels_of,
    mapping,
    text,
    texts,
)
from dovetail.units import cron

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_SEGMENT: Final = re.compile(r"(?!\.{1,2}$)[^/%]{1,253}")
_FINALIZERS: Final = (FOREGROUND, ORPHAN, "kubernetes")
_RULED_BY_RBAC: Final = "rbac.authorization.k8s.io"
_ENDS: Final = "and must start and end with an alphanumeric character"
_NO_LABEL: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    f"{_ENDS} (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_NO_SUBDOMAIN: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    f"'.', {_ENDS} (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_NO_KEY: Final = (
    f"a valid label key must consist of alphanumeric characters, '-', '_' or '.', {_ENDS} "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' "
    "(e.g. 'example.com/MyName')"
)
_NO_VALUE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    f"'.', {_ENDS} (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_MOST_OF_LABEL, _MOST_OF_NAME = 63, 253


def metadata_problems(kind: api.Kind, tree: Obj) -> Iterator[api.FieldProblem]:
    """What is wrong with an object's names, labels, finalizers and owners."""
    is_label = (kind.group, kind.name) == ("", "Namespace")
    name = text(tree, "metadata", "name")
    yield from _segment(name) if kind.group == _RULED_BY_RBAC else _name(name, is_label=is_label)
    labels = labels_of(tree, "metadata", "labels")
    yield from _label_problems(tuple(labels.items()))
    if len(labels) != len(mapping(at(tree, "metadata", "labels"))):
        yield api.FieldProblem("metadata.labels", "has a value that is no text; expected text")
    for index, finalizer in enumerate(texts(tree, "metadata", "finalizers")):
        if "/" not in finalizer and finalizer not in _FINALIZERS:
            message = f"{finalizer!r} is not qualified; expected a name such as example.com/hold"
            yield api.FieldProblem(f"metadata.finalizers[{index}]", message)
    references = items(at(tree, "metadata", "ownerReferences"))
    if sum(at(reference, "controller") is True for reference in references) > 1:
        message = "has two controllers; expected one at most"
        yield api.FieldProblem("metadata.ownerReferences", message)


def _segment(name: str) -> Iterator[api.FieldProblem]:
    if not _SEGMENT.fullmatch(name):
        yield _no_name(name, "may not contain '/' or '%'")


@lru_cache(maxsize=65536)
def _name(name: str, *, is_label: bool) -> tuple[api.FieldProblem, ...]:
    """An object keeps its name as often as it is written."""
    form, expected = (_LABEL, _NO_LABEL) if is_label else (_SUBDOMAIN, _NO_SUBDOMAIN)
    most = _MOST_OF_LABEL if is_label else _MOST_OF_NAME
    if len(name) > most:  # first, so that no endless name is matched
        return (_no_name(name, f"must be no more than {most} bytes"),)
    return () if re.fullmatch(form, name) else (_no_name(name, expected),)


def _no_name(name: str, why: str) -> api.FieldProblem:
    return api.FieldProblem("metadata.name", f'{INVALID}"{name}": {why}')


@lru_cache(maxsize=65536)
def _label_problems(labels: tuple[tuple[str, str], ...]) -> tuple[api.FieldProblem, ...]:
    """Many objects have the same labels."""
    wrong = [(key, _NO_KEY) for key, _ in labels if not is_label_key(key)]
    wrong += [(value, _NO_VALUE) for _, value in labels if not is_label_value(value)]
    return tuple(
        api.FieldProblem("metadata.labels", f'{INVALID}"{label}": {why}') for label, why in wrong
    )


_SCHEDULE: Final = re.compile(cron.PATTERN)
_NEGATIVE: Final = "must be greater than or equal to 0"
_COUNTED: Final = ("replicas", "parallelism", "completions", "backoffLimit", "minReadySeconds")
_GROUPS: Final = ("apps", "batch")
_SELECTING: Final = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")


def object_problems(kind: api.Kind, traits: Traits, tree: Obj) -> list[api.FieldProblem]:
    """Everything wrong with an object. It is brought into the shape of its definition first."""
    problems = [*metadata_problems(kind, tree)]
    if traits.schema is None:
        problems += _workload(kind, tree)
        return problems or list(_by_kind(kind, traits, tree))
    shape(tree, traits.schema)
    problems += schema_problems(tree, traits.schema)
    if any(map(blocks_rules, problems)):
        return [*problems, UNCHECKED]
    known = {problem.field for problem in problems}
    rules = (problem for problem in _by_rules(kind, traits, tree) if problem.field not in known)
    return [*problems, *rules]


def _taints(tree: Obj) -> Iterator[api.FieldProblem]:
    seen: set[tuple[str, str]] = set()
    for index, item in enumerate(items(at(tree, "spec", "taints"))):
        taint = (text(item, "key"), text(item, "effect"))
        if taint in seen:
            message = "is there twice; expected one taint for each key and effect"
            yield api.FieldProblem(f"spec.taints[{index}]", message)
        seen.add(taint)


def _by_kind(kind: api.Kind, traits: Traits, tree: Obj) -> Iterator[api.FieldProblem]:
    try:
        value = api.read(kind, encode(tree))
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
        value = api.read(kind, encode(tree))
    except api.DecodeError as error:
        yield error.problem
        return
    for field in ("spec", "status"):
        part: object = getattr(value, field, None)
        if isinstance(part, Wire):
            yield from (
                problem for problem in check(part, field) if problem.message in traits.rule_messages
            )
    for problem in requirement_problems(value, traits.extensions):
        if problem.message in traits.rule_messages:
            yield problem
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
        pod_labels = at(tree, "spec", "template", "metadata", "labels")
        shown = canonical(pod_labels or None).decode()
        why = "`selector` does not match template `labels`"
        yield api.FieldProblem("spec.template.metadata.labels", f"{INVALID}{shown}: {why}")
