from __future__ import annotations

from dovetail.decide.lifecycle.conditions import LAUNCHED, hold
from dovetail.decide.lifecycle.step import (
    STAY,
    ClaimPatch,
    NodePatch,
    PoolPatch,
    Step,
    claim_after,
    claim_patches,
    node_after,
    node_patches,
    soonest,
)
from dovetail.model.taints import Taint
from tests.unit.decide.lifecycle.claims import NOW, SECOND, claim, node


def test_two_steps_make_one() -> None:
    """One patch for each object, the later word on top; the sooner look counts."""
    first = Step(
        conditions=(hold(LAUNCHED),),
        nodes=(NodePatch("n1", labels={"a": "1", "b": "1"}, taints=(Taint("x"),)),),
        pools=(PoolPatch("p", n_nodes=1),),
        look_again_at=NOW + SECOND,
    )
    second = Step(
        nodes=(NodePatch("n1", labels={"b": "2"}, finalizers=()), NodePatch("n2")),
        pools=(PoolPatch("p", resources={"cpu": 1}),),
        look_again_at=NOW,
    )
    assert first.then(second) == Step(
        conditions=(hold(LAUNCHED),),
        nodes=(
            NodePatch("n1", labels={"a": "1", "b": "2"}, taints=(Taint("x"),), finalizers=()),
            NodePatch("n2"),
        ),
        pools=(PoolPatch("p", n_nodes=1, resources={"cpu": 1}),),
        look_again_at=NOW,
    )
    assert STAY.then(first) == first.then(STAY) == first


def test_a_patch_has_only_what_differs_and_leads_there() -> None:
    """And none is made where nothing does."""
    before, after = node(labels={"a": "1"}), node(labels={"a": "1", "b": "2"}, finalizers=("f",))
    patches = node_patches(before, after)
    assert patches == (NodePatch("n1", labels={"b": "2"}, finalizers=("f",)),)
    assert node_after(before, patches) == after
    assert node_patches(after, after) == ()
    one = claim(image_id="i", last_pod_event_at=NOW)
    assert claim_after(claim(), claim_patches(claim(), one)) == one
    assert claim_patches(one, one) == ()


def test_a_patch_changes_its_own_object_only() -> None:
    """By name."""
    assert node_after(node(), (NodePatch("other", labels={"a": "1"}),)) == node()
    assert claim_after(claim(), (ClaimPatch("other", node_name="n"),)) == claim()


def test_the_soonest_of_no_moments_is_none() -> None:
    """Then there is nothing to wait for."""
    assert soonest(None, None) is None
    assert soonest(None, NOW, NOW + SECOND) == NOW
