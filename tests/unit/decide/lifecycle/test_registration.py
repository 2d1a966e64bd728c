from __future__ import annotations

import msgspec
import pytest

from dovetail import labels
from dovetail.decide.lifecycle import registration
from dovetail.decide.lifecycle.conditions import REGISTERED, hold
from dovetail.decide.lifecycle.step import (
    EventType,
    Milestone,
    NoteRegistration,
    Step,
    claim_with,
    node_after,
    view_after,
)
from dovetail.model.claim import ClaimObject, HookAnswer
from dovetail.model.taints import Taint
from tests.unit.decide.lifecycle.claims import (
    MINUTE,
    NOW,
    SECOND,
    UNREGISTERED,
    launched,
    node,
    registered,
    said_of,
    view,
)

GPU = Taint("dedicated", "gpu")
CNI = Taint("cni/starting", "", "NoExecute")
CLAIM = launched(
    labels={"team": "a", labels.ZONE: "z"},
    annotations={"note": "x"},
    taints=(GPU,),
    startup_taints=(CNI,),
)
JOINED = node(
    labels={"team": "kubelet", "own": "1"}, annotations={"k": "v"}, taints=(UNREGISTERED,)
)


def test_a_claim_without_a_node_waits_for_it() -> None:
    """And says so."""
    after = claim_with(CLAIM, registration.registration_step(view(CLAIM), NOW), NOW)
    said = said_of(after, REGISTERED)
    assert (said.status, said.reason) == ("Unknown", "NodeNotFound")


def test_two_nodes_of_one_instance_are_a_mistake() -> None:
    """Nobody knows which is meant; the names help to find out."""
    step = registration.registration_step(view(CLAIM, JOINED, node(name="n0")), NOW)
    said = said_of(claim_with(CLAIM, step, NOW), REGISTERED)
    assert (said.status, said.reason) == ("False", "MultipleNodesFound")
    assert "n0, n1" in said.message
    assert step.nodes == ()


def test_a_node_that_joins_becomes_the_claims() -> None:
    """Finalizer, owner, labels, annotations and taints; the unregistered taint goes."""
    step = registration.registration_step(view(CLAIM, JOINED), NOW)
    after = node_after(JOINED, step.nodes)
    assert after.finalizers == ("karpenter.sh/termination",)
    assert after.owner_uids == ("uid-1",)
    assert after.labels == {
        "team": "a",
        "own": "1",
        labels.ZONE: "z",
        "karpenter.sh/registered": "true",
    }
    assert after.annotations == {"k": "v", "note": "x"}
    assert after.taints == (GPU, CNI)
    claimed = claim_with(CLAIM, step, NOW)
    assert claimed.node_name == "n1"
    assert said_of(claimed, REGISTERED).status == "True"
    assert step.actions == (NoteRegistration("default", "pool-1", is_success=True),)
    assert step.milestones == (Milestone.NODE_REGISTERED,)
    assert step.events == ()


def test_a_claim_that_stands_alone_tells_no_pool() -> None:
    """There is none."""
    alone = msgspec.structs.replace(CLAIM, node_pool="")
    assert registration.registration_step(view(alone, JOINED), NOW).actions == ()


def test_taints_are_one_for_each_key_and_effect() -> None:
    """The Node's own value stays."""
    mine = Taint("dedicated", "other")
    step = registration.registration_step(view(CLAIM, node(taints=(UNREGISTERED, mine))), NOW)
    assert node_after(JOINED, step.nodes).taints == (mine, CNI)


def test_a_node_may_ask_for_its_taints_to_be_left_alone() -> None:
    """All but the one that says it has not registered."""
    told = {labels.DO_NOT_SYNC_TAINTS: "true"}
    step = registration.registration_step(
        view(CLAIM, node(taints=(UNREGISTERED,), labels=told)), NOW
    )
    assert node_after(JOINED, step.nodes).taints == ()


def test_a_node_without_the_unregistered_taint_is_told_of() -> None:
    """Pods may have come too early; it registers all the same."""
    step = registration.registration_step(view(CLAIM, node()), NOW)
    assert [(one.type, one.reason) for one in step.events] == [
        (EventType.WARNING, "UnregisteredTaintMissing")
    ]
    assert hold(REGISTERED) in step.conditions


def test_hooks_hold_a_node_back() -> None:
    """It is the claim's already, but keeps the taint, until the last hook is done."""
    hooks = (
        HookAnswer("b", again_after=MINUTE),
        HookAnswer("a", again_after=10 * SECOND),
        HookAnswer("done"),
    )
    step = registration.registration_step(view(CLAIM, JOINED, hooks=hooks), NOW)
    after = node_after(JOINED, step.nodes)
    assert UNREGISTERED in after.taints
    assert labels.REGISTERED not in after.labels
    assert after.finalizers == ("karpenter.sh/termination",)
    said = said_of(claim_with(CLAIM, step, NOW), REGISTERED)
    assert (said.status, said.reason) == ("Unknown", "RegistrationHookPending")
    assert said.message == "waiting for a, b"
    assert step.look_again_at == NOW + 10 * SECOND


def test_a_hook_that_fails_holds_a_node_back_too() -> None:
    """With its error in the message."""
    hooks = (HookAnswer("a", error="refused"),)
    step = registration.registration_step(view(CLAIM, JOINED, hooks=hooks), NOW)
    assert said_of(claim_with(CLAIM, step, NOW), REGISTERED).message == "waiting for a (refused)"
    assert step.look_again_at == NOW + SECOND


def test_startup_taints_that_were_taken_off_do_not_come_back() -> None:
    """Not even while hooks hold the node back; lasting taints do."""
    waiting = view(CLAIM, JOINED, hooks=(HookAnswer("a", again_after=MINUTE),))
    first = view_after(waiting, registration.registration_step(waiting, NOW), NOW)
    (held,) = first.nodes
    assert held.taints == (UNREGISTERED, GPU, CNI)
    freed = msgspec.structs.replace(held, taints=(UNREGISTERED,))
    step = registration.registration_step(view(first.claim, freed), NOW)
    assert node_after(freed, step.nodes).taints == (GPU,)


def test_while_nothing_changes_nothing_is_written() -> None:
    """The second look at a waiting node patches neither it nor the claim."""
    waiting = view(CLAIM, JOINED, hooks=(HookAnswer("a", again_after=MINUTE),))
    first = view_after(waiting, registration.registration_step(waiting, NOW), NOW)
    second = registration.registration_step(first, NOW + SECOND)
    assert (second.nodes, second.claims) == ((), ())
    assert claim_with(first.claim, second, NOW + SECOND) == first.claim


def test_a_registered_claim_is_left_alone() -> None:
    """Whatever its Node looks like by now."""
    step = registration.registration_step(view(registered(), node(taints=(UNREGISTERED,))), NOW)
    assert step == Step(conditions=(hold(REGISTERED),))


@pytest.mark.parametrize(
    ("one", "n_nodes", "want"),
    [
        pytest.param(CLAIM, 1, True, id="a Node has joined"),
        pytest.param(CLAIM, 0, False, id="none yet"),
        pytest.param(registered(), 1, False, id="registered long ago"),
    ],
)
def test_hooks_are_asked_when_a_node_is_about_to_register(
    one: ClaimObject,
    n_nodes: int,
    want: bool,  # noqa: FBT001  a column of the table
) -> None:
    """Neither before nor after."""
    seen = msgspec.structs.replace(view(CLAIM, *[JOINED] * n_nodes), claim=one)
    assert registration.awaits_hooks(seen, NOW) is want
