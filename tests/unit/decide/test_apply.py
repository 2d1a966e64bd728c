"""What a cluster looks like while a plan is carried out, and afterwards."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from dovetail import labels
from dovetail.decide.apply import apply, begin
from dovetail.decide.nodes import usable
from dovetail.model.ledger import Ledger, Nomination, Proposal
from dovetail.model.plan import Disrupt, Launch, Nominate, Plan
from dovetail.model.snapshot import Snapshot
from dovetail.testing import deployment, instance_type, node, node_pool, pod, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TYPES = (instance_type("small"),)
NEW = Launch(
    name="default-1-1",
    node_pool="default",
    instance_type="small",
    zone="b",
    capacity_type="on-demand",
    price_nanousd=100_000_000,
    instance_types=("small",),
    requests={},
    pods=("default/waits",),
    allocatable={"cpu": 2000},
    reservation_id="cr-1",
)
INSTEAD = msgspec.structs.replace(NEW, name="default-1-2", pods=("default/p",), reservation_id="")
PLAN = Plan(
    launches=(NEW,),
    disruptions=(
        Disrupt(
            "Drifted",
            ("old",),
            replacements=(INSTEAD,),
            pods=("default/p", "default/q"),
            places=(Nominate("other", ("default/q",)),),
        ),
    ),
    proposals=(Proposal("Empty", "old", NOW), Proposal("Empty", "other", NOW)),
)


def cluster(consolidate_after: str = "0s") -> Snapshot:
    """Two nodes, a pod that waits, and a promise to it."""
    made = snapshot(
        nodes=[
            node(name, pool="default", type="small", types=TYPES, is_consolidatable=True)
            for name in ("old", "other")
        ],
        node_pools=[node_pool(consolidate_after=consolidate_after)],
        types=TYPES,
        pods=[
            pod("waits"),
            pod("p", node="old"),
            pod("q", node="old"),
            pod("stays", node="other"),
            pod("daemon", node="old", owner="DaemonSet/d"),
        ],
    )
    uid = next(one.uid for one in made.pods if one.name == "waits")
    return msgspec.structs.replace(made, ledger=Ledger((Nomination(uid, "old", NOW),)))


def where(snapshot: Snapshot) -> dict[str, str]:
    """The node of each pod."""
    return {one.name: one.node_name for one in snapshot.pods}


def test_what_has_nothing_to_do_changes_nothing() -> None:
    """The very same snapshot, so that what is known about it is found again."""
    there = cluster()
    assert begin(there, Plan(), NOW) is there


def test_while_it_goes_on_nodes_come_and_others_are_marked() -> None:
    """Pods count where they will be; nodes that go are there, and leave."""
    after = begin(cluster(), PLAN, NOW)
    assert where(after) == {
        "waits": "default-1-1",
        "p": "default-1-2",
        "q": "other",
        "stays": "other",
        "daemon": "old",
    }
    assert [one.node for one in after.ledger.disrupting] == ["old"]
    coming = {one.name: one for one in after.nodes if one.name.startswith("default-")}
    assert [one.is_initialized for one in coming.values()] == [False, False]
    assert coming["default-1-1"].labels[labels.ZONE] == "b"
    assert coming["default-1-1"].capacity == TYPES[0].capacity


def test_until_it_has_started_a_launch_counts_with_the_most_that_it_lists() -> None:
    """A limit of the pool holds whichever type comes; pods may only use what was planned."""
    types = (*TYPES, instance_type("large", cpu=8, resources={"example.com/gpu": 1}))
    pools = [node_pool(limits={"cpu": 20, "example.com/gpu": 4})]
    launch = msgspec.structs.replace(NEW, instance_types=("small", "large"))
    there = snapshot(node_pools=pools, types=types, pods=[pod("waits")])
    plan = Plan(launches=(launch,))
    (coming,) = begin(there, plan, NOW).nodes
    assert (coming.capacity["cpu"], coming.capacity["example.com/gpu"]) == (8000, 1)
    (seen,) = usable(begin(there, plan, NOW))
    assert (seen.allocatable["cpu"], seen.allocatable["example.com/gpu"]) == (2000, 0)
    (started,) = apply(there, plan).nodes
    assert started.capacity == TYPES[0].capacity


def test_promises_are_kept_and_reservations_used() -> None:
    """Nobody is planned for twice, and nothing reserved is given away twice."""
    after = begin(cluster(), PLAN, NOW)
    assert after.ledger.nominations == ()
    assert after.ledger.reserved_by_id == {"cr-1": 1}


def test_once_carried_out_what_went_is_gone() -> None:
    """With its daemon pods; new nodes run, and are quiet where the pool waits for nothing."""
    after = apply(cluster(), PLAN)
    assert [one.name for one in after.nodes] == ["other", "default-1-1", "default-1-2"]
    assert where(after) == {
        "waits": "default-1-1",
        "p": "default-1-2",
        "q": "other",
        "stays": "other",
    }
    assert all(one.is_initialized and one.conditions for one in after.nodes)
    assert [one.node for one in after.ledger.proposals] == ["other"]
    assert after.revision == 2


def test_nodes_to_which_pods_came_are_not_quiet_for_a_while() -> None:
    """Where the pool waits before it consolidates."""
    after = apply(cluster(consolidate_after="5m"), PLAN)
    assert [one.conditions for one in after.nodes] == [(), (), ()]
    bounded = msgspec.structs.replace(
        cluster().node_pools[0], termination_grace_period=timedelta(hours=1)
    )
    later = apply(msgspec.structs.replace(cluster(), node_pools=(bounded,)), PLAN)
    assert later.nodes[-1].termination_grace_period == timedelta(hours=1)


def test_pods_that_must_move_and_have_no_place_wait_again() -> None:
    """Those of a static pool's drifted node, for which nobody was asked; daemon pods go with it."""
    pods = (
        *deployment(1, "web", node="a"),
        pod("daemon", node="a", owner="DaemonSet/daemon"),
    )
    held = snapshot(pods, nodes=[node("a", pool="default")])
    after = apply(held, Plan(disruptions=(Disrupt("Drifted", ("a",), pods=("default/web-0",)),)))
    assert [(one.key, one.node_name, one.phase) for one in after.pods] == [
        ("default/web-0", "", "Pending")
    ]
