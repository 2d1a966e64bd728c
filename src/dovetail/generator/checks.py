"""Finds contradictions in a request that can be seen without instance types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from dovetail import labels
from dovetail.api.checks import quantity_problems
from dovetail.api.decoding import FieldProblem
from dovetail.api.poolrules import is_label_key, is_label_value
from dovetail.generator import quiet_hours
from dovetail.generator.request import EFFECTS, Amount, NodePoolRequest, PerNodeRange
from dovetail.units import quantity

_MOST_TOGETHER: Final = "the most that all nodes of the pool have together"


def contradictions(request: NodePoolRequest) -> Iterator[FieldProblem]:
    """Everything wrong with a request in itself. Fields with a problem of their own are passed."""
    if not request.name:
        yield FieldProblem("name", "is missing; expected the name of the NodePool")
    yield from _totals(request)
    yield from _range(request.cpu_per_node, "cpuPerNode", "cpu", request.cpu)
    yield from _range(request.memory_per_node, "memoryPerNode", "memory", request.memory)
    for name, values in (
        ("families", request.families),
        ("architectures", request.architectures),
        ("zones", request.zones),
        ("quietHours", request.quiet_hours),
    ):
        yield from _repeated(name, values)
    yield from _labels(request)
    yield from _taints(request)
    yield from _quiet_hours(request)


def amount(resource: str, value: Amount | None) -> int | None:
    """As decisions count it; None where it is absent, negative or no amount."""
    if value is None or next(quantity_problems(value, resource), None) is not None:
        return None
    return quantity.amount(resource, value)


def _totals(request: NodePoolRequest) -> Iterator[FieldProblem]:
    totals = {"cpu": request.cpu, "memory": request.memory, "gpus": request.gpus}
    if all(total is None for total in totals.values()):
        yield FieldProblem(
            "cpu, memory, gpus",
            f"nothing is requested; expected at least one of them: {_MOST_TOGETHER}",
        )
    for name in ("cpu", "memory"):
        if amount(name, totals[name]) == 0:
            yield FieldProblem(name, f"0 allows no node; expected {_MOST_TOGETHER}, or no {name}")


def _range(
    requested: PerNodeRange, at: str, resource: str, total: Amount | None
) -> Iterator[FieldProblem]:
    least, most = amount(resource, requested.min), amount(resource, requested.max)
    if resource == "cpu":
        for name, cpu_millis in (("min", least), ("max", most)):
            if cpu_millis is not None and cpu_millis % 1000:
                yield FieldProblem(
                    f"{at}.{name}", "is no whole number of vCPU; expected 1, 2, 4, …"
                )
    if most == 0:
        yield FieldProblem(f"{at}.max", "0 allows no node; expected more, or no max")
    if least is not None and most is not None and least > most:
        yield FieldProblem(
            at, f"min {requested.min} is above max {requested.max}; expected min at most max"
        )
    limit = amount(resource, total)
    if least is not None and limit and least > limit:
        yield FieldProblem(
            f"{at}.min",
            f"{requested.min} on one node is more than {resource} allows for all nodes together, "
            f"{total}; expected at most {total}, or a higher {resource}",
        )


def _repeated(at: str, values: Sequence[str]) -> Iterator[FieldProblem]:
    for index, value in enumerate(values):
        if value in values[:index]:
            yield FieldProblem(f"{at}[{index}]", f"{value!r} is there twice; expected it once")
        elif not value:
            yield FieldProblem(f"{at}[{index}]", "is empty; expected a name, or no item")


def _labels(request: NodePoolRequest) -> Iterator[FieldProblem]:
    for key in sorted(request.labels):
        at = f"labels.{key}"
        normal = labels.normalize(key)
        if not is_label_key(key):
            yield FieldProblem(
                at, "is no label key; expected a name such as team or example.com/team"
            )
        elif labels.is_restricted(normal):
            yield FieldProblem(at, f"{key} is set by the autoscaler; expected another label")
        elif labels.is_well_known(normal):
            yield FieldProblem(
                at, f"{key} says what a node is; expected {_field_of(normal)} or another label"
            )


def _field_of(key: str) -> str:
    fields = {
        labels.ZONE: "zones",
        labels.ARCH: "architectures",
        labels.CAPACITY_TYPE: "spot",
        labels.NODE_POOL: "name",
    }
    return fields.get(key, "families, cpuPerNode")


def _taints(request: NodePoolRequest) -> Iterator[FieldProblem]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(request.taints):
        at = f"taints[{index}]"
        if not taint.key:
            yield FieldProblem(f"{at}.key", "is missing; expected a name such as dedicated")
        elif not is_label_key(taint.key):
            yield FieldProblem(
                f"{at}.key", f"{taint.key!r} is no taint key; expected a name such as dedicated"
            )
        if not is_label_value(taint.value):
            yield FieldProblem(
                f"{at}.value", f"{taint.value!r} is no taint value; expected a name, or no value"
            )
        if not taint.effect:
            yield FieldProblem(f"{at}.effect", f"is missing; expected one of {', '.join(EFFECTS)}")
        if (taint.key, taint.effect) in seen:
            yield FieldProblem(
                at, f"{taint.key}:{taint.effect} is there twice; expected each key and effect once"
            )
        seen.add((taint.key, taint.effect))


def _quiet_hours(request: NodePoolRequest) -> Iterator[FieldProblem]:
    minutes: frozenset[int] = frozenset()
    for index, text in enumerate(request.quiet_hours):
        try:
            minutes |= quiet_hours.parse(text).minutes_of_week()
        except ValueError as error:
            yield FieldProblem(f"quietHours[{index}]", str(error))
    if len(minutes) == quiet_hours.MINUTES_OF_WEEK:
        yield FieldProblem(
            "quietHours",
            "cover the whole week, so that no node is ever replaced; expected some hours without",
        )
