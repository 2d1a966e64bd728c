from __future__ import annotations

import msgspec
import pytest

from dovetail import labels
from dovetail.decide.lifecycle import running
from dovetail.decide.lifecycle.conditions import DRIFTED, ClearCondition, SetCondition, Status
from dovetail.decide.lifecycle.running import DriftView
from dovetail.decide.lifecycle.step import Milestone, Step
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirements, requirement
from tests.unit.decide.lifecycle.claims import BORN, HOUR, MINUTE, NOW, SECOND, claim, initialized

HASHED = {labels.NODE_POOL_HASH: "1", labels.NODE_POOL_HASH_VERSION: "v3"}
CHANGED = {**HASHED, labels.NODE_POOL_HASH: "2"}
LABELS = {labels.ZONE: "a", labels.CAPACITY_TYPE: "spot", labels.INSTANCE_TYPE: "m1"}
OLD = BORN + 2 * HOUR
CLEARED = ClearCondition(DRIFTED)


def offering(zone: str, capacity_type: str, **more: str) -> Offering:
    """Something on offer, if only in name."""
    held = {labels.ZONE: zone, labels.CAPACITY_TYPE: capacity_type, **more}
    return Offering(zone, capacity_type, 1, Requirements.of_labels(held), is_available=False)


def machine(*offerings: Offering) -> InstanceType:
    """The type m1, offered so."""
    return InstanceType("m1", Requirements(), {}, {}, offerings)


SOLD = machine(offering("a", "spot"))


def seen(**fields: object) -> DriftView:
    """A claim beside its pool."""
    bare = DriftView(
        initialized(labels=LABELS, annotations=HASHED),
        NodePool("default", requirements=(requirement(labels.ZONE, "In", ["a", "b"], None),)),
        HASHED,
        (SOLD,),
    )
    return msgspec.structs.replace(bare, **fields)


def marked(reason: str) -> SetCondition:
    """The mark of a node that has drifted."""
    return SetCondition(DRIFTED, Status.TRUE, reason)


@pytest.mark.parametrize(
    ("view", "want"),
    [
        pytest.param(seen(), CLEARED, id="it is as it would be made today"),
        pytest.param(
            seen(pool_annotations=CHANGED),
            marked("NodePoolDrifted"),
            id="NodePoolDrifted: the template changed",
        ),
        pytest.param(
            seen(
                pool_annotations={labels.NODE_POOL_HASH: "2", labels.NODE_POOL_HASH_VERSION: "v4"}
            ),
            CLEARED,
            id="hashes of other rules say nothing",
        ),
        pytest.param(seen(pool_annotations={}), CLEARED, id="no hash says nothing"),
        pytest.param(
            seen(pool=NodePool("x", requirements=(requirement(labels.ZONE, "In", ["b"], None),))),
            marked("RequirementsDrifted"),
            id="RequirementsDrifted: its zone is no longer allowed",
        ),
        pytest.param(
            seen(pool=NodePool("x", requirements=(requirement("team", "Exists", [], None),))),
            marked("RequirementsDrifted"),
            id="RequirementsDrifted: a label is wanted that it does not have",
        ),
        pytest.param(
            seen(instance_types=()),
            marked("InstanceTypeNotFound"),
            id="InstanceTypeNotFound: its type is gone",
        ),
        pytest.param(
            seen(instance_types=(machine(offering("b", "spot")),)),
            marked("InstanceTypeNotFound"),
            id="InstanceTypeNotFound: its type is no longer offered there",
        ),
        pytest.param(seen(provider_reason="ImageDrift"), marked("ImageDrift"), id="the cloud says"),
        pytest.param(
            seen(
                provider_reason="ImageDrift",
                pool_annotations={**HASHED, labels.NODE_POOL_HASH: "2"},
            ),
            marked("NodePoolDrifted"),
            id="the first reason counts",
        ),
    ],
)
def test_a_node_drifts_from_what_would_be_made_today(
    view: DriftView, want: SetCondition | ClearCondition
) -> None:
    """Looked at every five minutes; what no longer holds is taken back."""
    step = running.drift_step(view, OLD)
    assert step.conditions == (want,)
    assert step.look_again_at == OLD + 5 * MINUTE


def test_what_is_not_launched_has_not_drifted() -> None:
    """There is nothing to compare."""
    assert running.drift_step(seen(claim=claim()), OLD) == Step(conditions=(CLEARED,))


@pytest.mark.parametrize(
    ("view", "is_looked_for"),
    [
        pytest.param(seen(), True, id="an old node"),
        pytest.param(
            seen(claim=initialized(labels=LABELS, created_at=OLD - HOUR)), False, id="a young node"
        ),
        pytest.param(seen(type_seen_at=OLD - 30 * MINUTE), True, id="seen half an hour ago"),
        pytest.param(seen(type_seen_at=OLD - 30 * MINUTE + SECOND), False, id="seen just now"),
    ],
)
def test_an_instance_type_is_looked_for_now_and_then(
    view: DriftView,
    is_looked_for: bool,  # noqa: FBT001  a column of the table
) -> None:
    """From an hour on, every half hour; that it was seen is said."""
    found = running.drift_step(view, OLD)
    assert (Milestone.TYPE_SEEN in found.milestones) == is_looked_for
    lost = running.drift_step(msgspec.structs.replace(view, instance_types=()), OLD)
    assert (lost.conditions == (marked("InstanceTypeNotFound"),)) == is_looked_for
    assert lost.milestones == ()


def test_a_reservation_may_run_out() -> None:
    """The node goes on as if it had been bought on demand, but not as spot."""
    held = {**LABELS, labels.CAPACITY_TYPE: "reserved", labels.RESERVATION_ID: "cr-1"}
    reserved = seen(claim=initialized(labels=held))
    other = offering("a", "reserved", **{labels.RESERVATION_ID: "cr-2"})
    for sold, want in ((offering("a", "on-demand"), CLEARED), (other, CLEARED)):
        view = msgspec.structs.replace(reserved, instance_types=(machine(sold),))
        assert running.drift_step(view, OLD).conditions == (want,)
    spot_only = msgspec.structs.replace(reserved, instance_types=(SOLD,))
    assert running.drift_step(spot_only, OLD).conditions == (marked("InstanceTypeNotFound"),)
    assert running.drift_step(spot_only, NOW).conditions == (CLEARED,)
