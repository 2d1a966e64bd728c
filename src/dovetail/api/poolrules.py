"""Which rules of our own kinds can no schema state? Those the controller checks when it runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from dovetail import labels
from dovetail.api.autoscaling import CapacityBuffer
from dovetail.api.core import Taint
from dovetail.api.decoding import FieldProblem
from dovetail.api.facts import A_LABEL_VALUE, A_QUALIFIED_NAME, LABEL_VALUE, QUALIFIED_NAME
from dovetail.api.karpenter import (
    NodeClaim,
    NodeClaimSpec,
    NodeClaimTemplateSpec,
    NodePool,
    Requirement,
)
from dovetail.api.meta import ResourceList
from dovetail.api.overlay import NodeOverlay
from dovetail.units import cron, duration, knobs

_KEY: Final = re.compile(QUALIFIED_NAME)
_VALUE: Final = re.compile(LABEL_VALUE)
_LONGEST_PREFIX: Final = 253
_LONGEST_NAME: Final = 63
_MOST_NODES: Final = 2**31 - 1
_TEMPLATE: Final = "spec.template.spec"
_KNOBS: Final = {
    labels.LEAST_SAVING: knobs.least_saving,
    labels.MOST_EVICTIONS: knobs.most_evictions,
    labels.EVICTION_COST: knobs.eviction_cost,
    labels.NODE_PRICE: knobs.node_price,
}
_SCALABLE: Final = ("Deployment", "ReplicaSet", "StatefulSet")


def pool_problems(pool: NodePool) -> Iterator[FieldProblem]:
    """What is wrong with a NodePool beyond its schema."""
    template = pool.spec.template
    yield from label_problems(template.metadata.labels, "spec.template.metadata.labels")
    for key in sorted(template.metadata.labels):
        yield from _restricted_label(key, f"spec.template.metadata.labels.{key}")
    yield from _taints(template.spec.taints, template.spec.startup_taints, _TEMPLATE)
    yield from _requirements(template.spec.requirements, f"{_TEMPLATE}.requirements")
    yield from _spans(template.spec, _TEMPLATE)
    yield from _resource_names(pool.spec.limits, "spec.limits")
    yield from _disruption(pool)
    yield from knob_problems(pool.metadata.annotations, "metadata.annotations", _KNOBS)


def knob_problems(
    annotations: Mapping[str, str], at: str, readings: Mapping[str, Callable[[str], object]]
) -> Iterator[FieldProblem]:
    """What is wrong with annotations that set a pool's evictions or price per node."""
    for key, read in readings.items():
        if key in annotations:
            yield from _readable(read, annotations[key], f"{at}.{key}")


def claim_problems(claim: NodeClaim) -> Iterator[FieldProblem]:
    """What is wrong with a NodeClaim beyond its schema."""
    yield from _taints(claim.spec.taints, claim.spec.startup_taints, "spec")
    yield from _requirements(claim.spec.requirements, "spec.requirements")
    yield from _spans(claim.spec, "spec")


def overlay_problems(overlay: NodeOverlay) -> Iterator[FieldProblem]:
    """What is wrong with a NodeOverlay beyond its schema."""
    yield from _requirements(overlay.spec.requirements, "spec.requirements")
    yield from _resource_names(overlay.spec.capacity, "spec.capacity")


def buffer_problems(buffer: CapacityBuffer) -> Iterator[FieldProblem]:
    """What is wrong with a CapacityBuffer beyond its schema."""
    scalable = buffer.spec.scalable_ref
    if buffer.spec.pod_template_ref is None and scalable is None:
        yield FieldProblem("spec", "expected podTemplateRef or scalableRef, to know what for")
    if scalable is None:
        return
    if scalable.api_group not in {"", "apps"}:
        yield FieldProblem(
            "spec.scalableRef.apiGroup", f"{scalable.api_group!r} is not supported; expected apps"
        )
    if scalable.kind not in _SCALABLE:
        yield FieldProblem(
            "spec.scalableRef.kind",
            f"{scalable.kind!r} cannot be scaled; expected one of {', '.join(_SCALABLE)}",
        )


def label_problems(by_key: dict[str, str], at: str) -> Iterator[FieldProblem]:
    """What is wrong with labels, whoever wears them."""
    for key in sorted(by_key):
        if not is_label_key(key):
            yield FieldProblem(f"{at}.{key}", f"is no label key; expected {A_QUALIFIED_NAME}")
        elif not is_label_value(by_key[key]):
            yield FieldProblem(
                f"{at}.{key}", f"{by_key[key]!r} is no label value; expected {A_LABEL_VALUE}"
            )


def is_label_key(key: str) -> bool:
    """Whether it may name a label."""
    prefix, slash, name = key.rpartition("/")
    fits = len(prefix) <= _LONGEST_PREFIX and len(name) <= _LONGEST_NAME
    return fits and (bool(prefix) or not slash) and bool(_KEY.fullmatch(key))


def is_label_value(value: str) -> bool:
    """Whether a label may have it."""
    return len(value) <= _LONGEST_NAME and bool(_VALUE.fullmatch(value))


def _restricted_label(key: str, at: str) -> Iterator[FieldProblem]:
    if labels.is_restricted(labels.normalize(key)):
        yield FieldProblem(at, f"{key} is set by the autoscaler; expected another label")


def _taints(
    taints: tuple[Taint, ...], startup: tuple[Taint, ...], at: str
) -> Iterator[FieldProblem]:
    seen: set[tuple[str, str]] = set()
    for name, some in (("taints", taints), ("startupTaints", startup)):
        for index, taint in enumerate(some):
            where = f"{at}.{name}[{index}]"
            if not is_label_key(taint.key):
                yield FieldProblem(
                    f"{where}.key", f"{taint.key!r} is no taint key; expected {A_QUALIFIED_NAME}"
                )
            if not is_label_value(taint.value):
                yield FieldProblem(
                    f"{where}.value", f"{taint.value!r} does not fit; expected {A_LABEL_VALUE}"
                )
            if (taint.key, taint.effect) in seen:
                yield FieldProblem(
                    where,
                    f"{taint.key}:{taint.effect} is there twice; expected each key and effect once "
                    "in taints and startupTaints together",
                )
            seen.add((taint.key, taint.effect))


def _requirements(requirements: tuple[Requirement, ...], at: str) -> Iterator[FieldProblem]:
    for index, requirement in enumerate(requirements):
        where = f"{at}[{index}]"
        if not is_label_key(requirement.key):
            yield FieldProblem(
                f"{where}.key", f"{requirement.key!r} is no label key; expected {A_QUALIFIED_NAME}"
            )
        yield from _restricted_label(requirement.key, f"{where}.key")
        yield from _capacity_types(requirement, f"{where}.values")


def _capacity_types(need: Requirement, at: str) -> Iterator[FieldProblem]:
    if labels.normalize(need.key) != labels.CAPACITY_TYPE or need.operator != "In":
        return
    n_known = sum(value in labels.CAPACITY_TYPES for value in need.values)
    if n_known < max(1, need.min_values or 1):
        known = ", ".join(sorted(labels.CAPACITY_TYPES))
        yield FieldProblem(
            at, f"expected at least {max(1, need.min_values or 1)} of the capacity types {known}"
        )


def _spans(spec: NodeClaimTemplateSpec | NodeClaimSpec, at: str) -> Iterator[FieldProblem]:
    if spec.termination_grace_period is not None:
        yield from _readable(
            duration.parse, spec.termination_grace_period, f"{at}.terminationGracePeriod"
        )
    yield from _span_or_never(spec.expire_after, f"{at}.expireAfter")


def _span_or_never(text: str, at: str) -> Iterator[FieldProblem]:
    if text != "Never":
        yield from _readable(duration.parse, text, at)


def _readable(parse: Callable[[str], object], text: str, at: str) -> Iterator[FieldProblem]:
    try:
        parse(text)
    except ValueError as error:
        yield FieldProblem(at, str(error))


def _disruption(pool: NodePool) -> Iterator[FieldProblem]:
    disruption = pool.spec.disruption
    yield from _span_or_never(disruption.consolidate_after, "spec.disruption.consolidateAfter")
    for index, budget in enumerate(disruption.budgets):
        at = f"spec.disruption.budgets[{index}]"
        yield from _countable(budget.nodes, f"{at}.nodes")
        if budget.schedule is not None:
            yield from _readable(cron.parse, budget.schedule, f"{at}.schedule")
        if budget.duration is not None:
            yield from _readable(duration.parse, budget.duration, f"{at}.duration")


def _countable(nodes: str, at: str) -> Iterator[FieldProblem]:
    digits = nodes.removesuffix("%").lstrip("0")
    if len(digits) > len(str(_MOST_NODES)) or int(digits or "0") > _MOST_NODES:
        yield FieldProblem(at, f"is more than can be counted; expected at most {_MOST_NODES}")


def _resource_names(amounts: ResourceList, at: str) -> Iterator[FieldProblem]:
    for name in sorted(amounts):
        if not is_label_key(name):
            yield FieldProblem(f"{at}.{name}", f"is no resource name; expected {A_QUALIFIED_NAME}")
