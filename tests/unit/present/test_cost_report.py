"""What a cost report says in words and as data."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from dovetail.present.cost import HOW, By
from dovetail.present.cost_report import (
    Comparison,
    CostReport,
    monthly,
    report,
    report_json,
    sentences,
    share,
)
from dovetail.testing import instance_type, node, pod, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DOLLAR = 10**9
COMPARED = Comparison(
    n_nodes=1,
    n_pods=1,
    paid_nanousd=DOLLAR,
    reference_nanousd=DOLLAR * 5 // 4,
    n_reference_unplaced=0,
    anew_nanousd=DOLLAR * 9 // 10,
    n_anew_unplaced=0,
    bound_nanousd=DOLLAR * 8 // 10,
)


def told(comparison: Comparison = COMPARED, target_nanousd: int = 0) -> CostReport:
    """A node for a dollar, a quarter of which is used."""
    types = (instance_type("big", cpu=4, memory="16Gi", price=1.0),)
    only = node("n", pool="default", type="big", zone="a", capacity_type="on-demand", types=types)
    cluster = snapshot([pod("p", cpu=1, node="n")], nodes=[only], types=types)
    return report(cluster, NOW, label="team", comparison=comparison, target_nanousd=target_nanousd)


def test_a_report_says_what_is_paid_and_what_others_would_pay() -> None:
    """Per hour and per month, with the share that is saved."""
    others = (
        "If the same 1 pod, now on 1 node for $1.0000 an hour, were provisioned from scratch, "
        "Karpenter would pay $1.2500, so the current nodes save $0.2500 an hour, $182.50 a month "
        "(20.0 %); "
        "Dovetail would pay $0.9000, which would save $0.1000 an hour, $73.00 a month."
    )
    assert tuple(sentences(told())) == (
        "The cluster costs $1.0000 an hour, $730.00 a month; 75.0 % of that is unused.",
        others,
        "The lower bound for the same pods is $0.8000 an hour; the nodes cost 25.0 % more.",
    )


def test_pods_that_found_no_place_are_not_passed_over() -> None:
    """A price without them is too low."""
    text = " ".join(sentences(told(msgspec.structs.replace(COMPARED, n_reference_unplaced=2))))
    assert "(20.0 %), with 2 pods unschedulable; Dovetail" in text


def test_without_pods_nothing_is_compared() -> None:
    """And nothing divided by nothing."""
    nothing = Comparison(0, 0, 0, 0, 0, 0, 0, 0)
    assert "nothing to compare with" in tuple(sentences(told(nothing)))[1]
    assert report_json(told(nothing), (), ())["comparison"]["aboveBound"] == 0.0  # type: ignore[index,call-overload]  # it is a mapping


@pytest.mark.parametrize(
    ("target", "is_told"), [(0, False), (7 * DOLLAR // 10, False), (9 * DOLLAR // 10, True)]
)
def test_the_target_is_told_where_it_says_more_than_the_bound(
    target: int, *, is_told: bool
) -> None:
    """Of two minima the higher is the better one."""
    text = " ".join(sentences(told(target_nanousd=target)))
    assert ("movable pods" in text) is is_told


def test_as_data_it_says_how_it_was_worked_out() -> None:
    """With the rows that were asked for, and no others."""
    shown: dict[str, Any] = report_json(told(), (By.NAMESPACE, By.LABEL), ["a note"])
    assert shown["how"] == HOW
    assert "larger of their shares" in HOW
    assert (shown["pricePerHour"], shown["pricePerMonth"]) == (1.0, 730.0)
    assert (shown["unusedPerHour"], shown["label"], shown["notes"]) == (0.75, "team", ["a note"])
    assert {"pools", "workloads"} & shown.keys() == set()
    assert shown["namespaces"] == [
        {
            "name": "default",
            "pricePerHour": 0.25,
            "pricePerMonth": 182.5,
            "share": 0.25,
            "pods": 1,
            "nodes": 1,
            "unusedPerHour": 0.0,
        },
        {
            "name": "(unused)",
            "pricePerHour": 0.75,
            "pricePerMonth": 547.5,
            "share": 0.75,
            "pods": 0,
            "nodes": 1,
            "unusedPerHour": 0.75,
        },
    ]
    compared = shown["comparison"]
    assert compared["savedAgainstReferencePerHour"] == 0.25
    assert compared["aboveBound"] == 0.25
    assert "from scratch" in compared["how"]


@pytest.mark.parametrize(
    ("nanousd", "want"), [(DOLLAR, "$730.00"), (-DOLLAR, "-$730.00"), (7, "$0.00"), (0, "$0.00")]
)
def test_a_month_is_told_in_cents(nanousd: int, want: str) -> None:
    """730 hours of it."""
    assert monthly(nanousd) == want


def test_a_share_of_nothing_is_no_share() -> None:
    """A dash, not an error."""
    assert (share(1, 0), share(1, 8)) == ("-", "12.5 %")
