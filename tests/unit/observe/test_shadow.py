"""What a dry run counts, and that it counts nothing twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import BytesIO

import msgspec
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from dovetail.model.plan import Cost, Disrupt, Launch, Plan
from dovetail.model.snapshot import Snapshot
from dovetail.observe.logs import Level, Log, Sink
from dovetail.observe.shadow import Fresh, Shadow, ShadowTally, after_time, reckon
from dovetail.testing import node, pod, snapshot
from dovetail.testing.virtual_time import VirtualTime
from tests.unit.observe.scraped import values

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
DOLLAR = 10**9


def launch(name: str, *pods: str) -> Launch:
    """A node for these pods."""
    return Launch(
        name=name,
        node_pool="default",
        instance_type="small",
        zone="a",
        capacity_type="spot",
        price_nanousd=DOLLAR // 10,
        instance_types=("small",),
        requests={},
        pods=tuple(f"default/{one}" for one in pods),
    )


def move(*nodes: str, saving: int = DOLLAR) -> Disrupt:
    """Nodes that would go."""
    return Disrupt("Underutilized", nodes, saving_nanousd=saving)


CLUSTER = snapshot(
    [pod("a"), pod("b"), pod("c")],
    nodes=[node("n1"), node("n2"), node("n3")],
)


def told(*plans: Plan, cluster: Snapshot = CLUSTER) -> tuple[ShadowTally, list[Fresh]]:
    """The tally after these decisions, an hour apart, and what was new in each."""
    tally, found = ShadowTally(), []
    for at, plan in enumerate(plans):
        tally, fresh = reckon(tally, cluster, plan, NOW + at * HOUR)
        found.append(fresh)
    return tally, found


def test_what_is_proposed_again_is_the_same_proposal() -> None:
    """Under whatever name a node would be launched."""
    first = Plan(launches=(launch("x-1", "a", "b"),), disruptions=(move("n1", "n2"),))
    again = Plan(launches=(launch("x-2", "b", "a"),), disruptions=(move("n2", "n1"),))
    tally, (new, *rest) = told(first, again, again)
    assert new == Fresh(first.launches, first.disruptions)
    assert rest == [Fresh(), Fresh()]
    assert (tally.n_launches, tally.n_disruptions, tally.n_removed) == (1, 1, 2)


def test_a_move_with_another_node_is_new_but_its_nodes_count_once() -> None:
    """Three nodes would have gone, not five."""
    tally, (_, new) = told(
        Plan(disruptions=(move("n1", "n2"),)), Plan(disruptions=(move("n1", "n2", "n3"),))
    )
    assert len(new.disruptions) == 1
    assert (tally.n_disruptions, tally.n_removed) == (2, 3)


def test_a_proposal_that_was_withdrawn_for_a_while_is_still_the_same() -> None:
    """As long as its nodes are there, or its pods wait."""
    whole = Plan(launches=(launch("x", "a"),), disruptions=(move("n1"),))
    tally, _ = told(whole, Plan(), whole)
    assert (tally.n_launches, tally.n_disruptions) == (1, 1)


def test_what_comes_back_under_an_old_name_is_new() -> None:
    """A pod that was bound meanwhile, or a node that was gone."""
    whole = Plan(launches=(launch("x", "a"),), disruptions=(move("n1"),))
    tally, _ = reckon(ShadowTally(), CLUSTER, whole, NOW)
    tally, _ = reckon(tally, snapshot([pod("a", node="n2")], nodes=[node("n2")]), Plan(), NOW)
    tally, fresh = reckon(tally, CLUSTER, whole, NOW)
    assert fresh == Fresh(whole.launches, whole.disruptions)
    assert (tally.n_launches, tally.n_disruptions, tally.n_removed) == (2, 2, 2)


def test_nodes_for_nobody_are_told_apart_by_their_number() -> None:
    """Those of pools of a fixed size have no pods to be known by."""
    two = Plan(launches=(launch("x-1"), launch("x-2")))
    three = Plan(launches=(launch("y-1"), launch("y-2"), launch("y-3")))
    tally, (_, new) = told(two, three)
    assert [one.name for one in new.launches] == ["y-3"]
    assert tally.n_launches == 3


def test_money_runs_with_time_and_not_with_decisions() -> None:
    """An hour of a move that saves a dollar is a dollar, however often it is decided."""
    tally = ShadowTally()
    for minute in range(0, 61, 5):
        at = NOW + timedelta(minutes=minute)
        tally, _ = reckon(tally, CLUSTER, Plan(disruptions=(move("n1"),)), at)
    assert tally.saved_nanousd == pytest.approx(DOLLAR, abs=20)
    tally, _ = reckon(tally, CLUSTER, Plan(), NOW + 2 * HOUR)
    assert tally.saved_nanousd == pytest.approx(2 * DOLLAR, abs=20)
    later = after_time(tally, NOW + 9 * HOUR)
    assert (later.saved_nanousd, later.saving_nanousd) == (tally.saved_nanousd, 0)


def test_a_clock_that_goes_back_takes_no_money_back() -> None:
    """Nothing is saved in negative time."""
    tally, _ = told(Plan(disruptions=(move("n1"),)))
    assert after_time(tally, NOW - HOUR).saved_nanousd == 0


class Told:
    """A shadow with what it wrote."""

    def __init__(self) -> None:
        self._lines = BytesIO()
        sink = Sink(Level.DEBUG, VirtualTime())
        sink.outputs = (self._lines,)
        self.registry = CollectorRegistry()
        self.shadow = Shadow(Log(sink), self.registry)

    def lines(self, message: str) -> list[dict[str, object]]:
        """What was written under this message."""
        found = [msgspec.json.decode(line) for line in self._lines.getvalue().splitlines()]
        return [one for one in found if one["message"] == message]


def test_a_decision_that_would_act_is_one_line_and_the_end_another() -> None:
    """With what is new, and what it comes to so far."""
    told_ = Told()
    cost = Cost(cluster_before_nanousd=5 * DOLLAR, cluster_target_nanousd=4 * DOLLAR)
    plan = Plan(launches=(launch("x", "a"),), disruptions=(move("n1"),), cost=cost)
    for at in (NOW, NOW + HOUR / 2):
        told_.shadow.note_plan(CLUSTER, plan, at, 0.1)
    told_.shadow.note_plan(CLUSTER, Plan(cost=cost), NOW + HOUR, 0.1)
    told_.shadow.end(NOW + 2 * HOUR)
    (line,) = told_.lines("would act")
    assert (line["n_launches"], line["launches_per_hour"]) == (1, 0.1)
    assert (line["n_disruptions"], line["saving_per_hour"]) == (1, 1.0)
    assert line["disruptions"] == [
        {
            "reason": "Underutilized",
            "nodes": ["n1"],
            "replacements": [],
            "pods": 0,
            "saving_per_hour": 1.0,
        }
    ]
    assert len(told_.lines("would act as before")) == 1
    (end,) = told_.lines("dry run ended")
    want = {
        "total_launches": 1,
        "total_disruptions": 1,
        "total_nodes_removed": 1,
        "proposed_saving_per_hour": 0.0,
        "saved_so_far": 1.0,
        "cluster_per_hour": 5.0,
        "cluster_target_per_hour": 4.0,
    }
    assert {name: end[name] for name in want} == want


def test_prometheus_reads_the_same() -> None:
    """Counters for what is new, gauges for money."""
    told_ = Told()
    plan = Plan(launches=(launch("x", "a"),), disruptions=(move("n1"),))
    for at in (NOW, NOW + HOUR / 2):
        told_.shadow.note_plan(CLUSTER, plan, at, 0.1)
    text = generate_latest(told_.registry).decode()
    assert values(text, "dovetail_shadow_launches_total", nodepool="default") == [1]
    assert values(text, "dovetail_shadow_disruptions_total", reason="Underutilized") == [1]
    assert values(text, "dovetail_shadow_saving_dollars_per_hour") == [1]
    assert values(text, "dovetail_shadow_saved_dollars") == [0.5]
