"""Can this pod be planned for? What its template says, checked where planning depends on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dovetail.api.checks import quantity_problems
from dovetail.api.decoding import FieldProblem
from dovetail.api.meta import ResourceList
from dovetail.api.parts import (
    Affinity,
    Container,
    NodeAffinity,
    PodAffinity,
    PodAffinityTerm,
    PodParts,
    ResourceRequirements,
    TopologySpreadConstraint,
)
from dovetail.api.poolrules import label_problems
from dovetail.api.selectors import (
    label_selector_problems,
    node_selector_problems,
    node_term_problems,
    toleration_problems,
)

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_MOST_WEIGHT: Final = 100
_MOST_PORT: Final = 65535
_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_WHEN_UNSATISFIABLE: Final = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES: Final = ("Honor", "Ignore")


def pod_problems(parts: PodParts, at: str = "spec") -> Iterator[FieldProblem]:
    """What is wrong with a pod's template. Pods of one template need to be asked only once."""
    if not parts.containers:
        yield FieldProblem(f"{at}.containers", "is empty; expected at least one container")
    yield from _containers(parts.containers, f"{at}.containers")
    yield from _containers(parts.init_containers, f"{at}.initContainers")
    yield from amount_problems(parts.overhead, f"{at}.overhead")
    if parts.resources is not None:
        yield from resource_problems(parts.resources, f"{at}.resources")
    yield from label_problems(parts.node_selector, f"{at}.nodeSelector")
    if parts.affinity is not None:
        yield from _affinity(parts.affinity, f"{at}.affinity")
    for index, toleration in enumerate(parts.tolerations):
        yield from toleration_problems(toleration, f"{at}.tolerations[{index}]")
    yield from _spread(parts.topology_spread_constraints, f"{at}.topologySpreadConstraints")


def resource_problems(resources: ResourceRequirements, at: str) -> Iterator[FieldProblem]:
    """What is wrong with requests and limits."""
    yield from amount_problems(resources.requests, f"{at}.requests")
    yield from amount_problems(resources.limits, f"{at}.limits")


def amount_problems(amounts: ResourceList, at: str) -> Iterator[FieldProblem]:
    """What is wrong with amounts of resources."""
    for name in sorted(amounts):
        yield from quantity_problems(amounts[name], f"{at}.{name}")


def _containers(containers: tuple[Container, ...], at: str) -> Iterator[FieldProblem]:
    for index, container in enumerate(containers):
        where = f"{at}[{index}]"
        yield from resource_problems(container.resources, f"{where}.resources")
        for number, port in enumerate(container.ports):
            if not 0 <= port.host_port <= _MOST_PORT:
                yield FieldProblem(
                    f"{where}.ports[{number}].hostPort",
                    f"{port.host_port} is no port; expected 1 to {_MOST_PORT}",
                )
            if port.protocol not in _PROTOCOLS:
                yield _unknown(f"{where}.ports[{number}].protocol", port.protocol, _PROTOCOLS)


def _affinity(affinity: Affinity, at: str) -> Iterator[FieldProblem]:
    if affinity.node_affinity is not None:
        yield from _node_affinity(affinity.node_affinity, f"{at}.nodeAffinity")
    if affinity.pod_affinity is not None:
        yield from _pod_affinity(affinity.pod_affinity, f"{at}.podAffinity")
    if affinity.pod_anti_affinity is not None:
        yield from _pod_affinity(affinity.pod_anti_affinity, f"{at}.podAntiAffinity")


def _node_affinity(affinity: NodeAffinity, at: str) -> Iterator[FieldProblem]:
    yield from node_selector_problems(
        affinity.required_during_scheduling_ignored_during_execution, f"{at}.{_REQUIRED}"
    )
    preferred = affinity.preferred_during_scheduling_ignored_during_execution
    for index, one in enumerate(preferred):
        where = f"{at}.{_PREFERRED}[{index}]"
        yield from _weight(one.weight, f"{where}.weight")
        yield from node_term_problems(one.preference, f"{where}.preference")


def _pod_affinity(affinity: PodAffinity, at: str) -> Iterator[FieldProblem]:
    required = affinity.required_during_scheduling_ignored_during_execution
    for index, term in enumerate(required):
        yield from _pod_term(term, f"{at}.{_REQUIRED}[{index}]")
    preferred = affinity.preferred_during_scheduling_ignored_during_execution
    for index, one in enumerate(preferred):
        where = f"{at}.{_PREFERRED}[{index}]"
        yield from _weight(one.weight, f"{where}.weight")
        yield from _pod_term(one.pod_affinity_term, f"{where}.podAffinityTerm")


def _pod_term(term: PodAffinityTerm, at: str) -> Iterator[FieldProblem]:
    if not term.topology_key:
        yield FieldProblem(f"{at}.topologyKey", "is empty; expected the key of a node label")
    yield from label_selector_problems(term.label_selector, f"{at}.labelSelector")
    yield from label_selector_problems(term.namespace_selector, f"{at}.namespaceSelector")


def _weight(weight: int, at: str) -> Iterator[FieldProblem]:
    if not 1 <= weight <= _MOST_WEIGHT:
        yield FieldProblem(at, f"{weight} is out of range; expected 1 to {_MOST_WEIGHT}")


def _spread(constraints: tuple[TopologySpreadConstraint, ...], at: str) -> Iterator[FieldProblem]:
    seen: set[tuple[str, str]] = set()
    for index, one in enumerate(constraints):
        where = f"{at}[{index}]"
        yield from _spread_one(one, where)
        if (one.topology_key, one.when_unsatisfiable) in seen:
            yield FieldProblem(
                where, "is there twice; expected each topologyKey and whenUnsatisfiable once"
            )
        seen.add((one.topology_key, one.when_unsatisfiable))


def _spread_one(one: TopologySpreadConstraint, at: str) -> Iterator[FieldProblem]:
    if one.max_skew < 1:
        yield FieldProblem(f"{at}.maxSkew", f"{one.max_skew} is too small; expected at least 1")
    if not one.topology_key:
        yield FieldProblem(f"{at}.topologyKey", "is empty; expected the key of a node label")
    if one.when_unsatisfiable not in _WHEN_UNSATISFIABLE:
        yield _unknown(f"{at}.whenUnsatisfiable", one.when_unsatisfiable, _WHEN_UNSATISFIABLE)
    yield from _min_domains(one, f"{at}.minDomains")
    for name, policy in (
        ("nodeAffinityPolicy", one.node_affinity_policy),
        ("nodeTaintsPolicy", one.node_taints_policy),
    ):
        if policy not in _POLICIES:
            yield _unknown(f"{at}.{name}", policy, _POLICIES)
    yield from label_selector_problems(one.label_selector, f"{at}.labelSelector")


def _min_domains(one: TopologySpreadConstraint, at: str) -> Iterator[FieldProblem]:
    if one.min_domains is None:
        return
    if one.min_domains < 1:
        yield FieldProblem(at, f"{one.min_domains} is too small; expected at least 1")
    elif one.when_unsatisfiable != "DoNotSchedule":
        yield FieldProblem(at, "expected only beside whenUnsatisfiable: DoNotSchedule")


def _unknown(at: str, value: str, known: tuple[str, ...]) -> FieldProblem:
    return FieldProblem(at, f"{value!r} is unknown; expected one of {', '.join(known)}")
