"""Pods that take a node which comes anyhow are shown there."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from dovetail.decide import decide
from dovetail.model.policy import Policy
from dovetail.present.plan import Timings, plan_json, with_pods
from dovetail.testing import deployment, node, node_pool, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_pods_on_the_nodes_of_a_static_pool_are_shown_with_the_node() -> None:
    """With what they take of it; pods on nodes that exist stay where they are."""
    pools = [node_pool("fixed", replicas=1), node_pool("default")]
    there = [node("n1", pool="default", cpu=1)]
    pods = (*deployment(1, "small", cpu="1"), *deployment(2, "web", cpu="1"))
    held = snapshot(pods, nodes=there, node_pools=pools)
    held = msgspec.structs.replace(held, policy=Policy(keeps_replicas=True))
    plan = decide(held, NOW)
    shown = with_pods(plan, held)
    assert sum(len(one.pods) for one in shown.launches) == 2
    assert [one.node for one in shown.nominations] == ["n1"]
    assert shown.launches[0].requests["cpu"] == 2000
    json = plan_json(plan, held, Timings())
    assert json["existingNodes"] == [{"name": "n1", "pods": list(shown.nominations[0].pods)}]


def test_a_plan_without_such_pods_is_shown_as_it_is() -> None:
    """Nothing is worked out for nothing."""
    held = snapshot(deployment(2))
    plan = decide(held, NOW)
    assert with_pods(plan, held) is plan
