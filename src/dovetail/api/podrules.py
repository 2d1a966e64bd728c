"""Can this pod be planned for? What its template says, checked where planning depends on it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from dovetail.api.checks import quantity_problems
from dovetail.api.decoding import FieldProblem
from dovetail.api.meta import LabelSelector, LabelSelectorRequirement, ResourceList
from dovetail.api.parts import (
    Affinity,
    Container,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PodParts,
    ResourceRequirements,
    Toleration,
    TopologySpreadConstraint,
)
from dovetail.api.poolrules import label_problems

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_MOST_WEIGHT: Final = 100
_MOST_PORT: Final = 65535
_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_WHEN_UNSATISFIABLE: Final = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES: Final = ("Honor", "Ignore")
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
    for index, expression in enumerate(selector.match_expressions):
        where = f"{at}.matchExpressions[{index}]"
        yield from _expression(expression, where, (*_SETS, *_PRESENCE))


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
    for index, expression in enumerate(term.match_expressions):
        yield from _expression(
            expression, f"{at}.matchExpressions[{index}]", (*_SETS, *_PRESENCE, *_BOUNDS)
        )
    for index, expression in enumerate(term.match_fields):
        where = f"{at}.matchFields[{index}]"
        if expression.key != _NODE_NAME:
            yield FieldProblem(
                f"{where}.key", f"{expression.key!r} is unknown; expected {_NODE_NAME}"
            )
        yield from _expression(expression, where, _SETS)


def _expression(
    expression: LabelSelectorRequirement | NodeSelectorRequirement,
    at: str,
    operators: tuple[str, ...],
) -> Iterator[FieldProblem]:
    if not expression.key:
        yield FieldProblem(f"{at}.key", "is empty; expected the key of a label")
    if expression.operator not in operators:
        known = ", ".join(operators)
        yield FieldProblem(
            f"{at}.operator", f"{expression.operator!r} is unknown; expected one of {known}"
        )
    elif (expected := _expected_values(expression.operator, expression.values)) is not None:
        yield FieldProblem(
            f"{at}.values", f"expected {expected} for operator {expression.operator}"
        )


def _expected_values(operator: str, values: tuple[str, ...]) -> str | None:
    """What the values should have been, if they are not."""
    if operator in _SETS:
        return None if values else "at least one value"
    if operator in _PRESENCE:
        return "no values" if values else None
    is_bound = len(values) == 1 and _INTEGER.fullmatch(values[0])
    return None if is_bound else "exactly one whole number"


def toleration_problems(item: Toleration, at: str) -> Iterator[FieldProblem]:
    """What is wrong with a toleration."""
    operator = item.operator or "Equal"
    if operator not in _TOLERATION_OPERATORS:
        known = ", ".join(_TOLERATION_OPERATORS)
        yield FieldProblem(
            f"{at}.operator", f"{item.operator!r} is unknown; expected one of {known}"
        )
    elif not item.key and operator != "Exists":
        yield FieldProblem(f"{at}.operator", "expected Exists where there is no key")
    elif operator == "Exists" and item.value:
        yield FieldProblem(f"{at}.value", "expected no value for operator Exists")
    elif operator in _BOUNDS and not _INTEGER.fullmatch(item.value):
        yield FieldProblem(
            f"{at}.value", f"{item.value!r} is no number; expected one for operator {operator}"
        )
    yield from effect_problems(item.effect, f"{at}.effect", may_be_empty=True)


def effect_problems(effect: str, at: str, *, may_be_empty: bool = False) -> Iterator[FieldProblem]:
    """What is wrong with the effect of a taint or toleration."""
    if effect not in EFFECTS and not (may_be_empty and not effect):
        yield FieldProblem(at, f"{effect!r} is unknown; expected one of {', '.join(EFFECTS)}")


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
    for index, term in enumerate(preferred):
        where = f"{at}.{_PREFERRED}[{index}]"
        yield from _weight(term.weight, f"{where}.weight")
        yield from node_term_problems(term.preference, f"{where}.preference")


def _pod_affinity(affinity: PodAffinity, at: str) -> Iterator[FieldProblem]:
    required = affinity.required_during_scheduling_ignored_during_execution
    for index, term in enumerate(required):
        yield from _pod_term(term, f"{at}.{_REQUIRED}[{index}]")
    preferred = affinity.preferred_during_scheduling_ignored_during_execution
    for index, weighted in enumerate(preferred):
        where = f"{at}.{_PREFERRED}[{index}]"
        yield from _weight(weighted.weight, f"{where}.weight")
        yield from _pod_term(weighted.pod_affinity_term, f"{where}.podAffinityTerm")


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
    for index, constraint in enumerate(constraints):
        where = f"{at}[{index}]"
        yield from _spread_one(constraint, where)
        if (constraint.topology_key, constraint.when_unsatisfiable) in seen:
            yield FieldProblem(
                where, "is there twice; expected each topologyKey and whenUnsatisfiable once"
            )
        seen.add((constraint.topology_key, constraint.when_unsatisfiable))


def _spread_one(spread: TopologySpreadConstraint, at: str) -> Iterator[FieldProblem]:
    if spread.max_skew < 1:
        yield FieldProblem(f"{at}.maxSkew", f"{spread.max_skew} is too small; expected at least 1")
    if not spread.topology_key:
        yield FieldProblem(f"{at}.topologyKey", "is empty; expected the key of a node label")
    if spread.when_unsatisfiable not in _WHEN_UNSATISFIABLE:
        yield _unknown(f"{at}.whenUnsatisfiable", spread.when_unsatisfiable, _WHEN_UNSATISFIABLE)
    yield from _min_domains(spread, f"{at}.minDomains")
    for name, policy in (
        ("nodeAffinityPolicy", spread.node_affinity_policy),
        ("nodeTaintsPolicy", spread.node_taints_policy),
    ):
        if policy not in _POLICIES:
            yield _unknown(f"{at}.{name}", policy, _POLICIES)
    yield from label_selector_problems(spread.label_selector, f"{at}.labelSelector")


def _min_domains(spread: TopologySpreadConstraint, at: str) -> Iterator[FieldProblem]:
    if spread.min_domains is None:
        return
    if spread.min_domains < 1:
        yield FieldProblem(at, f"{spread.min_domains} is too small; expected at least 1")
    elif spread.when_unsatisfiable != "DoNotSchedule":
        yield FieldProblem(at, "expected only beside whenUnsatisfiable: DoNotSchedule")


def _unknown(at: str, value: str, known: tuple[str, ...]) -> FieldProblem:
    return FieldProblem(at, f"{value!r} is unknown; expected one of {', '.join(known)}")
