"""What is put before kube-scheduler is the plan, and what it says is counted right."""

from __future__ import annotations

import msgspec
import pytest

from benchmarks.peers import binding_objects as objects
from benchmarks.peers.binding_verdicts import Judged, Telling, table
from benchmarks.peers.judging import NOW
from benchmarks.peers.scheduling import Queues, Scoring, configuration, read_queues
from benchmarks.scenarios import fleet
from dovetail.decide import decide
from dovetail.model import resources

SMALL = fleet(60, 1)
JUDGED = Judged(
    scenario="fleet",
    scoring=Scoring.MOST_ALLOCATED,
    telling=Telling.IN_TURN,
    n_pods=1000,
    n_bound_at_once=999,
    n_as_planned=990,
    n_left_after_round_2=0,
    paper=10.0,
    bound=9.5,
    realised=10.5,
)


def test_a_planned_node_has_room_for_its_pods_and_its_daemons() -> None:
    """The daemon pods that are made are those that the plan has left room for."""
    plan = decide(SMALL, NOW)
    nodes = objects.new_nodes(SMALL, plan)
    requests = {pod.key: pod.spec.requests for pod in SMALL.pods}
    for node, launch in zip(nodes, plan.launches, strict=True):
        daemons = objects.daemon_pods([node], SMALL.daemon_sets)
        taken = [*(requests[pod] for pod in launch.pods), *(one.spec.requests for one in daemons)]
        assert resources.total(taken) == launch.requests


def test_the_next_decision_sees_pods_where_they_really_are() -> None:
    """Not where they were planned; who is not bound waits."""
    plan = decide(SMALL, NOW)
    nodes = objects.new_nodes(SMALL, plan)
    first, second = plan.binding_order[:2]
    came = objects.as_it_came(SMALL, nodes, {first: nodes[-1].name})
    place = {pod.key: pod.node_name for pod in came.pods}
    assert (place[first], place[second]) == (nodes[-1].name, "")
    assert came.nodes == nodes
    assert sum(pod.is_daemon for pod in came.pods) >= len(nodes)


def test_pods_are_held_until_they_are_released_and_daemons_are_bound() -> None:
    """A gate holds whoever has no node yet."""
    daemon = next(
        objects.daemon_pods(objects.new_nodes(SMALL, decide(SMALL, NOW)), SMALL.daemon_sets)
    )
    held, bound = (objects.pod_manifest(one)["spec"] for one in (SMALL.pods[0], daemon))
    assert isinstance(held, dict)
    assert isinstance(bound, dict)
    assert held["schedulingGates"] == [{"name": objects.GATE}]
    assert "schedulingGates" not in bound
    assert bound["nodeName"] == daemon.node_name


def test_only_most_allocated_changes_the_schedulers_settings() -> None:
    """By default it is as everybody has it."""
    assert "profiles" not in configuration("there", Scoring.DEFAULT)
    assert "MostAllocated" in str(configuration("there", Scoring.MOST_ALLOCATED)["profiles"])


@pytest.mark.parametrize(
    ("queue", "want"),
    [
        pytest.param("active", False, id="waits for its turn"),
        pytest.param("backoff", False, id="is tried again soon"),
        pytest.param("gated", False, id="is held"),
        pytest.param("unschedulable", True, id="has been tried"),
    ],
)
def test_the_scheduler_is_done_when_all_that_wait_have_been_tried(
    queue: str, *, want: bool
) -> None:
    """Its own metrics say where pods are."""
    said = f'# TYPE scheduler_pending_pods gauge\nscheduler_pending_pods{{queue="{queue}"}} 2\n'
    assert read_queues(said).is_idle is want
    assert read_queues("") == Queues()


@pytest.mark.parametrize(
    ("telling", "n_at_once", "n_left", "want"),
    [
        (Telling.IN_TURN, 999, 0, False),
        (Telling.IN_TURN, 998, 0, True),
        (Telling.IN_TURN, 1000, 1, True),
        (Telling.NOTHING, 500, 20, False),
    ],
)
def test_of_pods_that_come_in_turn_nearly_all_are_bound_at_once_and_all_in_the_end(
    telling: Telling, n_at_once: int, n_left: int, *, want: bool
) -> None:
    """Of others nothing is asked."""
    one = msgspec.structs.replace(
        JUDGED, telling=telling, n_bound_at_once=n_at_once, n_left_after_round_2=n_left
    )
    assert one.is_missed is want


def test_the_table_shows_shares_and_both_prices() -> None:
    """One line for each verdict."""
    words = table([JUDGED]).splitlines()[1].split()
    assert words[:2] == ["fleet", "MostAllocated"]
    assert words[-7:] == ["99.90%", "99.00%", "0", "9.50", "10.00", "10.50", "1.0500"]
