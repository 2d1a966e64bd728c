"""Which workloads can never work? The mistakes that people make most, in a real server's words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dovetail import api
from dovetail.apiserver.refusals import INVALID, REQUIRED
from dovetail.apiserver.selectors import selects
from dovetail.apiserver.trees import Obj, at, canonical, labels_of

_NEGATIVE: Final = "must be greater than or equal to 0"
_COUNTED: Final = ("replicas", "parallelism", "completions", "backoffLimit", "minReadySeconds")
_GROUPS: Final = ("apps", "batch")
_SELECTING: Final = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")


def workload_problems(kind: api.Kind, tree: Obj) -> Iterator[api.FieldProblem]:
    """What is wrong with a workload that can be told without reading its pods."""
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
