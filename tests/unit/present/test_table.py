"""What the table form of a plan says."""

from __future__ import annotations

import msgspec
import pytest

from dovetail.model.plan import Cost, Disrupt, Launch, Nominate, Plan
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Blocked, Blocker, PoolReason, Unschedulable
from dovetail.present.table import (
    Fill,
    bar,
    listing,
    optimality,
    plan_table,
    price,
    totals,
    waiting_rows,
)

GI = 1024**3
CENT = 10**7
EMPTY = Snapshot()
LAUNCH = Launch(
    name="general-0",
    node_pool="general",
    instance_type="m7g.large",
    zone="us-west-2a",
    capacity_type="spot",
    price_nanousd=30_000_000,
    instance_types=("m7g.large", "m6g.large", "c7g.xlarge"),
    requests={"cpu": 1000, "memory": GI, "pods": 2},
    pods=("shop/web-0", "shop/web-1"),
    allocatable={"cpu": 2000, "memory": 8 * GI, "pods": 20},
)


def test_nodes_that_are_alike_make_one_row() -> None:
    """Same pool, type, capacity type and zone: one row with sums."""
    fuller = msgspec.structs.replace(
        LAUNCH, name="general-1", requests={"cpu": 2000, "memory": 3 * GI, "pods": 2}
    )
    (row,) = plan_table(Plan(launches=(LAUNCH, fuller)), Snapshot()).nodes
    assert (row.count, row.price_nanousd, row.n_pods, row.n_fallbacks) == (2, 60_000_000, 4, 2)
    assert (row.cpu.percent, row.memory.percent) == (75, 25)


def test_another_zone_is_another_row_and_the_dearest_comes_first() -> None:
    """Rows are ordered by what they cost."""
    dear = msgspec.structs.replace(LAUNCH, zone="us-west-2b", price_nanousd=90_000_000)
    rows = plan_table(Plan(launches=(LAUNCH, dear)), Snapshot()).nodes
    assert [row.zone for row in rows] == ["us-west-2b", "us-west-2a"]


def test_devices_are_told_apart_from_ordinary_resources() -> None:
    """GPUs get a figure of their own."""
    gpu = msgspec.structs.replace(
        LAUNCH,
        requests={"cpu": 1, "nvidia.com/gpu": 3},
        allocatable={"cpu": 2, "nvidia.com/gpu": 4},
    )
    (row,) = plan_table(Plan(launches=(gpu,)), Snapshot()).nodes
    assert row.devices == (Fill("nvidia.com/gpu", 3, 4),)


def test_full_means_full() -> None:
    """99.9 % is not shown as 100, and a node of unknown size is not a division by zero."""
    assert Fill("cpu", 1999, 2000).percent == 99
    assert Fill("cpu", 2000, 2000).percent == 100
    assert Fill("cpu", 5, 0).percent == 0


def test_pods_that_wait_for_the_same_reasons_make_one_row() -> None:
    """A hundred replicas of one stuck Deployment are one problem."""
    reasons = (PoolReason("general", "TaintNotTolerated", "taint dedicated=gpu", 7),)
    waiting = [
        Unschedulable(f"shop/web-{n}", f"Pod shop/web-{n} waits.", reasons, "tolerate it")
        for n in range(5)
    ]
    other = Unschedulable("shop/db-0", "Pod shop/db-0 waits.", (), "")
    first, second = waiting_rows([*waiting, other])
    assert (first.n_pods, first.fix) == (5, "tolerate it")
    assert first.pods == "shop/web-0, shop/web-1, shop/web-2 and 2 more"
    assert "7 instance types left before" in first.reasons[0]
    assert second.pods == "shop/db-0"


def test_pods_without_pool_reasons_are_told_apart_by_their_sentence() -> None:
    """A missing claim and a scheduling gate are two problems."""
    rows = waiting_rows(
        [
            Unschedulable("a/x", "a/x names a claim that is not there."),
            Unschedulable("a/y", "a/y names a claim that is not there."),
            Unschedulable("a/z", "a/z is gated."),
        ]
    )
    assert [row.n_pods for row in rows] == [2, 1]


def test_a_disruption_says_what_comes_instead() -> None:
    """Replacements are described like new nodes."""
    plan = Plan(disruptions=(Disrupt("Underutilized", ("n1", "n2"), (LAUNCH,), ("a/b",), 7),))
    (row,) = plan_table(plan, Snapshot()).disruptions
    assert (row.nodes, row.replacements) == ("n1, n2", "1 x m7g.large spot us-west-2a")
    assert (row.n_pods, row.saving_nanousd) == (1, 7)
    assert row.moves == (
        "shop/web-0, shop/web-1 to general-0 (m7g.large)",
        "a/b to any node with room",
    )


def test_nodes_that_stay_for_the_same_reason_share_a_row() -> None:
    """In the plan's order."""
    why = [("n1", "Its pool says no."), ("n2", "A pod says no."), ("n3", "Its pool says no.")]
    plan = Plan(blocked=tuple(Blocked(node, Blocker.NEVER, text) for node, text in why))
    rows = plan_table(plan, Snapshot(), plan.blocked).staying
    assert [(row.nodes, row.message) for row in rows] == [
        ("n1, n3", "Its pool says no."),
        ("n2", "A pod says no."),
    ]


@pytest.mark.parametrize(
    ("cost", "want"),
    [
        pytest.param(
            Cost(103 * CENT, 100 * CENT),
            "at most 3.0 % above the optimum (lower bound $1.0000)",
            id="three percent",
        ),
        pytest.param(
            Cost(100_006 * CENT, 100_000 * CENT), "at most 0.1 %", id="rounded up, never flattered"
        ),
        pytest.param(Cost(40 * CENT + 1, 40 * CENT), "which is optimal", id="so close"),
        pytest.param(Cost(100, 100), "which is optimal", id="the optimum itself"),
        pytest.param(Cost(100, 0), "lower bound not tight here: few pods", id="no bound"),
        pytest.param(
            Cost(100 * CENT, 60 * CENT, node_price_nanousd=0, lower_bound_with_nodes_nanousd=1),
            "lower bound not tight here: few pods",
            id="far above",
        ),
        pytest.param(
            Cost(
                100 * CENT,
                60 * CENT,
                node_price_nanousd=10 * CENT,
                lower_bound_with_nodes_nanousd=110 * CENT,
            ),
            "which is optimal",
            id="with node prices",
        ),
    ],
)
def test_the_price_is_compared_with_the_lower_bound(cost: Cost, want: str) -> None:
    """How much cheaper any plan could be at most, or why that is not known."""
    assert optimality(Plan(launches=(LAUNCH,), cost=cost), EMPTY).startswith(want)


def test_totals_count_every_pod_once() -> None:
    """New, existing and waiting pods, then money."""
    plan = Plan(
        launches=(LAUNCH,),
        nominations=(Nominate("n1", ("a/b",)),),
        unschedulable=(Unschedulable("a/c", "no"),),
        cost=Cost(30_000_000, 30_000_000, 1_000_000_000, 1_030_000_000),
    )
    assert totals(plan, EMPTY) == (
        "1 new node for 2 pods, 1 pod on existing nodes, 1 pod unschedulable.",
        "New nodes cost $0.0300 an hour, which is optimal.",
        "The cluster costs $1.0000 an hour now, $1.0300 afterwards.",
    )


@pytest.mark.parametrize(
    ("nanousd", "want"),
    [
        pytest.param(0, "$0.0000", id="nothing"),
        pytest.param(49_999, "$0.0000", id="rounds down"),
        pytest.param(50_000, "$0.0001", id="rounds half up"),
        pytest.param(1_234_567_800_000, "$1,234.5678", id="thousands"),
        pytest.param(-500_000_000, "-$0.5000", id="negative"),
    ],
)
def test_prices_have_four_digits(nanousd: int, want: str) -> None:
    """Exact integer arithmetic up to the last digit shown."""
    assert price(nanousd) == want


@pytest.mark.parametrize(
    ("percent", "want"),
    [
        pytest.param(0, "----------   0 %", id="empty"),
        pytest.param(55, "#####-----  55 %", id="half"),
        pytest.param(100, "########## 100 %", id="full"),
        pytest.param(130, "########## 130 %", id="overfull stays in its width"),
    ],
)
def test_a_bar_always_has_its_figure_beside_it(percent: int, want: str) -> None:
    """Nothing is said by drawing alone."""
    assert bar(percent, filled="#", empty="-") == want


def test_a_long_list_is_cut_with_a_count() -> None:
    """Three names, then how many more."""
    assert listing(["a", "b", "c"]) == "a, b, c"
    assert listing(["a", "b", "c", "d"]) == "a, b, c and 1 more"
