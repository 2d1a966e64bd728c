"""Tests of what is kept in step after a launch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dovetail import labels
from dovetail.decide.endings import drained_at
from dovetail.model.ending import KnownEnding
from dovetail.providers.aws.instances.described import Ec2Instance
from dovetail.providers.aws.instances.upkeep import (
    claims_without_tag,
    endings,
    missing_tags,
    outlived_claims,
)
from dovetail.providers.aws.launching import keys
from dovetail.providers.aws.launching.marks import ClaimRecord
from dovetail.providers.aws.node_class.types import CapacityReservation

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ID = "aws:///z/i-1"
RESERVED = {labels.CAPACITY_TYPE: labels.RESERVED, labels.RESERVATION_ID: "cr-1"}
CLAIM = ClaimRecord("c", "u", provider_id=ID, node_name="n", labels=RESERVED)


def instance(**own: str) -> Ec2Instance:
    """A running instance."""
    return Ec2Instance(id="i-1", instance_type="m5.large", zone="z", state="running", **own)  # type: ignore[arg-type]  # text fields only


def test_tags_name_node_claim_and_cluster_and_never_replace_others() -> None:
    """A class may have given a name."""
    tagged = Ec2Instance(id="i-1", instance_type="t", zone="z", tags={keys.NAME_TAG: "mine"})
    assert missing_tags(CLAIM, tagged, "cluster") == {
        keys.NODE_CLAIM_TAG: "c",
        keys.CLUSTER_TAG: "cluster",
    }


def test_only_registered_claims_are_tagged_once() -> None:
    """Their node has a name by then."""
    early = ClaimRecord("early", "u", provider_id=ID)
    done = ClaimRecord("done", "u", provider_id=ID, node_name="n", is_tagged=True)
    going = ClaimRecord("going", "u", provider_id=ID, node_name="n", is_deleting=True)
    assert claims_without_tag([early, done, going, CLAIM]) == [CLAIM]


def test_a_claim_whose_instance_lost_its_reservation_is_on_demand_now() -> None:
    """One that still has it stays reserved, and one that cannot be seen as well."""
    assert outlived_claims([CLAIM], {ID: instance()}) == [CLAIM]
    assert outlived_claims([CLAIM], {ID: instance(reservation_id="cr-1")}) == []
    assert outlived_claims([CLAIM], {}) == []


def test_nodes_of_a_capacity_block_are_drained_forty_minutes_before_it_ends() -> None:
    """EC2 takes their instances ten minutes later. Other reservations do not end theirs."""
    end = NOW + timedelta(days=3)
    block = CapacityReservation(id="cr-1", reservation_type="capacity-block", end_time=end)
    (ending,) = endings([CLAIM], [block], NOW)
    assert (ending.provider_id, ending.at) == (ID, end - timedelta(minutes=30))
    known = KnownEnding(ending, NOW, is_planned=True)
    assert drained_at(known) == end - timedelta(minutes=40)
    assert endings([CLAIM], [block], end) == []
    assert endings([CLAIM], [CapacityReservation(id="cr-1", end_time=end)], NOW) == []
