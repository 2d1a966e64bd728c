"""What holds for every step, whatever the claim has been through."""

from __future__ import annotations

from datetime import datetime

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dovetail.decide.lifecycle import running, termination
from dovetail.decide.lifecycle.claim import advance, hydration_step
from dovetail.decide.lifecycle.conditions import (
    DRAINED,
    INITIALIZED,
    LAUNCHED,
    REGISTERED,
    SetCondition,
    Status,
)
from dovetail.decide.lifecycle.draining import is_waiting
from dovetail.decide.lifecycle.step import CreateInstance, DeleteClaim, Step, claim_with, view_after
from dovetail.decide.lifecycle.termination import TerminationView
from dovetail.model.claim import (
    Attachment,
    ClaimView,
    HookAnswer,
    InstanceState,
    Launched,
    LaunchFailed,
    LaunchFailure,
    Launching,
    NodeObject,
)
from dovetail.model.pod import Pod
from dovetail.model.taints import Taint
from tests.unit.decide.lifecycle.claims import (
    BORN,
    DAEMON,
    HOUR,
    MINUTE,
    PROVIDER_ID,
    READY,
    SECOND,
    UNREGISTERED,
    claim,
    node,
    pod,
)

MOMENTS = st.integers(0, 3600).map(lambda seconds: BORN + seconds * SECOND)
SAID = st.lists(
    st.builds(
        SetCondition,
        st.sampled_from((LAUNCHED, REGISTERED, INITIALIZED, DRAINED)),
        st.sampled_from(Status),
        st.just("Because"),
    ),
    max_size=4,
)
NODES = st.builds(
    lambda ready, taints, held: node(
        conditions=(READY,) if ready else (),
        taints=tuple(taints),
        finalizers=("karpenter.sh/termination",) if held else (),
    ),
    st.booleans(),
    st.lists(st.sampled_from((UNREGISTERED, Taint("own"), Taint("startup"))), unique=True),
    st.booleans(),
)
OUTCOMES = st.one_of(
    st.none(),
    st.just(Launching()),
    st.just(Launched(PROVIDER_ID, labels={"zone": "a"})),
    st.builds(LaunchFailed, st.sampled_from(LaunchFailure), st.just("no"), st.just("Why")),
)
VIEWS = st.builds(
    lambda said, nodes, outcome, hook, deleting: ClaimView(
        claim(
            *said,
            provider_id=PROVIDER_ID,
            startup_taints=(Taint("startup"),),
            termination_grace_period=MINUTE,
            expire_after=HOUR,
            deleting_at=BORN if deleting else None,
        ),
        nodes=tuple(nodes),
        outcome=outcome,
        hooks=(HookAnswer("h", again_after=MINUTE if hook else None),),
    ),
    SAID,
    st.lists(NODES, max_size=2),
    OUTCOMES,
    st.booleans(),
    st.booleans(),
)
PODS = st.lists(
    st.builds(
        lambda name, daemon, deleting: pod(
            name,
            owner=DAEMON if daemon else None,
            deleting_at=BORN + deleting * SECOND if deleting else None,
        ),
        st.sampled_from("abcd"),
        st.booleans(),
        st.integers(0, 100),
    ),
    max_size=3,
    unique_by=lambda one: one.key,
)


def outward(step: Step) -> object:
    """What a step asks of the world."""
    return step.claims, step.nodes, step.actions


@given(VIEWS, MOMENTS)
def test_a_step_that_was_taken_is_not_taken_again(seen: ClaimView, now: datetime) -> None:
    """Once written, nothing is written; only what must be asked for again is."""
    for law in (advance, hydration_step):
        step = law(seen, now)
        after = msgspec.structs.replace(view_after(seen, step, now), outcome=seen.outcome)
        second = law(after, now)
        if not step.ends_claim:
            assert (second.claims, second.nodes) == ((), ())
            assert claim_with(after.claim, second, now) == after.claim


@given(VIEWS, MOMENTS, MOMENTS)
def test_nothing_changes_before_it_is_time_to_look_again(
    seen: ClaimView, one: datetime, other: datetime
) -> None:
    """Time alone changes a step only from `look_again_at` on."""
    now, later = min(one, other), max(one, other)
    step = advance(seen, now)
    if step.look_again_at is None or later < step.look_again_at:
        assert outward(advance(seen, later)) == outward(step)
    dying = running.expiration_step(seen.claim, now)
    if dying.look_again_at is not None and later < dying.look_again_at:
        assert running.expiration_step(seen.claim, later) == dying


@given(VIEWS, MOMENTS)
def test_no_claim_is_launched_and_deleted_at_once(seen: ClaimView, now: datetime) -> None:
    """What was not launched in time is not launched any more."""
    kinds = {type(action) for action in advance(seen, now).actions}
    assert not {CreateInstance, DeleteClaim} <= kinds


@given(VIEWS, PODS, st.booleans(), st.sampled_from(InstanceState), MOMENTS)
def test_a_node_is_never_let_go_while_a_pod_must_leave(
    seen: ClaimView,
    pods: list[Pod],
    has_volume: bool,  # noqa: FBT001  drawn by hypothesis
    instance: InstanceState,
    now: datetime,
) -> None:
    """Unless its instance is gone and the Node with it."""
    for one in seen.nodes:
        held: NodeObject = msgspec.structs.replace(
            one, deleting_at=BORN, finalizers=("karpenter.sh/termination",)
        )
        view = TerminationView(
            held,
            (seen.claim,),
            tuple(pods),
            (Attachment("a", "pv"),) if has_volume else (),
            instance=instance,
        )
        step = termination.step(view, now)
        is_released = any(patch.finalizers == () for patch in step.nodes)
        is_lost = instance is InstanceState.GONE and not held.is_ready
        is_busy = any(is_waiting(one, now) for one in pods)
        if is_released and not is_lost:
            assert not is_busy
            assert not has_volume
            assert instance is InstanceState.GONE
        assert is_released or step.actions or step.look_again_at is not None
