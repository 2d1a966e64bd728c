"""Is the Node ready for pods, with everything it was ordered for? (spec/core.md 5.4)"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.lifecycle.conditions import (
    INITIALIZED,
    REGISTERED,
    Status,
    again,
    conditions_of_claim,
    hold,
    wait,
)
from dovetail.decide.lifecycle.patches import node_patches
from dovetail.decide.lifecycle.registration import NODE_NOT_FOUND
from dovetail.decide.lifecycle.step import STAY, Milestone, Step
from dovetail.model.claim import ClaimView, DeviceSlice, NodeObject
from dovetail.model.taints import is_ephemeral

NODE_NOT_READY: Final = "NodeNotReady"
STARTUP_TAINTS: Final = "StartupTaintsExist"
EPHEMERAL_TAINTS: Final = "KnownEphemeralTaintsExist"
RESOURCE_NOT_REGISTERED: Final = "ResourceNotRegistered"
DRIVERS_NOT_PUBLISHED: Final = "DRADriverPoolsNotPublished"


def step(view: ClaimView, now: datetime) -> Step:
    """See whether anything is wanting; if nothing is, say so on the Node and the claim."""
    conditions = conditions_of_claim(view.claim, now)
    initialized = conditions.get(INITIALIZED)
    if initialized is not None and initialized.status in {Status.TRUE, Status.FALSE}:
        return Step(conditions=(again(initialized),))
    if not conditions.is_true(REGISTERED):
        return STAY
    if len(view.nodes) != 1:
        return Step(conditions=(wait(INITIALIZED, NODE_NOT_FOUND, "its Node does not exist"),))
    node = view.nodes[0]
    for reason, wanting in _CHECKS:
        message = wanting(view, node)
        if message:
            return Step(conditions=(wait(INITIALIZED, reason, message),))
    done = msgspec.structs.replace(node, labels={**node.labels, labels.INITIALIZED: "true"})
    return Step(
        conditions=(hold(INITIALIZED),),
        nodes=node_patches(node, done),
        milestones=(Milestone.NODE_INITIALIZED,),
    )


def _unready(_: ClaimView, node: NodeObject) -> str:
    if node.is_ready:
        return ""
    status = next((one.status for one in node.conditions if one.type == "Ready"), "Unknown")
    return f"Node {node.name} is Ready={status}"


def _startup_taints(view: ClaimView, node: NodeObject) -> str:
    starting = {(taint.key, taint.effect) for taint in view.claim.startup_taints}
    left = [taint for taint in node.taints if (taint.key, taint.effect) in starting]
    return f"startup taints remain: {_listed(left)}" if left else ""


def _ephemeral_taints(_: ClaimView, node: NodeObject) -> str:
    left = [taint for taint in node.taints if is_ephemeral(taint)]
    return f"taints of a starting node remain: {_listed(left)}" if left else ""


def _resources(view: ClaimView, node: NodeObject) -> str:
    absent = [
        name
        for name, amount in sorted(view.claim.requests.items())
        if amount and not node.allocatable.get(name)
    ]
    return f"the Node does not report {', '.join(absent)} yet" if absent else ""


def _drivers(view: ClaimView, _: NodeObject) -> str:
    asked = view.claim.annotations.get(labels.REQUESTED_DRA_DRIVERS, "")
    wanted = {name.strip() for name in asked.split(",") if name.strip()}
    absent = sorted(wanted - publishing_drivers(view.slices))
    return f"no complete device pool yet from {', '.join(absent)}" if absent else ""


def publishing_drivers(slices: Iterable[DeviceSlice]) -> frozenset[str]:
    """Drivers of which at least one pool is complete at its highest generation."""
    by_pool: dict[tuple[str, str], list[DeviceSlice]] = {}
    for one in slices:
        by_pool.setdefault((one.driver, one.pool), []).append(one)
    return frozenset(driver for (driver, _), held in by_pool.items() if _is_complete(held))


def _is_complete(slices: list[DeviceSlice]) -> bool:
    newest = max(one.generation for one in slices)
    current = [one for one in slices if one.generation == newest]
    return all(one.n_slices == len(current) for one in current)


def _listed(names: Iterable[object]) -> str:
    return ", ".join(sorted(map(str, names)))


# In this order; the first that is wanting is named.
_CHECKS: Final[tuple[tuple[str, Callable[[ClaimView, NodeObject], str]], ...]] = (
    (NODE_NOT_READY, _unready),
    (STARTUP_TAINTS, _startup_taints),
    (EPHEMERAL_TAINTS, _ephemeral_taints),
    (RESOURCE_NOT_REGISTERED, _resources),
    (DRIVERS_NOT_PUBLISHED, _drivers),
)
