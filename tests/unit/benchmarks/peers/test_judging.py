"""Plans of both sides are judged by the same rules."""

from __future__ import annotations

import msgspec
import pytest

from benchmarks.peers.judging import NOW, illegal, plan_of, word
from benchmarks.peers.reference import Answer, FilledNode, NotPlaced, PeerClaim
from benchmarks.scenarios import fleet
from dovetail.decide import decide
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Unschedulable
from dovetail.testing.builders import deployment, instance_type, node, node_pool, pod, snapshot

LARGE = instance_type("large", cpu=4, zones=["a", "b"])


def cluster(**words: object) -> Snapshot:
    """Two pods of two cpus each, a node with room for one of them, and larger ones to be had."""
    there = node("there", pool="default", type="large", types=(LARGE,), zone="b")
    bound = pod("bound", node="there", cpu=2)
    pods = [bound, *deployment(2, "web", cpu=2, **words)]
    return snapshot(pods, nodes=[there], node_pools=[node_pool()], types=(LARGE,))


def answer(*zones: str, there: tuple[str, ...] = ()) -> Answer:
    """A node for each of the first pods, in these zones, and the others where a node is."""
    claims = tuple(
        PeerClaim("default", "large", zone, "on-demand", 0.1, (f"default/web-{number}",))
        for number, zone in enumerate(zones)
    )
    return Answer(node_claims=claims, existing_nodes=(FilledNode("there", there),))


def judged(given: Snapshot, found: Answer) -> list[str]:
    """Who would not be bound."""
    return sorted(illegal(given, plan_of(found, given)))


def test_what_fits_is_legal_and_what_does_not_is_not() -> None:
    """On new nodes and on those that are there."""
    assert judged(cluster(), answer("a", there=("default/web-1",))) == []
    assert judged(cluster(), answer(there=("default/web-0", "default/web-1"))) == ["default/web-1"]


@pytest.mark.parametrize(("zones", "n_refused"), [(("a", "b"), 0), (("a", "a"), 1)])
def test_a_node_is_in_the_zone_where_it_is_cheapest(zones: tuple[str, ...], n_refused: int) -> None:
    """Spreads are judged by that."""
    given = cluster(spread=[{"topology_key": "topology.kubernetes.io/zone"}])
    assert len(judged(given, answer(*zones))) == n_refused


def test_our_own_plans_are_legal() -> None:
    """By the same judge."""
    given = fleet(80, 2)
    plan = decide(given, NOW)
    assert illegal(given, plan) == {}
    first, *others = plan.launches
    crammed = msgspec.structs.replace(
        first, pods=tuple(pod for one in plan.launches for pod in one.pods)
    )
    emptied = tuple(msgspec.structs.replace(one, pods=()) for one in others)
    assert illegal(given, msgspec.structs.replace(plan, launches=(crammed, *emptied)))


def test_whoever_has_placed_a_pod_legally_is_right_about_it() -> None:
    """One case for all pods with the same reason."""
    given = cluster(spread=[{"topology_key": "topology.kubernetes.io/zone"}])
    ours = decide(given, NOW)
    said = word(given, ours, answer("a", "a"))
    assert (said.n_illegal, said.n_illegal_of_theirs) == (0, 1)
    [case] = said.disagreements
    assert (case.n_pods, case.what, case.right) == (1, "Go places them", "Dovetail")
    assert case.reason == "spread over topology.kubernetes.io/zone"
    left_out = msgspec.structs.replace(
        answer("a"), not_placed=(NotPlaced("default/web-1", "no domain"),)
    )
    [case] = word(given, ours, left_out).disagreements
    assert (case.what, case.reason, case.example) == (
        "Go leaves them out",
        "no domain",
        "default/web-1",
    )


def test_where_we_leave_out_what_the_other_has_placed_the_other_is_right() -> None:
    """And where neither would have it bound, neither is."""
    given = cluster()
    ours = decide(given, NOW)
    nobody = msgspec.structs.replace(
        ours,
        launches=(),
        nominations=(),
        binding_order=(),
        unschedulable=(Unschedulable("default/web-0", "nothing takes it"),),
    )
    theirs = answer("a", there=("default/web-1",))
    [case] = word(given, nobody, theirs).disagreements
    assert (case.what, case.right) == ("Dovetail leaves them out", "Go")
    both = answer(there=("default/web-0", "default/web-1"))
    assert [one.right for one in word(given, nobody, both).disagreements] == ["neither", "Go"]
