"""What users are told of their pools and preferences, whatever the plan is."""

from __future__ import annotations

import msgspec
import pytest

from dovetail.decide.lifecycle.step import Event
from dovetail.decide.remarks import impeding_pods, pool_events
from dovetail.model.policy import MinValuesPolicy, Policy, PreferencePolicy
from dovetail.model.pool import Budget, Disruption, NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.testing import instance_type, node, node_pool, pod, snapshot
from dovetail.testing.virtual_time import START

TYPES = (instance_type("small", price=0.1), instance_type("large", price=0.2))


def told(cluster: Snapshot) -> list[tuple[str, str]]:
    """Pool and reason of every event."""
    return [(one.name, one.reason) for one in pool_events(cluster, START)]


def of_pool(**words: object) -> Snapshot:
    """A cluster with one pool."""
    return snapshot(node_pools=(node_pool("p", **words),), types=TYPES)


def test_a_pool_that_no_type_fits_is_told_of() -> None:
    """With what it requires, at most once a minute."""
    cluster = of_pool(requirements=["node.kubernetes.io/instance-type In [huge]"])
    (event,) = pool_events(cluster, START)
    assert (event.kind, event.name, event.reason) == ("NodePool", "p", "NoCompatibleInstanceTypes")
    assert (event.type, event.dedupe_for.total_seconds()) == ("Warning", 60)
    assert "huge" in event.message


def test_what_is_not_on_offer_fits_nobody() -> None:
    """Types without an available offering count as none."""
    sold_out = tuple(
        msgspec.structs.replace(
            kind,
            offerings=tuple(
                msgspec.structs.replace(one, is_available=False) for one in kind.offerings
            ),
        )
        for kind in TYPES
    )
    cluster = snapshot(node_pools=(node_pool("p"),), types=sold_out)
    assert told(cluster) == [("p", "NoCompatibleInstanceTypes")]
    assert told(snapshot(node_pools=(node_pool("p"),), types=TYPES)) == []


@pytest.mark.parametrize(
    ("least", "policy", "want"),
    [
        pytest.param(2, MinValuesPolicy.STRICT, False, id="just enough"),
        pytest.param(3, MinValuesPolicy.STRICT, True, id="too few"),
        pytest.param(3, MinValuesPolicy.BEST_EFFORT, False, id="too few, but it may give way"),
    ],
)
def test_too_few_values_are_told_in_other_words(
    least: int,
    policy: MinValuesPolicy,
    want: bool,  # noqa: FBT001  a table's column
) -> None:
    """Where minValues are strict."""
    asked = {"requirement": "node.kubernetes.io/instance-type Exists", "min_values": least}
    cluster = msgspec.structs.replace(
        of_pool(requirements=[asked]), policy=Policy(min_values_policy=policy)
    )
    messages = [one.message for one in pool_events(cluster, START)]
    assert bool(messages) is want
    assert all("minValues 3" in one and "have 2" in one for one in messages)


def test_a_pool_that_cannot_be_used_anyway_is_not_told_of() -> None:
    """Its conditions say why."""
    unready = msgspec.structs.replace(node_pool("p"), is_ready=False)
    assert told(snapshot(node_pools=(unready,), types=())) == []


def budgeted(*budgets: Budget) -> NodePool:
    """A pool with these budgets."""
    return msgspec.structs.replace(node_pool("p"), disruption=Disruption(budgets=budgets))


@pytest.mark.parametrize(
    ("budget", "want"),
    [
        pytest.param(Budget("0"), ["Empty", "Drifted", "Underutilized"], id="all reasons"),
        pytest.param(Budget("0", reasons=("Drifted",)), ["Drifted"], id="one reason"),
        pytest.param(Budget("1"), [], id="something may go"),
    ],
)
def test_budgets_that_allow_nothing_are_told_by_reason(budget: Budget, want: list[str]) -> None:
    """Once for each reason, and only where there are nodes."""
    ours = node("n1", pool="p", types=TYPES, type="small")
    cluster = snapshot(node_pools=(budgeted(budget),), nodes=(ours,), types=TYPES)
    found: list[Event] = list(pool_events(cluster, START))
    assert [one.dedupe for one in found] == [(reason,) for reason in want]
    assert {one.reason for one in found} <= {"DisruptionBlocked"}
    without = msgspec.structs.replace(cluster, nodes=())
    assert told(without) == []


def test_pods_that_would_rather_be_apart_may_keep_nodes() -> None:
    """Only where preferences count, and only pods that wait."""
    soft = [{"topology_key": "zone", "when_unsatisfiable": "ScheduleAnyway"}]
    hard = [{"topology_key": "zone"}]
    pods = (
        pod("soft", spread=soft),
        pod("hard", spread=hard),
        pod("apart", preferred_anti_affinity=[{"topology_key": "zone"}]),
        pod("bound", node="n1", spread=soft),
    )
    cluster = snapshot(pods, nodes=(node("n1"),))
    assert [one.name for one in impeding_pods(cluster)] == ["soft", "apart"]
    ignoring = Policy(preference_policy=PreferencePolicy.IGNORE)
    assert impeding_pods(msgspec.structs.replace(cluster, policy=ignoring)) == ()
