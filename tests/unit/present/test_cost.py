"""How the price of a node is divided among its pods, and what that adds up to."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot
from dovetail.present.cost import UNUSED, Bill, By, CostRow, bill, bills, rows
from dovetail.testing import deployment, instance_type, node, node_pool, pod, snapshot

DOLLAR = 10**9
NODE = node("n", pool="default", cpu=4, memory="16Gi")


def parts(found: Bill) -> dict[str, int]:
    """What each pod pays, in cents, and what is unused."""
    paid = {one.pod.name: one.nanousd * 100 // DOLLAR for one in found.charges}
    return {**paid, UNUSED: found.unused_nanousd * 100 // DOLLAR}


@pytest.mark.parametrize(
    ("pods", "want"),
    [
        pytest.param([], {UNUSED: 100}, id="nobody: all is unused"),
        pytest.param(
            [pod("a", cpu=1, memory="1Gi")], {"a": 25, UNUSED: 75}, id="the larger share counts"
        ),
        pytest.param(
            [pod("a", cpu=1, memory="12Gi")], {"a": 75, UNUSED: 25}, id="which may be memory"
        ),
        pytest.param(
            [pod("a", cpu=2, memory="1Gi"), pod("b", cpu=1, memory="2Gi")],
            {"a": 50, "b": 25, UNUSED: 25},
            id="pods of one sort pay their shares",
        ),
        pytest.param(
            [pod("a", cpu=2, memory="2Gi"), pod("b", cpu=1, memory="8Gi")],
            {"a": 37, "b": 37, UNUSED: 25},
            id="pods that go well together pay less",
        ),
        pytest.param(
            [pod("a", cpu=3, memory="1Gi"), pod("b", cpu=3, memory="1Gi")],
            {"a": 50, "b": 50, UNUSED: 0},
            id="an overfull node is paid for once",
        ),
        pytest.param(
            [pod("a", cpu=2), pod("done", cpu=2, phase="Succeeded")],
            {"a": 50, UNUSED: 50},
            id="what has ended pays nothing",
        ),
        pytest.param(
            [pod("a", cpu=2), pod("free", cpu=0, memory=0)],
            {"a": 50, "free": 0, UNUSED: 50},
            id="who asks for nothing pays nothing",
        ),
    ],
)
def test_a_node_is_paid_by_those_who_ask_for_it(pods: list[Pod], want: dict[str, int]) -> None:
    """In proportion to the larger of their shares; the rest of the fuller resource is unused."""
    assert parts(bill(NODE, pods, DOLLAR)) == want


def test_who_holds_all_devices_holds_the_node() -> None:
    """A GPU that is taken is not unused, however idle the cpu."""
    costly = node("g", cpu=16, memory="64Gi", resources={"nvidia.com/gpu": 2})
    trainer = pod("t", cpu=1, memory="1Gi", requests={"nvidia.com/gpu": 2})
    assert parts(bill(costly, [trainer], DOLLAR)) == {"t": 100, UNUSED: 0}


@given(
    st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 20_000)), max_size=12),
    st.integers(0, 10**12),
)
def test_nothing_is_lost_and_nothing_counted_twice(
    asked: list[tuple[int, int]], price: int
) -> None:
    """To the nanodollar, whoever asks for how much; nobody is paid for being there."""
    pods = [
        pod(f"p{at:02d}", cpu=f"{cpu}m", memory=f"{memory}Mi")
        for at, (cpu, memory) in enumerate(asked)
    ]
    found = bill(NODE, pods, price)
    assert sum(one.nanousd for one in found.charges) + found.unused_nanousd == price
    assert min([found.unused_nanousd, *(one.nanousd for one in found.charges)]) >= 0


@given(st.lists(st.integers(1, 4000), min_size=2, max_size=8))
def test_shares_are_fair_to_a_nanodollar(asked: list[int]) -> None:
    """Nobody pays for another's rounding."""
    found = bill(
        NODE, [pod(f"p{at}", cpu=f"{cpu}m", memory=0) for at, cpu in enumerate(asked)], DOLLAR
    )
    used = DOLLAR - found.unused_nanousd
    for one in found.charges:
        fair = Fraction(used * one.pod.spec.requests["cpu"], sum(asked))
        assert abs(one.nanousd - fair) < 1


def cluster() -> Snapshot:
    """Two pools and a node of nobody's: 1 dollar, half a dollar, and no price."""
    types = (
        instance_type("big", cpu=4, memory="16Gi", price=1.0),
        instance_type("little", cpu=2, memory="8Gi", price=0.5),
    )
    words: dict[str, Any] = {"zone": "a", "capacity_type": "on-demand", "types": types}
    nodes = [
        node("n1", pool="web", type="big", **words),
        node("n2", pool="batch", type="little", **words),
        node("n3"),
    ]
    shop: dict[str, Any] = {"namespace": "sales", "owner": "ReplicaSet/shop"}
    shop["labels"] = {"team": "red"}
    pods = [
        *deployment(2, "shop", cpu=1, memory=0, node="n1", **shop),
        pod("lone", cpu=1, memory=0, node="n2", namespace="lab", labels={"team": ""}),
        pod("agent", cpu="500m", memory=0, node="n1", owner="DaemonSet/agent", namespace="lab"),
        pod("waits", cpu=1),
    ]  # fmt: skip
    pools = [node_pool("web"), node_pool("batch")]
    return snapshot(pods, nodes=nodes, node_pools=pools, types=types)


@pytest.mark.parametrize(
    ("by", "want"),
    [
        (
            By.POOL,
            [
                CostRow("web", DOLLAR, 3, 1, DOLLAR * 3 // 8),
                CostRow("batch", DOLLAR // 2, 1, 1, DOLLAR // 4),
                CostRow("(no pool)", 0, 0, 1, 0),
            ],
        ),
        (
            By.NAMESPACE,
            [
                CostRow("sales", DOLLAR // 2, 2, 1),
                CostRow("lab", DOLLAR * 3 // 8, 2, 2),
                CostRow(UNUSED, DOLLAR * 5 // 8, 0, 3, DOLLAR * 5 // 8),
            ],
        ),
        (
            By.WORKLOAD,
            [
                CostRow("ReplicaSet/sales/shop", DOLLAR // 2, 2, 1),
                CostRow("(no workload)", DOLLAR // 4, 1, 1),
                CostRow("DaemonSet/lab/agent", DOLLAR // 8, 1, 1),
                CostRow(UNUSED, DOLLAR * 5 // 8, 0, 3, DOLLAR * 5 // 8),
            ],
        ),
        (
            By.LABEL,
            [
                CostRow("team=red", DOLLAR // 2, 2, 1),
                CostRow("team=", DOLLAR // 4, 1, 1),
                CostRow("(no label team)", DOLLAR // 8, 1, 1),
                CostRow(UNUSED, DOLLAR * 5 // 8, 0, 3, DOLLAR * 5 // 8),
            ],
        ),
    ],
)
def test_prices_add_up_by_whatever_one_asks(by: By, want: list[CostRow]) -> None:
    """The dearest first, and what is unused in a row of its own."""
    assert list(rows(bills(cluster()), by)) == want
