"""What a plan does, line by line, and why."""

from __future__ import annotations

from dovetail.decide import decide
from dovetail.model.plan import Disrupt, Launch, Nominate, Plan
from dovetail.model.snapshot import Snapshot
from dovetail.present.timeline import DeedKind, deeds, explain_change, news
from dovetail.testing import deployment, instance_type, node, node_pool, pod, snapshot
from tests.unit.present.moments import NOW

SMALL = instance_type("small", cpu=2, memory="8Gi", price=0.10, zones=("a",))
LARGE = instance_type("large", cpu=8, memory="32Gi", price=0.35, zones=("a",))


def planned() -> tuple[Snapshot, Plan]:
    """A cluster that needs nodes, and has a pod that nothing helps."""
    pods = [*deployment(5, "web", cpu=1), pod("huge", cpu=900)]
    cluster = snapshot(pods=pods, node_pools=[node_pool()], types=(SMALL, LARGE))
    return cluster, decide(cluster, NOW)


def test_launches_are_one_deed_and_pods_that_stay_out_another() -> None:
    """Each counts its pods, and launches their money."""
    _, plan = planned()
    launch, stuck = deeds(plan)
    assert (launch.kind, stuck.kind) == (DeedKind.LAUNCH, DeedKind.STUCK)
    assert launch.pods == 5
    assert launch.money_per_hour * 1e9 == plan.cost.new_nanousd
    assert stuck.title == "1 pod unschedulable: default/huge"
    assert [one.place for one in deeds(plan)] == [0, 1]


def test_a_launch_says_for_whom_and_what_else_would_have_done() -> None:
    """With the price of each alternative where it was planned."""
    cluster, plan = planned()
    answer = explain_change(next(deeds(plan)), cluster, plan, NOW)
    assert "5 pods did not fit on any existing node" in answer.verdict
    section = answer.sections[0]
    assert plan.launches[0].name in section.title
    chosen = [row for row in section.rows if row[2] == "chosen"]
    assert [row[0] for row in chosen] == [plan.launches[0].instance_type]


def test_a_departure_says_who_moves_where_and_what_it_saves() -> None:
    """By its place among all that the plan does."""
    old = node("n1", pool="default", type="small", zone="a", types=(SMALL,))
    new = Launch("n9", "default", "small", "a", "spot", 5, ("small",), {}, ("default/b",))
    one = Disrupt(
        "Underutilized", ("n1",), (new,), ("default/a", "default/b"), 1_000_000_000,
        (Nominate("n2", ("default/a",)),),
    )  # fmt: skip
    plan = Plan(launches=(new,), disruptions=(one,))
    deed = list(deeds(plan))[1]
    assert (deed.kind, deed.place, deed.money_per_hour) == (DeedKind.DISRUPT, 1, -1.0)
    answer = explain_change(deed, snapshot(nodes=[old]), plan, NOW)
    assert ("money", "it saves $1.0000 an hour") in answer.facts
    assert answer.sections[1].rows == (("default/a", "n2"), ("default/b", "n9 (new)"))


def test_a_pod_that_stays_out_is_told_with_its_reasons() -> None:
    """Summary, each pool's reason, and the remedy."""
    cluster, plan = planned()
    answer = explain_change(list(deeds(plan))[1], cluster, plan, NOW)
    assert answer.sections[0].title == "default/huge"
    assert len(answer.sections[0].lines) > 1


def test_news_are_nobodys_deed() -> None:
    """They cost nothing and move nobody."""
    assert news("rain").kind is DeedKind.NEWS
    assert news("rain").money_per_hour == 0
