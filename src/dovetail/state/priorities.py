"""How important is a pod? Its priority, by number or by the name of a class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dovetail import api
from dovetail.model.verdict import Problem, Reason

_BUILT_IN: Final = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}


class Priorities:
    """The priority classes of a cluster, the two that every cluster has among them."""

    def __init__(self, classes: Iterable[api.PriorityClass]) -> None:
        self._value_by_name = dict(_BUILT_IN)
        self._default = 0
        self._default_name = ""
        # Of several defaults the lowest counts, as in Kubernetes; then the name decides.
        for one in sorted(classes, key=lambda one: (-one.value, one.metadata.name)):
            self._value_by_name[one.metadata.name] = one.value
            if one.global_default:
                self._default, self._default_name = one.value, one.metadata.name

    def of(self, spec: api.PodSpec) -> tuple[int, str, tuple[Problem, ...]]:
        """A pod's priority, the class it comes from, and what is wrong with that."""
        name = spec.priority_class_name
        if spec.priority is not None:
            return spec.priority, name, ()
        if not name:
            return self._default, self._default_name, ()
        value = self._value_by_name.get(name)
        if value is None:
            return 0, name, (_missing(name),)
        return value, name, ()


def _missing(name: str) -> Problem:
    return Problem(
        Reason.PRIORITY_CLASS_NOT_FOUND,
        f"PriorityClass {name} does not exist",
        f"create PriorityClass {name}, or name another in priorityClassName",
    )
