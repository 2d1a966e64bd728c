"""What does one object of the API say, by its own word alone? The nouns of its life, from the wire.

Labels and annotations stay as they are written, since what is changed is compared with them. An
object that makes no sense raises InputError: whoever asked says so, and goes on with the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from dovetail import api, labels
from dovetail.decide.lifecycle.pool import NodeClassState, PoolView
from dovetail.errors import InputError
from dovetail.model.claim import Attachment, ClaimObject, NodeObject
from dovetail.model.node import Condition
from dovetail.model.pool import NodeClassRef
from dovetail.model.requirements import requirement
from dovetail.state.amounts import instant, resources, span
from dovetail.state.constraints import taints
from dovetail.state.pools import node_pool

_READY: Final = "Ready"
_POOL: Final = "NodePool"


def claim_object(wire: api.NodeClaim) -> ClaimObject:
    """A NodeClaim. Raises InputError for what no API server that knows the kind would store."""
    meta, spec, status = wire.metadata, wire.spec, wire.status
    with _naming(wire, "NodeClaim"):
        return ClaimObject(
            name=meta.name,
            uid=meta.uid,
            node_pool=meta.labels.get(labels.NODE_POOL, ""),
            node_pool_uid=next((one.uid for one in meta.owner_references if one.kind == _POOL), ""),
            generation=meta.generation or 1,
            labels=meta.labels,
            annotations=meta.annotations,
            finalizers=meta.finalizers,
            conditions=conditions(status.conditions),
            node_class=node_class_ref(spec.node_class_ref),
            requirements=tuple(
                requirement(one.key, one.operator, one.values, one.min_values)
                for one in spec.requirements
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
    with _naming(wire, "Node"):
        return NodeObject(
            name=meta.name,
            uid=meta.uid,
            provider_id=spec.provider_id,
            labels=meta.labels,
            annotations=meta.annotations,
            taints=taints(spec.taints),
            finalizers=meta.finalizers,
            owner_uids=tuple(one.uid for one in meta.owner_references),
            conditions=conditions(status.conditions),
            capacity=resources(status.capacity),
            allocatable=resources(status.allocatable),
            created_at=instant(meta.creation_timestamp),
            deleting_at=instant(meta.deletion_timestamp),
        )


def pool_view(wire: api.NodePool) -> PoolView:
    """A NodePool with its status; a spec that makes no sense is told in `pool.problems`."""
    meta, status = wire.metadata, wire.status
    with _naming(wire, _POOL):
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
    said: tuple[api.Condition, ...] = ()
    match wire:
        case api.KWOKNodeClass() | api.EC2NodeClass():
            said = wire.status.conditions
        case _:
            pass  # a kind that nobody told us of does not say whether it is ready
    return NodeClassState(
        generation=wire.metadata.generation or 1,
        is_deleting=wire.metadata.deletion_timestamp is not None,
        ready=next((one for one in conditions(said) if one.type == _READY), None),
    )


def attachment(wire: api.VolumeAttachment) -> Attachment:
    """A volume that is attached to a node."""
    return Attachment(wire.metadata.name, wire.spec.source.persistent_volume_name)


def node_class_ref(wire: api.karpenter.NodeClassReference) -> NodeClassRef:
    """Which node class is meant."""
    return NodeClassRef(wire.group, wire.kind, wire.name)


def conditions(wire: Iterable[api.Condition]) -> tuple[Condition, ...]:
    """What is said of an object, with the generation of which it was said."""
    return tuple(
        Condition(
            type=one.type,
            status=one.status,
            reason=one.reason,
            message=one.message,
            changed_at=instant(one.last_transition_time),
            observed_generation=one.observed_generation,
        )
        for one in wire
    )


@contextmanager
def _naming(wire: api.Object, kind: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        msg = f"{kind} {wire.metadata.name}: {error}"
        raise InputError(msg) from None
