from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from dovetail.decide import decide
from dovetail.model.snapshot import DisruptionBudget, Snapshot
from dovetail.model.topology import equality
from dovetail.sim.demand import AppDemand, Demand
from dovetail.sim.fast.run import Ended, Manner, simulate
from dovetail.testing import deployment, instance_type, node, node_pool, snapshot

START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
SMALL = instance_type("small", cpu=4, memory="16Gi", price=1.0)


def cluster(*nodes: Any, **more: Any) -> Snapshot:
    """A pool and these nodes."""
    return snapshot(types=(SMALL,), node_pools=[node_pool()], nodes=nodes, **more)


def after_an_hour(given: Snapshot, *workloads: AppDemand) -> Ended:
    """What has become of it."""
    demand = Demand(lasts_for=HOUR, workloads=workloads)
    return simulate(given, demand, decide, manner=Manner(start=START), chance=lambda: 0.5)


def places(ended: Ended) -> list[tuple[str, str]]:
    """Where pods run, by name."""
    return sorted((one.name, one.node_name) for one in ended.snapshot.pods)


def held(n_pods: int, at: str) -> tuple[Any, ...]:
    """Pods of a Deployment that run there."""
    return deployment(n_pods, "api", cpu=1, owner="Deployment/api", node=at)


def test_a_node_that_runs_goes_on_and_is_paid_for() -> None:
    """Its pods stay where they are."""
    ended = after_an_hour(
        cluster(node("n1", pool="default", type="small", types=(SMALL,)), pods=held(2, "n1"))
    )
    assert places(ended) == [("api-0", "n1"), ("api-1", "n1")]
    assert (ended.report.n_launched, ended.report.price) == (0, 1.0)


def test_a_node_that_starts_joins_after_a_while() -> None:
    """Pods that wait are bound to it."""
    starting = node(
        "n1", pool="default", type="small", types=(SMALL,), stage="launching", created_at=START
    )
    ended = after_an_hour(
        cluster(starting, pods=deployment(2, "api", cpu=1, owner="Deployment/api"))
    )
    assert {name for _, name in places(ended)} == {"n1"}
    assert ended.report.n_launched == 0


def test_a_node_that_was_leaving_leaves() -> None:
    """Its pods are evicted, and made anew elsewhere."""
    leaving = node("n1", pool="default", type="small", types=(SMALL,), deleting_at=START)
    ended = after_an_hour(cluster(leaving, pods=held(2, "n1")))
    assert "n1" not in {one.name for one in ended.snapshot.nodes}
    assert ended.report.evictions == {"Terminating": 2}
    assert len([one for _, one in places(ended) if one]) == 2


def test_a_pod_that_was_ending_ends_and_counts_for_nobody() -> None:
    """It is not made anew."""
    going, staying = held(2, "n1")
    going = msgspec.structs.replace(going, deleting_at=START + timedelta(seconds=30))
    ended = after_an_hour(
        cluster(node("n1", pool="default", type="small", types=(SMALL,)), pods=(going, staying))
    )
    assert places(ended) == [("api-1", "n1")]


def test_a_workload_that_the_demand_names_follows_it() -> None:
    """Pods that are there are kept, one more is made."""
    pods = held(2, "n1")
    work = AppDemand(name="api", spec=pods[0].spec, replicas=((timedelta(0), 3),))
    ended = after_an_hour(
        cluster(node("n1", pool="default", type="small", types=(SMALL,)), pods=pods), work
    )
    assert [name for name, _ in places(ended)] == ["api-0", "api-0-1", "api-1"]


def test_a_budget_that_wants_some_available_is_kept() -> None:
    """Of two, both: so none may go, however long it takes."""
    leaving = node("n1", pool="default", type="small", types=(SMALL,), deleting_at=START)
    budget = DisruptionBudget("api", "default", equality({"app": "api"}), min_available="2")
    given = cluster(leaving, pods=held(2, "n1"))
    ended = after_an_hour(msgspec.structs.replace(given, disruption_budgets=(budget,)))
    assert ended.report.n_evictions == 0
    assert ended.snapshot.disruption_budgets[0].disruptions_allowed == 0


def test_a_pod_that_is_made_anew_carries_the_same_annotations() -> None:
    """Whoever protects pods protects those that come after them."""
    leaving = node("n1", pool="default", type="small", types=(SMALL,), deleting_at=START)
    pods = deployment(1, "api", owner="Deployment/api", node="n1", annotations={"note": "x"})
    ended = after_an_hour(cluster(leaving, pods=pods))
    assert [(one.name, one.annotations) for one in ended.snapshot.pods] == [
        ("api-0-1", {"note": "x"})
    ]
