"""NodePools: every field that a decision reads."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from dovetail.model.pool import Budget, Disruption, NodeClassRef, NodePool
from dovetail.model.requirements import Requirement
from dovetail.model.snapshot import Snapshot
from dovetail.model.taints import Taint

Freeze = Callable[[str], Snapshot]

REFERENCE = "nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}"


def pool(spec: str = "", template: str = "", status: str = "", meta: str = "") -> str:
    """A NodePool named p."""
    requirements = "" if "requirements" in template else "requirements: [], "
    return (
        f"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: p, {meta}}}\n"
        f"spec: {{{spec} template: {{spec: {{{requirements}{template} {REFERENCE}}}}}}}\n"
        f"status: {{{status}}}\n"
    )


def test_a_bare_pool_has_the_defaults(freeze: Freeze) -> None:
    """Those of the API, which are those of the noun."""
    node_class = NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "default")
    assert freeze(pool()).node_pools == (NodePool("p", node_class=node_class),)


def test_a_full_pool_keeps_everything(freeze: Freeze) -> None:
    """Text became integers, spans and sets."""
    text = (
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p, uid: u}\n"
        "spec:\n  weight: 10\n  limits: {cpu: 1.5, memory: 1Gi, nodes: 3}\n"
        "  disruption: {consolidateAfter: 30s, consolidationPolicy: WhenEmpty, budgets: "
        "[{nodes: 20%, reasons: [Drifted], schedule: '@daily', duration: 8h}]}\n"
        "  template:\n    metadata: {labels: {team: a}, annotations: {x: y}}\n"
        "    spec:\n      expireAfter: 1h30m\n      terminationGracePeriod: 5m\n"
        "      taints: [{key: t, value: v, effect: NoExecute}]\n"
        "      startupTaints: [{key: s, effect: NoSchedule}]\n"
        "      requirements: [{key: beta.kubernetes.io/arch, operator: In, values: [arm64], "
        "minValues: 1}]\n"
        f"      {REFERENCE}\n"
    )
    [got] = freeze(text).node_pools
    assert got == NodePool(
        name="p",
        weight=10,
        requirements=(
            Requirement("kubernetes.io/arch", False, frozenset({"arm64"}), min_values=1),
        ),
        labels={"team": "a"},
        annotations={"x": "y"},
        taints=(Taint("t", "v", "NoExecute"),),
        startup_taints=(Taint("s", "", "NoSchedule"),),
        limits={"cpu": 1500, "memory": 1 << 30, "nodes": 3},
        node_class=NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "default"),
        expire_after=timedelta(minutes=90),
        termination_grace_period=timedelta(minutes=5),
        disruption=Disruption(
            timedelta(seconds=30),
            "WhenEmpty",
            (Budget("20%", ("Drifted",), "@daily", timedelta(hours=8)),),
        ),
        uid="u",
    )


def test_never_is_no_span(freeze: Freeze) -> None:
    """Never to expire and never to consolidate."""
    [got] = freeze(pool("disruption: {consolidateAfter: Never},", "expireAfter: Never,")).node_pools
    assert got.expire_after is None
    assert got.disruption.consolidate_after is None


@pytest.mark.parametrize(
    ("status", "want"),
    [
        pytest.param("", True, id="nobody has looked yet"),
        pytest.param("conditions: [{type: NodeClassReady, status: Unknown}]", True, id="other"),
        pytest.param("conditions: [{type: Ready, status: 'True'}]", True, id="ready"),
        pytest.param("conditions: [{type: Ready, status: 'False'}]", False, id="not ready"),
        pytest.param("conditions: [{type: Ready, status: Unknown}]", False, id="unknown"),
    ],
)
def test_a_pool_is_ready_unless_it_says_otherwise(
    freeze: Freeze, status: str, *, want: bool
) -> None:
    """Offline, a pool without a status counts as ready."""
    assert freeze(pool(status=status)).node_pools[0].is_ready is want


def test_static_and_deleting_pools_are_marked(freeze: Freeze) -> None:
    """Decisions treat them differently."""
    at = "deletionTimestamp: '2026-01-01T00:00:00Z'"
    [got] = freeze(pool("replicas: 0,", meta=at)).node_pools
    assert (got.replicas, got.is_deleting) == (0, True)


def test_a_pool_says_how_calm_it_is(freeze: Freeze) -> None:
    """By annotations of its own, not of its nodes; without them it says nothing."""
    said = (
        "annotations: {dovetail.sh/least-saving-per-eviction: '0.005', "
        "dovetail.sh/most-evictions-per-day: '0', dovetail.sh/eviction-cost: 30m}"
    )
    [got] = freeze(pool(meta=said)).node_pools
    assert (got.disruption.least_saving_nanousd, got.disruption.most_evictions) == (5_000_000, 0)
    assert got.disruption.eviction_cost == timedelta(minutes=30)
    [bare] = freeze(pool()).node_pools
    assert (bare.disruption.least_saving_nanousd, bare.disruption.most_evictions) == (None, None)
    assert bare.disruption.eviction_cost is None


def test_a_pool_says_what_its_nodes_cost_beside_their_price(freeze: Freeze) -> None:
    """By an annotation of its own; without it the policy's price holds."""
    [got] = freeze(pool(meta="annotations: {dovetail.sh/node-price: '0.025'}")).node_pools
    assert got.node_price_nanousd == 25_000_000
    [bare] = freeze(pool()).node_pools
    assert bare.node_price_nanousd is None


@pytest.mark.parametrize(
    "key", ["least-saving-per-eviction", "most-evictions-per-day", "eviction-cost", "node-price"]
)
def test_a_pool_that_misspells_how_calm_it_is_says_so(freeze: Freeze, key: str) -> None:
    """Object, field and remedy."""
    [got] = freeze(pool(meta=f"annotations: {{dovetail.sh/{key}: lots}}")).node_pools
    [problem] = got.problems
    assert f"metadata.annotations.dovetail.sh/{key}: 'lots' is no" in problem.message
    assert "expected" in problem.message
    assert problem.fix == "correct NodePool p"


def test_a_pool_that_makes_no_sense_is_not_used(freeze: Freeze) -> None:
    """It says what is wrong with it, and other pools go on."""
    [got] = freeze(pool("limits: {cpu: plenty},")).node_pools
    [problem] = got.problems
    assert "plenty" in problem.message
