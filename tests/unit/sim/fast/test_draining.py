"""Draining in the fast simulation follows the laws of `decide/lifecycle`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from dovetail import labels
from dovetail.decide import decide
from dovetail.model.snapshot import Snapshot
from dovetail.sim.demand import Demand
from dovetail.sim.fast.run import Ended, Manner, simulate
from dovetail.testing import deployment, instance_type, node, node_pool, snapshot

START = datetime(2026, 1, 1, tzinfo=UTC)
SMALL = instance_type("small", cpu=4, memory="16Gi", price=1.0)


def draining(annotations: dict[str, str], grace: timedelta | None) -> Snapshot:
    """A node that is being deleted, with two pods of a Deployment."""
    leaving = node("n1", pool="default", type="small", types=(SMALL,), deleting_at=START)
    leaving = msgspec.structs.replace(leaving, termination_grace_period=grace)
    pods = deployment(2, "api", cpu=1, owner="Deployment/api", node="n1", annotations=annotations)
    return snapshot(types=(SMALL,), node_pools=[node_pool()], nodes=[leaving], pods=pods)


def after(given: Snapshot, lasts_for: timedelta) -> Ended:
    """What has become of it."""
    demand = Demand(lasts_for=lasts_for)
    return simulate(given, demand, decide, manner=Manner(start=START), chance=lambda: 0.5)


def node_names(ended: Ended) -> set[str]:
    """Nodes that are there."""
    return {each.name for each in ended.snapshot.nodes}


def test_a_protected_pod_holds_its_node_without_a_grace_period() -> None:
    """`do-not-disrupt` is respected for as long as it takes."""
    ended = after(draining({labels.DO_NOT_DISRUPT: "true"}, None), timedelta(hours=1))
    assert "n1" in node_names(ended)
    assert ended.report.n_evictions == 0


def test_a_protected_pod_is_deleted_in_time_for_the_grace_period() -> None:
    """Its own grace period before the node's deadline, and not before that."""
    given = draining({labels.DO_NOT_DISRUPT: "true"}, timedelta(minutes=10))
    before = after(given, timedelta(minutes=9, seconds=25))
    later = after(given, timedelta(minutes=11))
    assert (before.report.n_evictions, later.report.n_evictions) == (0, 2)
    assert "n1" in node_names(before)
    assert "n1" not in node_names(later)
