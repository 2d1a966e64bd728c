"""Bin packing: opens the nodes that the linear program chose, and fills them.

The program says how many nodes of each offer and which mix of pods on them, in fractions. Whole
nodes are opened (rounded down), each unit gets its share of each offer's nodes by balanced
water-filling, and what is left over is solved again, then packed node by node (the tail).

Example: three pods of 1 cpu and 3 GiB, three of 1 cpu and 1 GiB, nodes of 2 cpu and 4 GiB. Filling
them in order of size puts two large ones together? They do not fit (6 GiB). One large and one
small fill a node exactly; water-filling finds that, since a node with a large pod has much cpu left
for its memory, and the next small pod goes where cpu is plentiful.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from dovetail.solve.axes import Float, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.kernel.loops import SNUG, WATER
from dovetail.solve.packing.bins import Bins, SavedBins
from dovetail.solve.packing.dissolve import dissolve_poor
from dovetail.solve.packing.filling import snug_fill, water_fill
from dovetail.solve.packing.squeeze import squeeze
from dovetail.solve.packing.tail import pack_tail
from dovetail.solve.packing.takers import with_takers
from dovetail.solve.packing.units import ANY_CELL, PodUnit
from dovetail.solve.patterns.planning import CLOSE
from dovetail.solve.program.answers import SolvedProgram
from dovetail.solve.program.assignment import Assignment
from dovetail.solve.program.lots import Lot
from dovetail.solve.program.sifting import without_sifting

Bought = tuple[SolvedProgram, Assignment, Int]  # what the program buys for which units

_MANY_PODS: Final = 10_000  # so many are packed in several ways, unless they are
_MANY_UNITS: Final = 2_000  # of so many kinds that each way takes long
_LEFT: Final = 10.0  # times its worth: what a pod that is left out counts
_FEW_PODS: Final = 8.0  # nodes that hold fewer are filled snugly


class Rounding(NamedTuple):
    """How the program's fractions of nodes become whole ones."""

    up: float = 0.5  # a fraction of a node that is larger than 1 less this is a node
    poor: float = 0.85  # a node whose pods are worth less of its price is packed again


ROUNDINGS: Final = (Rounding(), Rounding(up=0.0, poor=0.92), Rounding(up=0.0), Rounding(up=0.2))


def is_very_large(enc: Encoded) -> bool:
    """Whether there are so many pods that a plan is worth several tries."""
    return enc.problem.policy.effort > 0 and int(enc.count_g.sum()) >= _MANY_PODS


def mean_capacity(enc: Encoded, offers: Int) -> Float:
    """About what a node has; keeps cpu and memory comparable."""
    cap = enc.cap_or[offers].astype(np.float64)
    return np.maximum(cap.mean(axis=0), 1.0) if len(offers) else np.ones(cap.shape[1])


def pack(bins: Bins, units: list[PodUnit], left: Int, offers: Int, good: tuple[Int, Float]) -> None:
    """Open nodes for all that is left, as far as limits allow. `left` is counted down in place.

    `good` are the offers that the relaxation bought, and what a pod of each unit is worth.
    """
    favourites, worth_u = good
    open_now = bins.limits.open_offers()[offers]
    bought = buy(bins, units, left, offers[open_now], favourites)
    if bought is None or not is_very_large(bins.enc) or len(bought[2]) > _MANY_UNITS:
        _pack_once(bins, units, left, offers, (bought, worth_u, Rounding()))
        return
    start, pending, before = bins.save(), left.copy(), _price(bins)
    close = (1 + CLOSE) * float(pending @ worth_u)
    best: tuple[float, SavedBins, Int] | None = None
    for rounding in ROUNDINGS:
        if best is not None:
            bins.restore(start)
            left[:] = pending
        _pack_once(bins, units, left, offers, (bought, worth_u, rounding))
        price = _price(bins) - before + _LEFT * float(left @ worth_u)
        if best is None or price < best[0]:
            best = price, bins.save(), left.copy()
        if price <= close:
            return
    if best is not None:
        bins.restore(best[1])
        left[:] = best[2]


def _price(bins: Bins) -> int:
    """What all new nodes cost."""
    new = slice(bins.n_existing, bins.n)
    return int(bins.enc.plan_price_o[bins.offer[new][~bins.dead[new]]].sum())


def _pack_once(
    bins: Bins,
    units: list[PodUnit],
    left: Int,
    offers: Int,
    chosen: tuple[Bought | None, Float, Rounding],
) -> None:
    """Open and fill what the program bought, then pack what is left node by node."""
    bought, worth_u, rounding = chosen
    if bought is not None:
        _fill(bins, units, left, bought, (worth_u, rounding.up))
        if left.any() and dissolve_poor(bins, units, left, worth_u, rounding.poor):
            _fill_gaps(bins, units, left, worth_u)
    pack_tail(bins, units, left, offers, worth_u)
    squeeze(bins, units, left, worth_u)


def _fill_gaps(bins: Bins, units: list[PodUnit], left: Int, worth_u: Float) -> None:
    """Put what came back from poor nodes on the good ones, as far as it goes."""
    span = slice(bins.n_existing, bins.n)
    waiting = np.flatnonzero(left)
    for number in waiting[np.argsort(-worth_u[waiting], kind="stable")].tolist():
        left[number] -= snug_fill(bins, number, units[number], int(left[number]), span)


def buy(bins: Bins, units: list[PodUnit], left: Int, offers: Int, favourites: Int) -> Bought | None:
    """What the program would buy for what is left; None when there is nothing to be had."""
    numbers, lots = remaining_lots(bins, units, left, offers)
    if not lots:
        return None
    solved = without_sifting(bins.enc, offers, lots, bins.limits.program_rows(offers), favourites)
    return solved, solved.assignment, numbers


def remaining_lots(
    bins: Bins, units: list[PodUnit], left: Int, offers: Int
) -> tuple[Int, list[Lot]]:
    """What is left of every unit that some of the offers would take, as the program sees it."""
    numbers = with_takers(bins, units, np.flatnonzero(left).tolist(), offers)
    lots = [lot_of(units[number], int(left[number])) for number in numbers]
    return np.array(numbers, dtype=np.int64), lots


def lot_of(unit: PodUnit, count: int) -> Lot:
    """A unit as the program sees it."""
    return Lot(unit.request, unit.mask, unit.cell, count, unit.own, unit.match, weight=unit.weight)


def _fill(
    bins: Bins, units: list[PodUnit], left: Int, bought: Bought, how: tuple[Float, float]
) -> None:
    """Open the whole nodes and fill them: each unit's share of each offer, then the rest, those
    first that can use only some of the nodes. `how`: what units are worth, and how to round.
    """
    worth_u, up = how
    spans, shares = _open(bins, bought[0], bought[1], up)
    if not spans:
        return
    bins.mean = mean_capacity(bins.enc, bought[0].offers)
    filler = _Filler(bins, units, left, bought, (spans, shares))
    order = _order(units, bought[2], worth_u)
    rest = sorted(order, key=lambda unit: not filler.is_choosy(units[unit]))
    if filler.fill_at_once(order, rest):
        return
    for number in order:
        filler.share_out(number)
    for number in rest:
        filler.place_rest(number)


class _Filler:
    """Fills the nodes that were just opened."""

    def __init__(
        self,
        bins: Bins,
        units: list[PodUnit],
        left: Int,
        bought: Bought,
        opened: tuple[dict[int, slice], dict[int, float]],
    ) -> None:
        self._bins, self._units, self._left = bins, units, left
        self._found, self._answer, numbers = bought
        self._spans, self._shares = opened
        self._place = {int(number): place for place, number in enumerate(numbers)}
        self._carry: dict[tuple[int, int], float] = {}
        self._is_choosy: dict[tuple[int, int], bool] = {}
        enc, self._mean_of_all = bins.enc, bins.mean
        self._mean = {
            place: np.maximum(enc.cap_or[self._found.offers[place]], 1).astype(np.float64)
            for place in self._spans
        }
        self._every = slice(min(span.start for span in self._spans.values()), bins.n)
        n_nodes = self._every.stop - self._every.start
        self._is_snug = float(left[numbers].sum()) / max(n_nodes, 1) < _FEW_PODS

    def is_choosy(self, unit: PodUnit) -> bool:
        """Whether a unit can use only some of the nodes."""
        key = (unit.mask, unit.cell)
        if key not in self._is_choosy:
            bins, span = self._bins, self._every
            accept = bins.accept[unit.mask, span]
            if unit.cell != ANY_CELL:
                accept = accept & (bins.cell[span] == unit.cell)
            self._is_choosy[key] = float(accept.mean()) < 0.5
        return self._is_choosy[key]

    def fill_at_once(self, order: list[int], rest: list[int]) -> bool:
        """All that follows, by the compiled loops; says whether those are there."""
        bins, left_u = self._bins, self._left[order]
        mine = [self._units[number] for number in order]
        compiled = bins.compiled_form(mine)
        if compiled is None:
            return False
        nodes, queue = compiled
        row_u = self._found.classes.class_of[[self._place[number] for number in order]]
        wish_lo = self._answer.pods_lo
        turn = {number: place for place, number in enumerate(order)}
        codes, weights = queue
        log = nodes.share_out(
            left_u,
            n_units=len(order),
            n_offers=wish_lo.shape[1],
            how=SNUG if self._is_snug else WATER,
            units=codes,
            weight=weights,
            row=row_u,
            share=left_u / self._found.classes.count_l[row_u],
            rest=np.array([turn[number] for number in rest], dtype=np.int64),
            wish=wish_lo,
            order=np.argsort(-wish_lo, axis=1, kind="stable"),
            carry=np.zeros(wish_lo.shape),
            **self._by_offer(wish_lo.shape[1]),
        )
        bins.log += [(order[place], at, counts) for place, at, counts in log]
        self._left[order] = left_u
        return True

    def _by_offer(self, n_offers: int) -> dict[str, Int | Float]:
        """Where nodes begin and end, their share of the wish, their cpu and memory; then of all."""
        start, stop = np.zeros((2, n_offers + 1), dtype=np.int64)
        part, cpu, memory = np.zeros((3, n_offers + 1))
        for offer, span in self._spans.items():
            start[offer], stop[offer], part[offer] = span.start, span.stop, self._shares[offer]
            cpu[offer], memory[offer] = self._mean[offer][:2]
        start[-1], stop[-1] = self._every.start, self._every.stop
        cpu[-1], memory[-1] = self._mean_of_all[:2]
        return {"start": start, "stop": stop, "part": part, "cpu": cpu, "memory": memory}

    def share_out(self, number: int) -> None:
        """Give a unit its share of the nodes of each offer, as the program would have it."""
        left, classes = self._left, self._found.classes
        row = int(classes.class_of[self._place[number]])
        share = left[number] / classes.count_l[row]
        wish = self._answer.pods_lo[row]
        for offer in np.argsort(-wish, kind="stable").tolist():
            if wish[offer] <= 1e-6 or left[number] <= 0:
                break
            if offer not in self._spans:
                continue
            due = wish[offer] * share * self._shares[offer] + self._carry.get((row, offer), 0.0)
            want = min(int(due + 0.5), int(left[number]))
            got = self._fill(number, want, offer) if want > 0 else 0
            self._carry[row, offer] = due - got if got == want else 0.0
            left[number] -= got

    def _fill(self, number: int, want: int, offer: int) -> int:
        unit, span = self._units[number], self._spans[offer]
        # Balanced means in the proportion of these very nodes.
        self._bins.mean = self._mean[offer]
        if self._is_snug:
            return snug_fill(self._bins, number, unit, want, span)
        return water_fill(self._bins, number, unit, want, span)

    def place_rest(self, number: int) -> None:
        """Put what is left of a unit on any of the nodes."""
        want = int(self._left[number])
        self._bins.mean = self._mean_of_all
        if want > 0:
            unit = self._units[number]
            self._left[number] -= water_fill(self._bins, number, unit, want, self._every)


def _open(
    bins: Bins, solved: SolvedProgram, answer: Assignment, up: float
) -> tuple[dict[int, slice], dict[int, float]]:
    """Open the whole part of every number of nodes; says which share of the wish that is."""
    spans: dict[int, slice] = {}
    shares: dict[int, float] = {}
    for place, amount in enumerate(answer.nodes_o.tolist()):
        offer = int(solved.offers[place])
        whole = min(int(amount + up), bins.limits.most(offer))
        if whole > 0:
            spans[place] = bins.open(offer, whole)
            shares[place] = whole / amount
    return spans, shares


def _order(units: list[PodUnit], numbers: Int, worth_u: Float) -> list[int]:
    """Units that exclude their own kind first, then by worth: the cheapest fill the last gaps."""
    return sorted(
        numbers.tolist(), key=lambda number: (not units[number].is_capped, -worth_u[number], number)
    )
