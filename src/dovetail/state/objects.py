"""Converts single objects of the API to nouns: NodeClaims, Nodes, NodePools and volume attachments.

Labels and annotations stay as they are written, since what is changed is compared with them. An
object that makes no sense raises InputError: the caller says so, and goes on with the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, TypeVar

from dovetail import api, labels
from dovetail.api.meta import NOT_GIVEN_LIST, NOT_GIVEN_MAP
from dovetail.decide.lifecycle.conditions import Conditions
from dovetail.decide.lifecycle.pool import NodeClassState, PoolView
from dovetail.errors import InputError
from dovetail.model.claim import Attachment, ClaimObject, NodeObject
from dovetail.model.node import Condition
from dovetail.model.pool import Budget, Disruption, NodeClassRef, NodePool
from dovetail.model.requirements import requirement
from dovetail.model.verdict import Problem, Reason
from dovetail.state.conversions import instant, resources, span, taints
from dovetail.units import knobs

_READY: Final = "Ready"
_POOL: Final = "NodePool"
V = TypeVar("V")


def claim_object(wire: api.NodeClaim) -> ClaimObject:
    """A NodeClaim. Raises InputError for what no API server that knows the kind would store."""
    meta, spec, status = wire.metadata, wire.spec, wire.status
    with _name_errors(wire, "NodeClaim"):
        return ClaimObject(
            name=meta.name,
            uid=meta.uid,
            node_pool=meta.labels.get(labels.NODE_POOL, ""),
            node_pool_uid=next((ref.uid for ref in meta.owner_references if ref.kind == _POOL), ""),
            generation=meta.generation or 1,
            labels=meta.labels,
            annotations=meta.annotations,
            finalizers=meta.finalizers,
            conditions=conditions(status.conditions),
            node_class=node_class_ref(spec.node_class_ref),
            requirements=tuple(
                requirement(item.key, item.operator, item.values, item.min_values)
                for item in spec.requirements
            ),
            taints=taints(spec.taints),
            startup_taints=taints(spec.startup_taints),
            requests=resources(spec.resources.requests),
            termination_grace_period=span(spec.termination_grace_period),
            expire_after=span(spec.expire_after),
            provider_id=status.provider_id,
            node_name=status.node_name,
            image_id=status.image_id,
            capacity=resources(status.capacity),
            allocatable=resources(status.allocatable),
            created_at=instant(meta.creation_timestamp),
            deleting_at=instant(meta.deletion_timestamp),
            last_pod_event_at=instant(status.last_pod_event_time),
        )


def node_object(wire: api.Node) -> NodeObject:
    """A Node. Raises InputError for what no API server would store."""
    meta, spec, status = wire.metadata, wire.spec, wire.status
    with _name_errors(wire, "Node"):
        return NodeObject(
            name=meta.name,
            uid=meta.uid,
            provider_id=spec.provider_id,
            labels=meta.labels,
            annotations=meta.annotations,
            taints=taints(spec.taints),
            finalizers=meta.finalizers,
            owner_uids=tuple(owner_reference.uid for owner_reference in meta.owner_references),
            conditions=conditions(status.conditions),
            capacity=resources(status.capacity),
            allocatable=resources(status.allocatable),
            created_at=instant(meta.creation_timestamp),
            deleting_at=instant(meta.deletion_timestamp),
        )


def pool_view(wire: api.NodePool) -> PoolView:
    """A NodePool with its status; a spec that makes no sense is told in `pool.problems`."""
    meta, status = wire.metadata, wire.status
    with _name_errors(wire, _POOL):
        return PoolView(
            pool=node_pool(wire),
            generation=meta.generation or 1,
            created_at=instant(meta.creation_timestamp),
            annotations=meta.annotations,
            conditions=conditions(status.conditions),
            resources=resources(status.resources),
            n_nodes=status.nodes,
            node_class_observed_generation=status.node_class_observed_generation,
        )


def node_class_state(wire: api.Object) -> NodeClassState:
    """What a pool reads of its node class, whatever its kind."""
    stated = wire.status.conditions if isinstance(wire, api.NodeClass) else ()
    return NodeClassState(
        generation=wire.metadata.generation or 1,
        is_deleting=wire.metadata.deletion_timestamp is not None,
        ready=next(
            (condition for condition in conditions(stated) if condition.type == _READY), None
        ),
    )


def attachment(wire: api.VolumeAttachment) -> Attachment:
    """A volume that is attached to a node."""
    return Attachment(wire.metadata.name, wire.spec.source.persistent_volume_name)


def node_class_ref(wire: api.karpenter.NodeClassReference) -> NodeClassRef:
    """Which node class is meant."""
    return NodeClassRef(wire.group, wire.kind, wire.name)


def conditions_about(
    meta: api.ObjectMeta, wire: Iterable[api.Condition], dependents: tuple[str, ...] = ()
) -> Conditions:
    """What is said of an object, with what of the object it depends on."""
    return Conditions(
        dependents,
        meta.generation or 1,
        instant(meta.creation_timestamp),
        meta.deletion_timestamp is not None,
        conditions(wire),
    )


def conditions(wire: Iterable[api.Condition]) -> tuple[Condition, ...]:
    """What is said of an object, with the generation of which it was said."""
    return tuple(
        Condition(
            type=condition.type,
            status=condition.status,
            reason=condition.reason,
            message=condition.message,
            changed_at=instant(condition.last_transition_time),
            observed_generation=condition.observed_generation,
        )
        for condition in wire
    )


@contextmanager
def _name_errors(wire: api.Object, kind: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        msg = f"{kind} {wire.metadata.name}: {error}"
        raise InputError(msg) from None


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
            requirement(item.key, item.operator, item.values, item.min_values)
            for item in template.spec.requirements
        ),
        labels=template.metadata.labels,
        annotations=template.metadata.annotations,
        taints=taints(template.spec.taints),
        startup_taints=taints(template.spec.startup_taints),
        limits=resources(spec.limits),
        node_class=node_class_ref(template.spec.node_class_ref),
        expire_after=span(template.spec.expire_after),
        termination_grace_period=span(template.spec.termination_grace_period),
        disruption=_disruption(spec.disruption, wire.metadata.annotations),
        replicas=spec.replicas,
        is_ready=all(
            item.status == "True" for item in wire.status.conditions if item.type == "Ready"
        ),
        is_deleting=wire.metadata.deletion_timestamp is not None,
        uid=wire.metadata.uid,
        node_price_nanousd=_read(wire.metadata.annotations, labels.NODE_PRICE, knobs.node_price),
        blank_fields=_blank_fields(wire),
    )


def _blank_fields(wire: api.NodePool) -> tuple[str, ...]:
    """The fields that are given and have nothing in them: the hash of a template counts those."""
    template = wire.spec.template
    given = {
        "labels": template.metadata.labels,
        "annotations": template.metadata.annotations,
        "taints": template.spec.taints,
        "startup_taints": template.spec.startup_taints,
    }
    absent = (NOT_GIVEN_MAP, NOT_GIVEN_LIST)
    return tuple(
        name
        for name, value in given.items()
        if not value and not any(value is blank for blank in absent)
    )


def _disruption(wire: api.karpenter.Disruption, annotations: Mapping[str, str]) -> Disruption:
    """Raises ValueError for an annotation that makes no sense."""
    return Disruption(
        consolidate_after=span(wire.consolidate_after),
        consolidation_policy=wire.consolidation_policy,
        budgets=tuple(
            Budget(
                nodes=budget.nodes,
                reasons=budget.reasons,
                schedule=budget.schedule or "",
                duration=span(budget.duration),
            )
            for budget in wire.budgets
        ),
        least_saving_nanousd=_read(annotations, labels.LEAST_SAVING, knobs.least_saving),
        most_evictions=_read(annotations, labels.MOST_EVICTIONS, knobs.most_evictions),
        eviction_cost=_read(annotations, labels.EVICTION_COST, knobs.eviction_cost),
    )


def _read(annotations: Mapping[str, str], key: str, read: Callable[[str], V]) -> V | None:
    if key not in annotations:
        return None
    try:
        return read(annotations[key])
    except ValueError as error:
        msg = f"metadata.annotations.{key}: {error}"
        raise ValueError(msg) from None
