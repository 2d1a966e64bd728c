"""What the lower bound says of a plan, and why it is not tight."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

from dovetail.decide import decide
from dovetail.model.plan import Cost, Plan
from dovetail.model.snapshot import Snapshot
from dovetail.present.bound import BoundIs, bound_is, closeness
from dovetail.present.plan import Timings, plan_json
from dovetail.testing.given import Given
from dovetail.testing.scenario import snapshot_of
from tests.laws.strategies import NOW

Words = Mapping[str, object]
SMALL: Words = {"cpu": 2, "memory": "8Gi", "price": 0.1}
GIVEN: Words = {
    "types": {"small": SMALL},
    "pools": {"default": {}},
    "pods": [{"name": "web", "cpu": 1}],
}


def cluster(words: Words) -> Snapshot:
    """The cluster that these words describe."""
    return snapshot_of(msgspec.convert({**GIVEN, **words}, Given), "test")


@pytest.mark.parametrize(
    ("price", "bound", "want"),
    [
        pytest.param(0, 0, BoundIs.OPTIMAL, id="nothing is bought"),
        pytest.param(100, 100, BoundIs.OPTIMAL, id="equal"),
        pytest.param(10**9 + 49_999, 10**9, BoundIs.OPTIMAL, id="closer than anybody can see"),
        pytest.param(10**9 + 50_000, 10**9, BoundIs.WITHIN, id="a little above"),
        pytest.param(110, 100, BoundIs.WITHIN, id="ten percent"),
        pytest.param(111, 100, BoundIs.NOT_TIGHT, id="more"),
        pytest.param(1, 0, BoundIs.NOT_TIGHT, id="no bound"),
    ],
)
def test_a_bound_says_one_of_three_things(price: int, bound: int, want: BoundIs) -> None:
    """Optimal, within so much of it, or not tight."""
    assert bound_is(price, bound) == want


@pytest.mark.parametrize(
    ("words", "want"),
    [
        pytest.param({"pools": {"default": {"limits": {"cpu": 3}}}}, "the cpu limit", id="limits"),
        pytest.param(
            {"pools": {"default": {"limits": {"nodes": 1}}}}, "the nodes limit", id="limit of nodes"
        ),
        pytest.param(
            {
                "types": {"small": SMALL, "other": SMALL},
                "pools": {
                    "default": {
                        "requirements": [{"requirement": "instance-type Exists", "min_values": 2}]
                    }
                },
            },
            "minValues of NodePool default",
            id="minValues",
        ),
        pytest.param(
            {"pools": {"default": {}, "heavy": {"weight": 5}}}, "NodePools have", id="weights"
        ),
        pytest.param(
            {"nodes": [{"name": "n1", "pool": "default", "type": "small"}]},
            "pods that would fit existing nodes",
            id="existing nodes",
        ),
        pytest.param(
            {
                "pods": [
                    {
                        "name": "web",
                        "cpu": 1,
                        "replicas": 2,
                        "anti_affinity": [{"topology_key": "hostname"}],
                    }
                ]
            },
            "affinity and spread",
            id="constraints between pods",
        ),
        pytest.param({}, "few pods need few whole nodes", id="few pods"),
        pytest.param(
            {"pods": [{"name": "web", "cpu": 1.5, "replicas": 6}]}, "a higher --effort", id="else"
        ),
    ],
)
def test_the_reason_is_known_from_the_cluster(words: Words, want: str) -> None:
    """One sentence, the likeliest reason first."""
    snapshot = cluster(words)
    plan = decide(snapshot, NOW)
    paid = max(1, plan.cost.new_nanousd)
    far = msgspec.structs.replace(plan, cost=Cost(new_nanousd=paid, lower_bound_nanousd=paid // 2))
    found = closeness(far, snapshot)
    assert found.verdict is BoundIs.NOT_TIGHT
    assert found.why.startswith(want)
    shown = plan_json(far, snapshot, Timings())["cost"]
    assert isinstance(shown, dict)
    assert shown["lowerBoundIs"] == "notTight"
    assert str(shown["lowerBoundWhy"]).endswith(".")


def test_json_counts_node_prices_only_where_there_are_some() -> None:
    """New fields beside the old ones, which stay the provider's money."""
    free, dear = cluster({}), cluster({"policy": {"node_price": 0.02}})
    for snapshot, has_prices in ((free, False), (dear, True)):
        cost = plan_json(decide(snapshot, NOW), snapshot, Timings(), with_certificate=True)["cost"]
        assert isinstance(cost, dict)
        assert (cost["newPerHour"], cost["lowerBoundIs"]) == (0.1, "optimal")
        assert ("nodePricePerHour" in cost) == has_prices
        if has_prices:
            assert (cost["nodePricePerHour"], cost["lowerBoundWithNodesPerHour"]) == (0.02, 0.12)


def test_nothing_to_buy_is_optimal() -> None:
    """An empty plan costs nothing, and nothing is the bound."""
    assert closeness(Plan(), Snapshot()).verdict is BoundIs.OPTIMAL
