"""Validates objects: every rule of their kind, in Python, with what was expected instead."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from dovetail import labels
from dovetail.api.apps import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    JobSpec,
    PodDisruptionBudget,
    ReplicaSet,
    StatefulSet,
)
from dovetail.api.autoscaling import CapacityBuffer
from dovetail.api.checks import check
from dovetail.api.core import (
    LimitRange,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodSpec,
    PodTemplate,
    PodTemplateSpec,
    ReplicationController,
)
from dovetail.api.decoding import DecodeError, FieldProblem
from dovetail.api.extension import Extension, NodeClass, find_extended
from dovetail.api.karpenter import NodeClaim, NodePool
from dovetail.api.kinds import Kind
from dovetail.api.meta import IntOrString, Object, ObjectMeta
from dovetail.api.node import RuntimeClass
from dovetail.api.overlay import NodeOverlay
from dovetail.api.podrules import (
    amount_problems,
    effect_problems,
    label_selector_problems,
    node_selector_problems,
    pod_problems,
    resource_problems,
    toleration_problems,
)
from dovetail.api.poolrules import (
    buffer_problems,
    claim_problems,
    knob_problems,
    overlay_problems,
    pool_problems,
)
from dovetail.api.storage import StorageClass
from dovetail.units import knobs

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_LONGEST_NAME: Final = 253
_KNOBS: Final = {labels.MOST_EVICTIONS: knobs.most_evictions}
_SHARE: Final = re.compile(r"[0-9]{1,9}%?")
_BINDING_MODES: Final = ("Immediate", "WaitForFirstConsumer")
# Templates that were found sound, by content: a cluster has many pods of each.
_sound: set[bytes] = set()
_MOST_REMEMBERED: Final = 65536


def workload_problems(value: Object) -> Iterator[FieldProblem]:
    """What is wrong with an object that is not one of ours."""
    match value:
        case Pod():
            yield from _knobs(value.metadata, "metadata")
            yield from _spec(value.spec, "spec")
        case PodTemplate():
            yield from _template(value.template, "template")
        case Job():
            yield from _job(value.spec, "spec")
        case CronJob():
            yield from _job(value.spec.job_template.spec, "spec.jobTemplate.spec")
        case Deployment() | ReplicaSet() | StatefulSet() | ReplicationController() | DaemonSet():
            yield from _workload(value)
        case _:
            yield from _surroundings(value)


def _template(template: PodTemplateSpec, at: str) -> Iterator[FieldProblem]:
    yield from _knobs(template.metadata, f"{at}.metadata")
    yield from _spec(template.spec, f"{at}.spec")


def _knobs(meta: ObjectMeta, at: str) -> Iterator[FieldProblem]:
    if meta.annotations:
        yield from knob_problems(meta.annotations, f"{at}.annotations", _KNOBS)


def _spec(spec: PodSpec, at: str) -> Iterator[FieldProblem]:
    content = spec.content()
    if content in _sound:
        return
    faults = list(_spec_problems(spec, at))
    if not faults:
        if len(_sound) >= _MOST_REMEMBERED:
            _sound.clear()
        _sound.add(content)
    yield from faults


def _spec_problems(spec: PodSpec, at: str) -> Iterator[FieldProblem]:
    grace = spec.termination_grace_period_seconds
    if grace is not None:
        yield from _not_negative(grace, f"{at}.terminationGracePeriodSeconds")
    yield from pod_problems(spec.parts(at), at)


def _job(job: JobSpec, at: str) -> Iterator[FieldProblem]:
    for name, count in (("parallelism", job.parallelism), ("completions", job.completions)):
        if count is not None:
            yield from _not_negative(count, f"{at}.{name}")
    yield from _template(job.template, f"{at}.template")


def _workload(
    value: Deployment | ReplicaSet | StatefulSet | ReplicationController | DaemonSet,
) -> Iterator[FieldProblem]:
    if not isinstance(value, DaemonSet) and value.spec.replicas is not None:
        yield from _not_negative(value.spec.replicas, "spec.replicas")
    if not isinstance(value, ReplicationController):
        yield from label_selector_problems(value.spec.selector, "spec.selector")
    if isinstance(value, StatefulSet):
        for index, claim in enumerate(value.spec.volume_claim_templates):
            at = f"spec.volumeClaimTemplates[{index}].spec.resources"
            yield from resource_problems(claim.spec.resources, at)
    yield from _template(value.spec.template, "spec.template")


def _surroundings(value: Object) -> Iterator[FieldProblem]:
    match value:
        case Node():
            yield from _node(value)
        case PersistentVolumeClaim():
            yield from resource_problems(value.spec.resources, "spec.resources")
        case PersistentVolume():
            yield from _volume(value)
        case StorageClass():
            yield from _storage_class(value)
        case LimitRange():
            yield from _limit_range(value)
        case PodDisruptionBudget():
            yield from _disruption_budget(value)
        case RuntimeClass():
            yield from _runtime_class(value)
        case _:
            pass  # nothing in the other kinds can be wrong once it decodes


def _node(node: Node) -> Iterator[FieldProblem]:
    yield from amount_problems(node.status.capacity, "status.capacity")
    yield from amount_problems(node.status.allocatable, "status.allocatable")
    for index, taint in enumerate(node.spec.taints):
        yield from effect_problems(taint.effect, f"spec.taints[{index}].effect")


def _volume(volume: PersistentVolume) -> Iterator[FieldProblem]:
    affinity = volume.spec.node_affinity
    if affinity is not None:
        yield from node_selector_problems(affinity.required, "spec.nodeAffinity.required")


def _storage_class(value: StorageClass) -> Iterator[FieldProblem]:
    if value.volume_binding_mode not in _BINDING_MODES:
        known = ", ".join(_BINDING_MODES)
        yield FieldProblem(
            "volumeBindingMode",
            f"{value.volume_binding_mode!r} is unknown; expected one of {known}",
        )


def _disruption_budget(value: PodDisruptionBudget) -> Iterator[FieldProblem]:
    spec = value.spec
    if spec.min_available is not None and spec.max_unavailable is not None:
        yield FieldProblem("spec", "expected minAvailable or maxUnavailable, not both")
    yield from _share(spec.min_available, "spec.minAvailable")
    yield from _share(spec.max_unavailable, "spec.maxUnavailable")
    yield from label_selector_problems(spec.selector, "spec.selector")


def _share(value: IntOrString | None, at: str) -> Iterator[FieldProblem]:
    if value is not None and not _SHARE.fullmatch(str(value)):
        yield FieldProblem(at, f"{value!r} does not fit; expected a number or a percentage")


def _limit_range(value: LimitRange) -> Iterator[FieldProblem]:
    for index, item in enumerate(value.spec.limits):
        at = f"spec.limits[{index}]"
        yield from amount_problems(item.default, f"{at}.default")
        yield from amount_problems(item.default_request, f"{at}.defaultRequest")
        yield from amount_problems(item.min, f"{at}.min")
        yield from amount_problems(item.max, f"{at}.max")


def _runtime_class(value: RuntimeClass) -> Iterator[FieldProblem]:
    yield from amount_problems(value.overhead.pod_fixed, "overhead.podFixed")
    for index, toleration in enumerate(value.scheduling.tolerations):
        yield from toleration_problems(toleration, f"scheduling.tolerations[{index}]")


def _not_negative(value: int, at: str) -> Iterator[FieldProblem]:
    if value < 0:
        yield FieldProblem(at, f"{value} is negative; expected 0 or more")


def problems(value: Object, extensions: Sequence[Extension] = ()) -> list[FieldProblem]:
    """Everything wrong with an object, in the order of its fields, then of its further rules.

    `extensions` are what providers add: rules for their node classes, and for requirements.
    """
    kind = find_extended(value.api_version, value.kind, extensions)
    faults = [*_identity(value, kind), *_by_schema(value), *requirement_problems(value, extensions)]
    seen = {problem.field for problem in faults}
    try:
        # A field that is wrong by its schema already would only be told off twice.
        beyond = _beyond_schema(value, kind)
        faults.extend(problem for problem in beyond if problem.field not in seen)
    except DecodeError as error:
        faults.append(error.problem)
    return faults


def requirement_problems(value: Object, extensions: Iterable[Extension]) -> Iterator[FieldProblem]:
    """What is wrong with the keys of requirements by the rules of providers."""
    rules = [rule for extension in extensions for rule in extension.requirement_rules]
    match value:
        case NodePool():
            at, requirements = "spec.template.spec", value.spec.template.spec.requirements
        case NodeClaim():
            at, requirements = "spec", value.spec.requirements
        case _:
            return
    for index, requirement in enumerate(requirements):
        for rule in rules:
            if rule.holds is not None and not rule.holds(requirement.key):
                yield FieldProblem(f"{at}.requirements[{index}].key", rule.message)


def _by_schema(value: Object) -> Iterator[FieldProblem]:
    match value:
        case NodePool() | NodeClaim() | NodeOverlay() | CapacityBuffer() | NodeClass():
            yield from check(value.spec, "spec")
        case _:
            pass  # the API server knows the other kinds; what planning needs is checked below


def _beyond_schema(value: Object, kind: Kind | None) -> Iterator[FieldProblem]:
    if kind is not None and kind.problems is not None:
        yield from kind.problems(value)
    match value:
        case NodePool():
            yield from pool_problems(value)
        case NodeClaim():
            yield from claim_problems(value)
        case NodeOverlay():
            yield from overlay_problems(value)
        case CapacityBuffer():
            yield from buffer_problems(value)
        case _:
            yield from workload_problems(value)


def _identity(value: Object, kind: Kind | None) -> Iterator[FieldProblem]:
    if kind is not None and value.api_version != kind.api_version:
        yield FieldProblem(
            "apiVersion", f"{value.api_version} is not supported; expected {kind.api_version}"
        )
    name = value.metadata.name or value.metadata.generate_name.removesuffix("-")
    if not name:
        yield FieldProblem("metadata.name", "is missing; expected a name")
    elif len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        yield FieldProblem(
            "metadata.name",
            f'{name!r} is no name; expected lower-case letters, digits, "-" and "."',
        )
