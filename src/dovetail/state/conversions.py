"""Converts parts of wire types to nouns: amounts, spans, selectors, affinities, tolerations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.model.requirements import Operator, Requirement, requirement
from dovetail.model.taints import Taint, Toleration, TolerationOperator
from dovetail.model.topology import NOTHING, HostPort, LabelSelector, NodeTerm, PodTerm, Spread
from dovetail.units import duration, quantity

_DO_NOT_SCHEDULE: Final = "DoNotSchedule"
_SIDECAR: Final = "Always"
_EVERY_ADDRESS: Final = HostPort(0).ip

WeightedNodeTerms = tuple[tuple[int, NodeTerm], ...]
WeightedPodTerms = tuple[tuple[int, PodTerm], ...]
_COMPLEMENTS: Final = frozenset({Operator.NOT_IN, Operator.EXISTS})
_NEVER: Final = "Never"


class Affinities(msgspec.Struct, frozen=True):
    """All of a pod's affinities as nouns."""

    required_terms: tuple[NodeTerm, ...] = ()
    preferred_terms: WeightedNodeTerms = ()
    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    preferred_affinity: WeightedPodTerms = ()
    preferred_anti_affinity: WeightedPodTerms = ()


NO_AFFINITIES: Final = Affinities()


def affinities(wire: api.Affinity | None) -> Affinities:
    """Everything that an affinity asks for and wishes."""
    if wire is None:
        return NO_AFFINITIES
    required, preferred = _node_terms(wire.node_affinity)
    near, wished_near = _pod_terms(wire.pod_affinity)
    apart, wished_apart = _pod_terms(wire.pod_anti_affinity)
    return Affinities(required, preferred, near, apart, wished_near, wished_apart)


def _node_terms(
    wire: api.parts.NodeAffinity | None,
) -> tuple[tuple[NodeTerm, ...], WeightedNodeTerms]:
    if wire is None:
        return (), ()
    required = wire.required_during_scheduling_ignored_during_execution
    preferred = wire.preferred_during_scheduling_ignored_during_execution
    return (
        tuple(node_term(term) for term in required.node_selector_terms) if required else (),
        tuple((term.weight, node_term(term.preference)) for term in preferred),
    )


def _pod_terms(wire: api.parts.PodAffinity | None) -> tuple[tuple[PodTerm, ...], WeightedPodTerms]:
    if wire is None:
        return (), ()
    required = wire.required_during_scheduling_ignored_during_execution
    preferred = wire.preferred_during_scheduling_ignored_during_execution
    return (
        tuple(_pod_term(pod_affinity_term) for pod_affinity_term in required),
        tuple((term.weight, _pod_term(term.pod_affinity_term)) for term in preferred),
    )


def _pod_term(wire: api.PodAffinityTerm) -> PodTerm:
    within = wire.namespace_selector
    return PodTerm(
        topology_key=labels.normalize(wire.topology_key),
        selector=label_selector(wire.label_selector),
        namespaces=tuple(sorted(set(wire.namespaces))),
        namespace_selector=None if within is None else label_selector(within),
        match_label_keys=wire.match_label_keys,
        mismatch_label_keys=wire.mismatch_label_keys,
    )


def spread(wire: Iterable[api.TopologySpreadConstraint]) -> tuple[Spread, ...]:
    """Topology spread constraints."""
    return tuple(
        Spread(
            topology_key=labels.normalize(topology_spread_constraint.topology_key),
            selector=label_selector(topology_spread_constraint.label_selector),
            max_skew=topology_spread_constraint.max_skew,
            min_domains=topology_spread_constraint.min_domains or 1,
            is_hard=topology_spread_constraint.when_unsatisfiable == _DO_NOT_SCHEDULE,
            node_affinity_policy=topology_spread_constraint.node_affinity_policy,
            node_taints_policy=topology_spread_constraint.node_taints_policy,
            match_label_keys=topology_spread_constraint.match_label_keys,
        )
        for topology_spread_constraint in wire
    )


def tolerations(wire: Iterable[api.Toleration]) -> tuple[Toleration, ...]:
    """What a pod puts up with."""
    return tuple(
        Toleration(item.key, item.operator or TolerationOperator.EQUAL, item.value, item.effect)
        for item in wire
    )


def taints(wire: Iterable[api.Taint]) -> tuple[Taint, ...]:
    """What a node keeps pods away with."""
    return tuple(Taint(taint.key, taint.value, taint.effect) for taint in wire)


def host_ports(parts: api.PodParts, *, on_host_network: bool) -> tuple[HostPort, ...]:
    """The ports taken on the node, in order, by containers and sidecars."""
    sidecars = [item for item in parts.init_containers if item.restart_policy == _SIDECAR]
    return tuple(sorted(set(_ports((*parts.containers, *sidecars), on_host_network))))


def _ports(containers: Sequence[api.Container], on_host_network: bool) -> Iterator[HostPort]:  # noqa: FBT001  named where it is passed on
    for container in containers:
        for item in container.ports:
            # On the host's network every port is a host port, whether it says so or not.
            port = item.host_port or (item.container_port if on_host_network else 0)
            if port:
                yield HostPort(port, item.protocol, item.host_ip or _EVERY_ADDRESS)


def label_selector(wire: api.LabelSelector | None) -> LabelSelector:
    """A selector of pods or namespaces. An absent one selects nothing, an empty one everything."""
    if wire is None:
        return NOTHING
    return LabelSelector(
        (
            *(
                Requirement(key, False, frozenset({value}))
                for key, value in sorted(wire.match_labels.items())
            ),
            *(
                # Not normalised: the labels of pods are their own business.
                Requirement(
                    term.key, Operator(term.operator) in _COMPLEMENTS, frozenset(term.values)
                )
                for term in wire.match_expressions
            ),
        )
    )


def node_term(wire: api.NodeSelectorTerm) -> NodeTerm:
    """One alternative of a node selector."""
    return NodeTerm(
        expressions=tuple(
            requirement(match_expression.key, match_expression.operator, match_expression.values)
            for match_expression in wire.match_expressions
        ),
        fields=tuple(
            requirement(field.key, field.operator, field.values) for field in wire.match_fields
        ),
    )


def node_labels(own: Mapping[str, str]) -> Mapping[str, str]:
    """A node's labels, those with an old spelling under the new one as well."""
    renewed = {
        labels.normalize(key): value for key, value in own.items() if key != labels.normalize(key)
    }
    return {**renewed, **own} if renewed else own


def resources(wire: api.ResourceList) -> dict[str, int]:
    """Every amount as decisions count it."""
    return {name: quantity.amount(name, text) for name, text in wire.items()}


def with_defaults(amounts: Mapping[str, int], defaults: Mapping[str, int]) -> dict[str, int]:
    """What is held, and what is not named there as the defaults say."""
    return {**defaults, **amounts}


def span(text: str | None) -> timedelta | None:
    """How long; None for never and for nothing said."""
    return None if text is None or text == _NEVER else duration.parse(text)


def instant(moment: datetime | None) -> datetime | None:
    """The moment in UTC, which is what a moment without a zone means."""
    if moment is None or moment.tzinfo is UTC:
        return moment
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
