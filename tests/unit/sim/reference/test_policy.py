from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from dovetail.decide.lifecycle.conditions import CONSOLIDATABLE, DRIFTED
from dovetail.model.node import Condition, Node
from dovetail.model.plan import Disrupt, Plan
from dovetail.model.pod import Pod
from dovetail.model.policy import Policy
from dovetail.model.pool import Budget, Disruption
from dovetail.model.snapshot import DisruptionBudget, Snapshot
from dovetail.model.topology import equality
from dovetail.sim.reference.policy import Reference
from dovetail.testing import instance_type, node, node_pool, pod, snapshot

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
QUIET = Condition(CONSOLIDATABLE, "True")
TYPES = tuple(
    instance_type(f"t{cpu}", cpu=cpu, memory=f"{4 * cpu}Gi", price=cpu / 10, spot=cpu / 40)
    for cpu in (2, 4, 8, 16)
)


def there(name: str, cpu: int, *conditions: Condition, **more: Any) -> Node:
    """A node of ours, quiet unless told otherwise."""
    made = node(name, pool="default", type=f"t{cpu}", types=TYPES, **more)
    held = conditions or (QUIET,)
    return msgspec.structs.replace(made, conditions=held, node_claim=name)


def on(place: str, name: str, cpu: float, **more: Any) -> Pod:
    """A pod that runs there."""
    made = pod(name, cpu=cpu, node=place, owner="ReplicaSet/web", **more)
    return msgspec.structs.replace(made, phase="Running")


def cluster(
    nodes: Iterable[Node],
    pods: Iterable[Pod] = (),
    *,
    budget: str = "100%",
    spot: bool = False,
    types: Any = TYPES,
) -> Snapshot:
    """One pool whose nodes may go at once."""
    pool = msgspec.structs.replace(
        node_pool(requirements=[] if spot else ["karpenter.sh/capacity-type In on-demand"]),
        disruption=Disruption(budgets=(Budget(budget),)),
    )
    found = snapshot(pods, nodes=nodes, node_pools=[pool], types=types)
    return msgspec.structs.replace(found, policy=Policy())


def settled(there: Snapshot, policy: Reference | None = None) -> tuple[Disrupt, ...]:
    """What it does once it has waited for what it proposed."""
    asked = policy or Reference()
    first = asked(there, NOW)
    if first.disruptions:
        return first.disruptions
    return asked(there, NOW + 15 * SECOND).disruptions


def test_an_empty_node_goes_when_it_is_still_empty_after_fifteen_seconds() -> None:
    """A command is validated once more after fifteen seconds."""
    asked, held = Reference(), cluster([there("a", 4), there("b", 4)], [on("b", "p", 1)])
    first = asked(held, NOW)
    assert first.disruptions == ()
    assert first.wake_at == NOW + 15 * SECOND
    assert asked(held, NOW + 14 * SECOND).disruptions == ()
    (gone,) = asked(held, NOW + 15 * SECOND).disruptions
    assert (gone.reason, gone.nodes) == ("Empty", ("a",))


def test_what_is_no_longer_empty_stays() -> None:
    """A pod has come meanwhile."""
    asked = Reference()
    asked(cluster([there("a", 4)]), NOW)
    later = cluster([there("a", 4)], [on("a", "p", 3.5)])
    assert asked(later, NOW + 15 * SECOND).disruptions == ()


def test_pods_that_fit_elsewhere_let_their_node_go() -> None:
    """A pure deletion; nodes go together where they are the first by what they are worth."""
    nodes = [there("a", 4), there("b", 4), there("c", 16)]
    pods = [on("a", "p", 1), on("b", "q", 1), *(on("c", f"r{at}", 1) for at in range(13))]
    (gone,) = settled(cluster(nodes, pods))
    assert gone.replacements == ()
    assert set(gone.nodes) == {"a", "b"}
    assert [one.node for one in gone.places] == ["c"]


def test_several_nodes_may_become_one_that_is_cheaper() -> None:
    """m to 1, never m to n."""
    nodes = [there(name, 16) for name in "abc"]
    pods = [on(name, f"p-{name}", 2.2) for name in "abc"]
    (gone,) = settled(cluster(nodes, pods))
    assert len(gone.nodes) == 3
    assert [one.instance_type for one in gone.replacements] == ["t8"]
    assert gone.saving_nanousd == 4_000_000_000


def test_prefixes_are_tried_by_halves_though_a_longer_one_might_do() -> None:
    """Two nodes cannot become a cheaper one, so that three are never tried."""
    nodes = [there(name, 4) for name in "abc"]
    pods = [on(name, f"p-{name}", 2.2) for name in "abc"]
    assert settled(cluster(nodes, pods)) == ()


def test_one_node_is_replaced_by_a_cheaper_one_and_never_by_two() -> None:
    """What needs two new nodes is not done at all."""
    (gone,) = settled(cluster([there("a", 16)], [on("a", "p", 1.5)]))
    assert [one.instance_type for one in gone.replacements] == ["t2"]
    apart = {"anti_affinity": [{"topology_key": "zone"}], "labels": {"app": "x"}}
    split = cluster([there("a", 16)], [on("a", "p", 1.5, **apart), on("a", "q", 1.5, **apart)])
    assert settled(split) == ()


@pytest.mark.parametrize("is_allowed", [False, True])
def test_spot_is_not_replaced_by_spot_unless_that_is_wanted(is_allowed: bool) -> None:  # noqa: FBT001  a parameter
    """And then only where fifteen types are cheaper."""
    many = tuple(
        instance_type(f"t{cpu}", cpu=cpu, memory=f"{4 * cpu}Gi", price=cpu / 10, spot=cpu / 40)
        for cpu in range(2, 20)
    )
    held = node("a", pool="default", type="t19", types=many, capacity_type="spot", zone="a")
    held = msgspec.structs.replace(held, conditions=(QUIET,), node_claim="a")
    found = cluster([held], [on("a", "p", 1.5)], spot=True, types=many)
    policy = msgspec.structs.replace(found.policy, replaces_spot_by_spot=is_allowed)
    gone = settled(msgspec.structs.replace(found, policy=policy))
    assert bool(gone) is is_allowed
    if gone:
        assert len(gone[0].replacements[0].instance_types) == 15


def test_budgets_bound_how_many_go_at_once() -> None:
    """Ten nodes, a tenth of them: one."""
    nodes = [there(f"n{at}", 2) for at in range(10)]
    assert len(settled(cluster(nodes, budget="10%"))[0].nodes) == 1
    assert settled(cluster(nodes, budget="0")) == ()


def test_a_pod_that_its_budget_holds_keeps_its_node() -> None:
    """disruptionsAllowed is 0."""
    held = cluster([there("a", 16)], [on("a", "p", 1.5)])
    guard = DisruptionBudget("g", "default", equality({"app": "p"}), max_unavailable="1")
    assert settled(msgspec.structs.replace(held, disruption_budgets=(guard,))) == ()
    open_guard = msgspec.structs.replace(guard, disruptions_allowed=1)
    assert settled(msgspec.structs.replace(held, disruption_budgets=(open_guard,)))


def test_a_drifted_node_is_replaced_at_once_whatever_that_costs() -> None:
    """One at a time, the one that drifted first."""
    marks = [Condition(DRIFTED, "True", changed_at=NOW - at * SECOND) for at in (1, 5)]
    nodes = [there("a", 4, marks[0]), there("b", 4, marks[1])]
    plan = Reference()(cluster(nodes, [on("a", "p", 3), on("b", "q", 3)]), NOW)
    (gone,) = plan.disruptions
    assert (gone.reason, gone.nodes, len(gone.replacements)) == ("Drifted", ("b",), 1)


def test_nothing_is_looked_for_again_before_something_changes_or_five_minutes_pass() -> None:
    """Consolidation remembers the cluster for which it found nothing."""
    asked, held = Reference(), cluster([there("a", 2)], [on("a", "p", 1.5)])
    plan = asked(held, NOW)
    assert plan == Plan(cost=plan.cost, wake_at=NOW + timedelta(minutes=5))


def test_pods_that_wait_are_provisioned_for_in_the_same_breath() -> None:
    """Provisioning does not wait for polls."""
    asked, held = Reference(), cluster([there("a", 2)], [on("a", "p", 1.5)])
    asked(held, NOW)
    more = msgspec.structs.replace(held, pods=(*held.pods, pod("new", cpu=3)))
    assert [one.instance_type for one in asked(more, NOW + SECOND).launches] == ["t4"]
