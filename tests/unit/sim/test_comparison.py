"""What the pods that run would cost if their nodes were bought anew."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from dovetail.model.snapshot import Snapshot
from dovetail.present.cost_report import Comparison
from dovetail.sim.comparison import compare, target
from dovetail.testing import deployment, instance_type, node, node_pool, pod, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CENT = 10**7
TYPES = (
    instance_type("small", cpu=4, memory="16Gi", price=0.1),
    instance_type("large", cpu=16, memory="64Gi", price=1.0),
)
WORDS: dict[str, Any] = {"zone": "a", "capacity_type": "on-demand", "types": TYPES}


def cluster(**changes: object) -> Snapshot:
    """Three pods on three small nodes; together they would fill a large one."""
    nodes = [node(f"n{at}", pool="default", type="small", **WORDS) for at in range(3)]
    pods = [pod(f"p{at}", cpu=3, node=f"n{at}") for at in range(3)]
    whole = snapshot(pods, nodes=nodes, types=TYPES)
    return msgspec.structs.replace(whole, **changes)


def test_the_reference_buys_one_large_node_where_three_small_ones_do() -> None:
    """Its claims grow for as long as any type holds them; the bound is what nobody beats."""
    found = compare(cluster(), NOW)
    assert found == Comparison(
        n_nodes=3,
        n_pods=3,
        paid_nanousd=30 * CENT,
        reference_nanousd=100 * CENT,
        n_reference_unplaced=0,
        anew_nanousd=30 * CENT,
        n_anew_unplaced=0,
        bound_nanousd=found.bound_nanousd,
    )
    assert 0 < found.bound_nanousd <= 30 * CENT


def test_pods_that_wait_are_not_bought_for() -> None:
    """Only what runs is compared with what is paid for it."""
    bare = cluster()
    more = msgspec.structs.replace(bare, pods=(*bare.pods, *deployment(5, "new", cpu=3)))
    assert compare(more, NOW) == compare(bare, NOW)


def test_daemons_come_with_their_nodes_and_what_ends_needs_none() -> None:
    """Neither waits for a node."""
    bare = cluster()
    others = (
        pod("agent", cpu="100m", node="n0", owner="DaemonSet/agent"),
        pod("done", cpu=1, node="n0", phase="Succeeded"),
        pod("going", cpu=1, node="n1", deleting_at="2026-01-01T00:00:00Z"),
    )
    more = msgspec.structs.replace(bare, pods=(*bare.pods, *others))
    assert compare(more, NOW).n_pods == 3


def test_nodes_that_come_or_go_are_left_out_with_their_pods() -> None:
    """They are paid for by nobody who is compared, and have no room to give."""
    bare = cluster()
    starting = node("early", pool="default", type="small", stage="starting", **WORDS)
    leaving = node(
        "late", pool="default", type="small", deleting_at="2026-01-01T00:00:00Z", **WORDS
    )
    pods = (*bare.pods, pod("x", cpu=3, node="late"))
    more = msgspec.structs.replace(bare, nodes=(*bare.nodes, starting, leaving), pods=pods)
    assert compare(more, NOW) == compare(bare, NOW)


def test_other_nodes_stay_and_their_room_may_be_used() -> None:
    """Those of no pool, of pools of a fixed size, and those without a price."""
    bare = cluster()
    mine = node("mine", cpu=4)
    fixed = node("fixed", pool="fixed", type="small", **WORDS)
    odd = node("odd", pool="default", type="unheard", cpu=4, zone="a", capacity_type="spot")
    pools = (*bare.node_pools, node_pool("fixed", replicas=1))
    types = {**bare.instance_types, "fixed": TYPES}
    more = msgspec.structs.replace(
        bare, nodes=(*bare.nodes, mine, fixed, odd), node_pools=pools, instance_types=types
    )
    found = compare(more, NOW)
    assert (found.n_nodes, found.paid_nanousd) == (3, 30 * CENT)
    assert (found.reference_nanousd, found.anew_nanousd, found.bound_nanousd) == (0, 0, 0)


def test_a_cluster_without_nodes_compares_to_nothing() -> None:
    """No figure is made up."""
    assert compare(snapshot(types=TYPES), NOW) == Comparison(0, 0, 0, 0, 0, 0, 0, 0)


def test_the_target_is_what_may_move_now_at_its_least() -> None:
    """Two half-empty nodes come to one; nodes that may not move leave nothing to aim at."""
    nodes = [
        node(f"n{at}", pool="default", type="small", is_consolidatable=True, **WORDS)
        for at in range(2)
    ]
    pods = [pod(f"p{at}", cpu=1, node=f"n{at}") for at in range(2)]
    found = target(snapshot(pods, nodes=nodes, types=TYPES), NOW)
    assert 0 < found < 20 * CENT
    assert target(cluster(), NOW) == 0


def test_pods_that_found_no_place_at_first_are_tried_again() -> None:
    """As a controller does once the nodes of the others have come; who fits nowhere is counted."""
    types = (instance_type("small", cpu=4, memory="16Gi", price=0.1, zones=("a",)),)
    words: dict[str, Any] = {**WORDS, "types": types}
    first = pod("first", cpu=1, node="n0", labels={"app": "first"})
    friend = pod(
        "friend",
        cpu=4,
        node="n1",
        affinity=[{"topology_key": "zone", "selector": {"app": "first"}}],
    )
    giant = pod("giant", cpu=64, node="n1")
    nodes = [node(f"n{at}", pool="default", type="small", **words) for at in range(2)]
    found = compare(snapshot([first, friend, giant], nodes=nodes, types=types), NOW)
    assert (found.reference_nanousd, found.n_reference_unplaced) == (20 * CENT, 1)
    assert (found.anew_nanousd, found.n_anew_unplaced) == (20 * CENT, 1)
