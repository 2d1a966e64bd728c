from __future__ import annotations

from dovetail.solve.finishing.rescue import rescue
from dovetail.solve.pipeline import solve
from dovetail.solve.zones.undo import take_back
from dovetail.testing.builders import deployment, instance_type, node, pod
from tests.unit.solve.puzzles import SMALL, empty_attempt, encoded, puzzle

WIDE = instance_type("wide", cpu=4, memory="16Gi", price=0.2, zones=("a",))
TINY = instance_type("tiny", cpu=1, memory="2Gi", price=0.05, zones=("b",))


def test_nothing_is_taken_back_from_a_plan_that_holds() -> None:
    """Everybody has a node, and no domain came as a surprise."""
    attempt = empty_attempt(encoded(deployment(4, "web", spread=[{"topology_key": "zone"}])))
    attempt.unsettled = {0: 4}
    assert rescue(attempt) == take_back(attempt) == {}


def test_whoever_is_left_over_is_tried_on_its_own() -> None:
    """An attempt in which nobody was planned places everybody."""
    enc = encoded(deployment(3, "web", cpu=1, spread=[{"topology_key": "zone"}]))
    attempt = empty_attempt(enc)
    attempt.unsettled = {0: 3}
    assert rescue(attempt) == {}
    assert sum(int(counts.sum()) for _, _, counts in attempt.bins.log) == 3


def test_what_no_node_takes_stays_out_and_is_told_again() -> None:
    """A pod larger than any type, asked for twice."""
    attempt = empty_attempt(encoded([pod("giant", cpu=500)]))
    attempt.unsettled = {0: 1}
    assert rescue(attempt) == rescue(attempt) == {0: 1}


def test_a_zone_that_others_open_is_reckoned_with() -> None:
    """A node for other pods in zone b, which the spread counts but cannot use, leaves one replica
    in zone a.
    """
    others = deployment(3, "other", cpu="200m", node_selector={"zone": "b"})
    web = deployment(3, "web", cpu="1200m", spread=[{"topology_key": "zone"}])
    solution = solve(puzzle([*others, *web], WIDE, TINY))
    assert [one.name for one in solution.unplaced] == ["web-1", "web-2"]


def test_the_first_of_its_kind_may_start_on_a_node_that_is_there() -> None:
    """Pods that want their own company need no new node while an existing one has room."""
    pair = deployment(2, "pair", cpu=1, affinity=[{"topology_key": "hostname"}])
    solution = solve(puzzle(pair, SMALL, nodes=(node("n1", zone="a", cpu=4),)))
    assert solution.launches == ()
    assert [name for name, _ in solution.placed] == ["n1"]


def test_a_pod_may_not_start_anew_where_its_company_already_runs() -> None:
    """The node with its company is full, so it waits."""
    old = pod("old", labels={"app": "pair"}, node="n1", cpu=4)
    more = pod("new", labels={"app": "pair"}, cpu=1, affinity=[{"topology_key": "hostname"}])
    full = (node("n1", zone="a", cpu=4),)
    solution = solve(puzzle([more], SMALL, nodes=full, bound=(old,)))
    assert [one.name for one in solution.unplaced] == ["new"]


def test_whoever_opens_a_zone_for_its_company_keeps_its_turn() -> None:
    """Where company matters, the order of binding is the order of placing."""
    attempt = empty_attempt(encoded(deployment(2, "pair", affinity=[{"topology_key": "zone"}])))
    attempt.unsettled = {0: 2}
    assert rescue(attempt) == {}
    ((_, first, _), (_, second, _)) = attempt.steps
    assert first == second
