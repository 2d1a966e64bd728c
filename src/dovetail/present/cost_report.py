"""Sums costs by workload and compares them, in words and as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from dovetail.model.snapshot import Snapshot
from dovetail.present.cost import HOURS_PER_MONTH, HOW, By, CostRow, bills, rows
from dovetail.present.plan import Json, instant
from dovetail.present.table import plural, price
from dovetail.units import money

_CENT: Final = 10_000_000
_COMPARED: Final = (
    "The pods of running nodes that belong to a NodePool without replicas and have a known price "
    "are provisioned again from scratch: by Karpenter's algorithm (first fit, then the cheapest "
    "type that fits), and by Dovetail's. Nodes that are starting or terminating are left out with "
    "their pods; free capacity on all others may be used."
)
_PLURALS: Final[Mapping[By, str]] = {
    By.POOL: "pools",
    By.NAMESPACE: "namespaces",
    By.WORKLOAD: "workloads",
    By.LABEL: "labels",
}


class Comparison(msgspec.Struct, frozen=True):
    """What some nodes cost an hour, and what others would have paid for the same pods. Pods that
    were left without a place make a price too low. The bound is what nobody could undercut.
    """

    n_nodes: int
    n_pods: int
    paid_nanousd: int
    reference_nanousd: int
    n_reference_unplaced: int
    anew_nanousd: int
    n_anew_unplaced: int
    bound_nanousd: int


class CostReport(msgspec.Struct, frozen=True):
    """What a cluster costs an hour. `target_nanousd` is what it would cost at least once all that
    may move now had moved; 0 if nothing may.
    """

    now: datetime
    nanousd: int
    unused_nanousd: int
    rows: Mapping[By, tuple[CostRow, ...]]
    label: str
    comparison: Comparison
    target_nanousd: int = 0


def report(
    snapshot: Snapshot, now: datetime, *, label: str, comparison: Comparison, target_nanousd: int
) -> CostReport:
    """Everything about what a cluster costs."""
    all_bills = bills(snapshot)
    return CostReport(
        now=now,
        nanousd=sum(bill.nanousd for bill in all_bills),
        unused_nanousd=sum(bill.unused_nanousd for bill in all_bills),
        rows={by: rows(all_bills, by, label) for by in By},
        label=label,
        comparison=comparison,
        target_nanousd=target_nanousd,
    )


def monthly(nanousd: int) -> str:
    """What an hourly price comes to in a month, in dollars and cents."""
    amount = nanousd * HOURS_PER_MONTH
    cents = (abs(amount) + _CENT // 2) // _CENT
    return f"{'-' if amount < 0 else ''}${cents // 100:,}.{cents % 100:02d}"


def share(part: int, whole: int) -> str:
    """A part in percent."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


# ------------------------------------------------------------------ in words


def sentences(told: CostReport) -> Iterator[str]:
    """What it all comes to."""
    paid = f"{price(told.nanousd)} an hour, {monthly(told.nanousd)} a month"
    unused = share(told.unused_nanousd, told.nanousd)
    yield f"The cluster costs {paid}; {unused} of that is unused."
    comparison = told.comparison
    if not comparison.n_pods:
        yield "There is nothing to compare with: no pod runs on a node with a known price."
        return
    where = (
        f"now on {plural(comparison.n_nodes, 'node')} for {price(comparison.paid_nanousd)} an hour"
    )
    yield (
        f"If the same {plural(comparison.n_pods, 'pod')}, {where}, were provisioned from scratch, "
        f"Karpenter would pay {_savings_text(comparison.reference_nanousd, comparison)}"
        f"{_left_out_text(comparison.n_reference_unplaced)}; Dovetail would pay "
        f"{_savings_text(comparison.anew_nanousd, comparison)}"
        f"{_left_out_text(comparison.n_anew_unplaced)}."
    )
    if comparison.bound_nanousd:
        over = share(comparison.paid_nanousd - comparison.bound_nanousd, comparison.bound_nanousd)
        bound = price(comparison.bound_nanousd)
        yield f"The lower bound for the same pods is {bound} an hour; the nodes cost {over} more."
    if comparison.bound_nanousd < told.target_nanousd < told.nanousd:
        least = price(told.target_nanousd)
        yield f"The lower bound for the cluster, if all movable pods were moved now, is {least}."


def _savings_text(theirs: int, comparison: Comparison) -> str:
    saved = theirs - comparison.paid_nanousd
    amount = f"{price(abs(saved))} an hour, {monthly(abs(saved))} a month"
    if saved < 0:
        return f"{price(theirs)}, which would save {amount}"
    return f"{price(theirs)}, so the current nodes save {amount} ({share(saved, theirs)})"


def _left_out_text(n_pods: int) -> str:
    return f", with {plural(n_pods, 'pod')} unschedulable" if n_pods else ""


# ------------------------------------------------------------------ as data


def report_json(told: CostReport, wanted: Sequence[By], notes: Sequence[str]) -> dict[str, Json]:
    """The report as data, with the rows that are wanted."""
    shown: dict[str, Json] = {
        "now": instant(told.now),
        **_money("price", told.nanousd),
        **_money("unused", told.unused_nanousd),
        "how": HOW,
    }
    for by in wanted:
        rows: Json = [_row_json(row, told.nanousd) for row in told.rows[by]]
        shown[_PLURALS[by]] = rows
        if by is By.LABEL:
            shown["label"] = told.label
    shown["comparison"] = _comparison_json(told.comparison)
    shown["targetPerHour"] = money.dollars(told.target_nanousd)
    shown["notes"] = list(notes)
    return shown


def _money(name: str, nanousd: int) -> dict[str, Json]:
    return {
        f"{name}PerHour": money.dollars(nanousd),
        f"{name}PerMonth": money.dollars(nanousd * HOURS_PER_MONTH),
    }


def _row_json(row: CostRow, whole: int) -> Json:
    return {
        "name": row.name,
        **_money("price", row.nanousd),
        "share": round(row.nanousd / whole, 4) if whole else 0.0,
        "pods": row.n_pods,
        "nodes": row.n_nodes,
        "unusedPerHour": money.dollars(row.unused_nanousd),
    }


def _comparison_json(comparison: Comparison) -> Json:
    saved = comparison.reference_nanousd - comparison.paid_nanousd
    over = comparison.paid_nanousd - comparison.bound_nanousd
    return {
        "how": _COMPARED,
        "nodes": comparison.n_nodes,
        "pods": comparison.n_pods,
        **_money("price", comparison.paid_nanousd),
        **_money("reference", comparison.reference_nanousd),
        "referenceUnplaced": comparison.n_reference_unplaced,
        **_money("savedAgainstReference", saved),
        **_money("anew", comparison.anew_nanousd),
        "anewUnplaced": comparison.n_anew_unplaced,
        **_money("bound", comparison.bound_nanousd),
        "aboveBound": round(over / comparison.bound_nanousd, 4)
        if comparison.bound_nanousd
        else 0.0,
    }
