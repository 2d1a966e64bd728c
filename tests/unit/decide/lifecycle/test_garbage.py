from __future__ import annotations

import msgspec
import pytest

from dovetail.decide.lifecycle import garbage
from dovetail.decide.lifecycle.garbage import GarbageView
from dovetail.decide.lifecycle.step import DeleteClaim, DeleteInstance, DeleteNode
from dovetail.model.claim import ClaimObject, InstanceRecord
from tests.unit.decide.lifecycle.claims import (
    BORN,
    MINUTE,
    NOW,
    PROVIDER_ID,
    SECOND,
    claim,
    launched,
    node,
    registered,
)

RUNNING = InstanceRecord(PROVIDER_ID, created_at=BORN)
GOING = InstanceRecord(PROVIDER_ID, created_at=BORN, is_terminating=True)
UNREADY = node(conditions=())


@pytest.mark.parametrize(
    ("seen", "is_collected"),
    [
        pytest.param(GarbageView((registered(),), (UNREADY,)), True, id="its instance is gone"),
        pytest.param(
            GarbageView((registered(),), (UNREADY,), (GOING,)), True, id="its instance is going"
        ),
        pytest.param(GarbageView((registered(),)), True, id="the Node is gone too"),
        pytest.param(GarbageView((registered(),), (), (RUNNING,)), False, id="it runs"),
        pytest.param(GarbageView((registered(),), (node(),)), False, id="its Node is ready"),
        pytest.param(GarbageView((launched(),)), False, id="it has not registered"),
        pytest.param(GarbageView((registered(deleting_at=BORN),)), False, id="it goes already"),
    ],
)
def test_a_claim_whose_instance_is_gone_goes(
    seen: GarbageView,
    is_collected: bool,  # noqa: FBT001  a column of the table
) -> None:
    """Unless its Node says that it is ready: then the list is wrong."""
    want = (DeleteClaim("one", "uid-1", "garbage_collected"),) if is_collected else ()
    step = garbage.step(seen, NOW)
    assert step.actions == want
    assert step.look_again_at == NOW + 2 * MINUTE


def orphan(**fields: object) -> InstanceRecord:
    """An instance of which nobody knows."""
    return msgspec.structs.replace(InstanceRecord("kwok://lost", created_at=BORN), **fields)


def test_an_instance_whose_claim_is_gone_goes_with_its_node() -> None:
    """Nobody else would ever end it."""
    lost = orphan(node_claim="gone")
    seen = GarbageView((claim(),), (node(provider_id="kwok://lost"), node(name="n2")), (lost,))
    assert garbage.step(seen, NOW).actions == (
        DeleteInstance("kwok://lost", "gone"),
        DeleteNode("n1", "node-1"),
    )


def test_an_instance_from_the_future_is_old() -> None:
    """The clock was set back since it was launched."""
    lost = orphan(created_at=NOW + MINUTE)
    found = garbage.step(GarbageView(instances=(lost,)), NOW)
    assert found.actions == (DeleteInstance("kwok://lost", ""),)


@pytest.mark.parametrize(
    ("instance", "claims"),
    [
        pytest.param(orphan(node_claim="one"), (claim(),), id="a launch is being written down"),
        pytest.param(
            orphan(node_claim="one", node_claim_uid="uid-1"), (claim(),), id="the same, by its uid"
        ),
        pytest.param(orphan(), (launched(provider_id="kwok://lost"),), id="known by its id"),
        pytest.param(orphan(created_at=NOW - 29 * SECOND), (), id="too young"),
        pytest.param(orphan(created_at=None), (), id="of unknown age"),
        pytest.param(orphan(is_terminating=True), (), id="going already"),
    ],
)
def test_an_instance_that_may_have_a_claim_stays(
    instance: InstanceRecord, claims: tuple[ClaimObject, ...]
) -> None:
    """What was just launched is not garbage."""
    assert garbage.step(GarbageView(claims, (), (instance,)), NOW).actions == ()


def test_another_claim_of_the_same_name_is_another() -> None:
    """The instance's own claim is gone."""
    lost = orphan(node_claim="one", node_claim_uid="uid-0")
    assert garbage.step(GarbageView((claim(),), (), (lost,)), NOW).actions == (
        DeleteInstance("kwok://lost", "one"),
    )


def test_a_node_that_goes_already_is_not_deleted_again() -> None:
    """Its instance is enough."""
    going = node(provider_id="kwok://lost", deleting_at=BORN)
    assert garbage.step(GarbageView((), (going,), (orphan(),)), NOW).actions == (
        DeleteInstance("kwok://lost"),
    )
