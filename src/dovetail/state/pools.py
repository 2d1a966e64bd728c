"""What may be launched? NodePools, from wire types to nouns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from dovetail import api, labels
from dovetail.model.pool import Budget, Disruption, NodeClassRef, NodePool
from dovetail.model.requirements import requirement
from dovetail.model.verdict import Problem, Reason
from dovetail.state.amounts import resources, span
from dovetail.state.constraints import taints
from dovetail.units import knobs

V = TypeVar("V")


def node_pool(wire: api.NodePool) -> NodePool:
    """A NodePool; one that makes no sense says so, and is not used."""
    try:
        return _node_pool(wire)
    except ValueError as error:
        # The border checks files; what comes from elsewhere must not stop the rest.
        problem = Problem(Reason.NODE_POOL_NOT_READY, str(error), f"correct NodePool {_name(wire)}")
        return NodePool(name=_name(wire), uid=wire.metadata.uid, problems=(problem,))


def _name(wire: api.NodePool) -> str:
    return wire.metadata.name


def _node_pool(wire: api.NodePool) -> NodePool:
    """One without a status counts as ready: nobody has looked at it yet."""
    spec, template = wire.spec, wire.spec.template
    return NodePool(
        name=wire.metadata.name,
        weight=spec.weight or 0,
        requirements=tuple(
            requirement(one.key, one.operator, one.values, one.min_values)
            for one in template.spec.requirements
        ),
        labels=template.metadata.labels,
        annotations=template.metadata.annotations,
        taints=taints(template.spec.taints),
        startup_taints=taints(template.spec.startup_taints),
        limits=resources(spec.limits),
        node_class=_node_class(template.spec.node_class_ref),
        expire_after=span(template.spec.expire_after),
        termination_grace_period=span(template.spec.termination_grace_period),
        disruption=_disruption(spec.disruption, wire.metadata.annotations),
        replicas=spec.replicas,
        is_ready=all(one.status == "True" for one in wire.status.conditions if one.type == "Ready"),
        is_deleting=wire.metadata.deletion_timestamp is not None,
        uid=wire.metadata.uid,
        node_price_nanousd=_read(wire.metadata.annotations, labels.NODE_PRICE, knobs.node_price),
    )


def _node_class(wire: api.karpenter.NodeClassReference) -> NodeClassRef:
    return NodeClassRef(wire.group, wire.kind, wire.name)


def _disruption(wire: api.karpenter.Disruption, said: Mapping[str, str]) -> Disruption:
    """Raises ValueError for an annotation that makes no sense."""
    return Disruption(
        consolidate_after=span(wire.consolidate_after),
        consolidation_policy=wire.consolidation_policy,
        budgets=tuple(
            Budget(
                nodes=one.nodes,
                reasons=one.reasons,
                schedule=one.schedule or "",
                duration=span(one.duration),
            )
            for one in wire.budgets
        ),
        least_saving_nanousd=_read(said, labels.LEAST_SAVING, knobs.least_saving),
        most_evictions=_read(said, labels.MOST_EVICTIONS, knobs.most_evictions),
        eviction_cost=_read(said, labels.EVICTION_COST, knobs.eviction_cost),
    )


def _read(said: Mapping[str, str], key: str, read: Callable[[str], V]) -> V | None:
    if key not in said:
        return None
    try:
        return read(said[key])
    except ValueError as error:
        msg = f"metadata.annotations.{key}: {error}"
        raise ValueError(msg) from None
