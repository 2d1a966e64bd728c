"""Finds claims whose instance is gone, and instances whose claim is gone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import msgspec

from dovetail.decide.lifecycle.conditions import REGISTERED, conditions_of_claim
from dovetail.decide.lifecycle.step import Action, DeleteClaim, DeleteInstance, DeleteNode, Step
from dovetail.decide.lifecycle.timing import GARBAGE_PERIOD, ORPHAN_GRACE
from dovetail.model.claim import ClaimObject, InstanceRecord, NodeObject

_REASON: Final = "garbage_collected"


class GarbageView(msgspec.Struct, frozen=True, gc=False):
    """All claims, Nodes and instances. `claims` must be read after `instances`, or an instance
    that was launched in between would look as if it had no claim.
    """

    claims: tuple[ClaimObject, ...] = ()
    nodes: tuple[NodeObject, ...] = ()
    instances: tuple[InstanceRecord, ...] = ()


def step(view: GarbageView, now: datetime) -> Step:
    """Delete what has lost its other half."""
    return Step(
        actions=(*_without_instance(view, now), *_without_claim(view, now)),
        look_again_at=now + GARBAGE_PERIOD,
    )


def _without_instance(view: GarbageView, now: datetime) -> Iterable[Action]:
    running = {instance.provider_id for instance in view.instances if not instance.is_terminating}
    alive = running | {node.provider_id for node in view.nodes if node.is_ready}
    for claim in sorted(view.claims, key=lambda claim: claim.name):
        is_lost = claim.provider_id not in alive
        has_joined = conditions_of_claim(claim, now).is_true(REGISTERED)
        if is_lost and has_joined and claim.deleting_at is None:
            yield DeleteClaim(claim.name, claim.uid, _REASON)


def _without_claim(view: GarbageView, now: datetime) -> Iterable[Action]:
    provider_ids = {claim.provider_id for claim in view.claims if claim.provider_id}
    uid_by_name = {claim.name: claim.uid for claim in view.claims}
    for instance in sorted(view.instances, key=lambda instance: instance.provider_id):
        # A launch may be under way whose claim does not know its instance yet: known by name.
        uid = uid_by_name.get(instance.node_claim)
        is_named = uid is not None and instance.node_claim_uid in {"", uid}
        is_claimed = instance.provider_id in provider_ids or is_named
        if is_claimed or instance.is_terminating or not _is_old(instance, now):
            continue
        yield DeleteInstance(instance.provider_id, instance.node_claim)
        yield from _nodes_of(instance, view.nodes)


def _is_old(instance: InstanceRecord, now: datetime) -> bool:
    """Whether its claim has had time to appear; one of unknown age is left alone. One from the
    future is old: the clock was set back since.
    """
    return instance.created_at is not None and abs(now - instance.created_at) >= ORPHAN_GRACE


def _nodes_of(instance: InstanceRecord, nodes: Sequence[NodeObject]) -> Iterable[DeleteNode]:
    for node in nodes:
        if node.provider_id == instance.provider_id and node.deleting_at is None:
            yield DeleteNode(node.name, node.uid)
