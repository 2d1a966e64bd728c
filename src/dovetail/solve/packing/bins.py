"""The nodes of a plan: what is free on each, and which pods may join it.

The one mutable workspace of the solver: existing nodes first, then new ones as they are opened.
It never escapes `solve`. All questions are answered for a slice of nodes at once.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from dovetail.solve.axes import UNLIMITED, Bool, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.limits import Limits
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.kernel import loading, loops
from dovetail.solve.packing.units import ANY_CELL, ANY_WEIGHT, PodUnit

EXISTING = -1

Queue = tuple[Int, Int]  # where the compiled loops find units, and the weights these ask for
_COLUMNS: Final = ("free", "offer", "cell", "dead", "weight", "accept", "match", "own", "attached")


class SavedBins(NamedTuple):
    """All nodes at one moment, to go back to."""

    columns: tuple[np.ndarray[tuple[int, ...], np.dtype[np.generic]], ...]
    n: int
    log: list[tuple[int, Int, Int]]
    limits_left: list[int]
    supply: Int


class Bins:
    """Nodes being filled. Arrays have spare columns; only the first `n` count."""

    def __init__(self, enc: Encoded) -> None:
        self.enc = enc
        self.n_existing = len(enc.cell_n)
        self.n = self.n_existing
        self.n_kept = self.n  # nodes before this one are not taken apart again
        room = max(64, 2 * self.n)
        n_hosts = len(enc.ties.hosts)
        self.free = np.zeros((len(enc.resources), room), dtype=np.int64)
        self.offer = np.full(room, EXISTING, dtype=np.int64)
        self.cell = np.zeros(room, dtype=np.int64)
        self.dead = np.zeros(room, dtype=bool)  # opened, then given up
        self.weight = np.full(room, ANY_WEIGHT, dtype=np.int64)
        self.accept = np.zeros((len(enc.masks_me), room), dtype=bool)
        self.match = np.zeros((n_hosts, room), dtype=np.int32)
        self.own = np.zeros((n_hosts, room), dtype=np.int32)
        self.attached = np.zeros((len(enc.claims.resource), room), dtype=np.int32)
        self.log: list[tuple[int, Int, Int]] = []  # unit, nodes, how many on each
        self.limits = Limits(enc)
        self.mean = enc.mean_r
        if not enc.n_offers and self.n:
            self.mean = np.maximum(enc.free_nr.mean(axis=0), 1.0)
        self.floor = np.zeros(n_hosts, dtype=np.int64)  # the minimum that host spreads start from
        existing = slice(0, self.n)
        self.free[:, existing] = enc.free_nr.T
        self.cell[existing] = enc.cell_n
        self.accept[:, existing] = enc.masks_me[:, enc.n_offers :]
        self.attached[:, existing] = enc.claims.held_an
        for number, term in enumerate(enc.ties.hosts):
            self.match[number, existing] = term.match_n
            self.own[number, existing] = term.own_n
        self._fits_new: dict[tuple[object, ...], Bool] = {}
        self._daemon_terms = {
            number
            for number, term in enumerate(enc.ties.hosts)
            if term.match_o is not None or term.own_o is not None
        }
        self._compiled: loops.CompiledNodes | None = None  # made when first asked for

    @property
    def _nodes(self) -> loops.CompiledNodes | None:
        """The nodes for the compiled loops, if those are there."""
        library = loading.library()
        if self._compiled is None and library is not None:
            self._compiled = loops.CompiledNodes(
                library,
                free=self.free,
                cell=self.cell,
                weight=self.weight,
                accept=self.accept,
                match=self.match,
                own=self.own,
                floor=self.floor,
            )
        return self._compiled

    def _code(self, unit: PodUnit) -> loops.UnitCode:
        """A unit for the compiled loops."""
        if unit.code is None:
            unit.code = loops.UnitCode(self._numbers(unit))
        return unit.code

    def _codes(self, units: list[PodUnit]) -> Int:
        """Where the compiled loops find these units."""
        new = [unit for unit in units if unit.code is None]
        for unit, code in zip(
            new, loops.unit_codes([self._numbers(unit) for unit in new]), strict=True
        ):
            unit.code = code
        return np.array([self._code(unit).at for unit in units], dtype=np.int64)

    def _numbers(self, unit: PodUnit) -> list[int]:
        hosts = self.enc.ties.hosts
        numbers = [unit.mask, unit.cell, len(unit.own), len(unit.match)]
        numbers += unit.request.tolist()
        for mine, others in ((unit.own, unit.match), (unit.match, unit.own)):
            for term in mine:
                numbers += [term, hosts[term].kind, hosts[term].max_skew, term in others]
        return numbers

    def fill(self, number: int, unit: PodUnit, want: int, span: slice, how: int) -> int | None:
        """Place pods by the compiled loops; None if those are not there, or do not know how."""
        compiled = self._nodes
        if compiled is None or unit.claims:
            return None
        method = loops.FillMethod(how, float(self.mean[0]), float(self.mean[1]))
        nodes, counts = compiled.fill(self._code(unit), unit.weight, want, span, method)
        if len(nodes):
            self.log.append((number, nodes, counts))
        return int(counts.sum())

    def compiled_form(self, units: list[PodUnit]) -> tuple[loops.CompiledNodes, Queue] | None:
        """The nodes and these units for the compiled loops; None if those are not there, or do not
        know how.
        """
        compiled = self._nodes
        if compiled is None or any(unit.claims for unit in units):
            return None
        weights = np.array([unit.weight for unit in units], dtype=np.int64)
        return compiled, (self._codes(units), weights)

    def fill_one(
        self, left: Int, node: int, order: Int, queue: Queue | None
    ) -> list[tuple[int, int]] | None:
        """Fill one node with units in order; says how many of whom it took, and counts `left`
        down. None if the compiled loops are not there, or do not know how.
        """
        compiled = self._nodes
        if compiled is None or queue is None:
            return None
        counts = compiled.fill_one(*queue, left[order], node)
        taken = []
        for place in np.flatnonzero(counts).tolist():
            number, count = int(order[place]), int(counts[place])
            self.log.append((number, np.array([node]), np.array([count])))
            left[number] -= count
            taken.append((number, count))
        return taken

    def open(self, offer: int, count: int) -> slice:
        """Add empty nodes of one offer; returns where they are."""
        start, stop = self.n, self.n + count
        if stop > len(self.offer):
            self._grow(stop)
        enc = self.enc
        new = slice(start, stop)
        self.free[:, new] = enc.cap_or[offer][:, None]
        self.offer[new] = offer
        self.cell[new] = enc.cell_o[offer]
        self.dead[new] = False
        self.weight[new] = enc.weight_o[offer]
        self.accept[:, new] = enc.masks_me[:, offer][:, None]
        self.attached[:, new] = 0
        self.match[:, new] = 0
        self.own[:, new] = 0
        for number, term in enumerate(enc.ties.hosts):
            if term.match_o is not None:
                self.match[number, new] = term.match_o[offer]
            if term.own_o is not None:
                self.own[number, new] = term.own_o[offer]
        self.n = stop
        self.limits.take(offer, count)
        return new

    def close_last(self) -> None:
        """Take back the last opened node, which must be empty."""
        self.n -= 1
        self.limits.take(int(self.offer[self.n]), -1)

    def _grow(self, need: int) -> None:
        more = max(need, 2 * len(self.offer)) - len(self.offer)
        for name in _COLUMNS:
            array = getattr(self, name)
            width = [(0, 0)] * (array.ndim - 1) + [(0, more)]
            setattr(self, name, np.pad(array, width))
        self._compiled = None

    def save(self) -> SavedBins:
        """All nodes as they are now."""
        columns = tuple(getattr(self, name)[..., : self.n].copy() for name in _COLUMNS)
        limits = self.limits
        return SavedBins(columns, self.n, [*self.log], [*limits.left], limits.supply.copy())

    def restore(self, saved: SavedBins) -> None:
        """Go back to a moment at which the nodes were saved."""
        self.n = saved.n
        for name, column in zip(_COLUMNS, saved.columns, strict=True):
            getattr(self, name)[..., : self.n] = column
        self.log = [*saved.log]
        self.limits.left[:] = saved.limits_left
        self.limits.supply[:] = saved.supply

    def room(self, unit: PodUnit, span: slice) -> Int:
        """How many pods of the unit every node of the span could take, by all host-level laws."""
        compiled = self._nodes
        if compiled is not None and not unit.claims:
            return compiled.room(self._code(unit), unit.weight, span)
        room = self._fit_counts(unit, span)
        room[~self.accept[unit.mask, span]] = 0
        if unit.cell != ANY_CELL:
            room[self.cell[span] != unit.cell] = 0
        if unit.weight != ANY_WEIGHT:
            weight = self.weight[span]
            room[(weight != unit.weight) & (weight != ANY_WEIGHT)] = 0
        if unit.own or unit.match:
            self._exclude(unit, span, room)
        if unit.claims:
            self._attach(unit, span, room)
        return np.maximum(room, 0, out=room)

    def _fit_counts(self, unit: PodUnit, span: slice) -> Int:
        room: Int | None = None
        for resource, asked in enumerate(unit.request.tolist()):
            if asked <= 0:
                continue
            free = self.free[resource, span]
            fits = free // asked if asked > 1 else free.copy()
            room = fits if room is None else np.minimum(room, fits, out=room)
        return np.full(span.stop - span.start, UNLIMITED) if room is None else room

    def _attach(self, unit: PodUnit, span: slice, room: Int) -> None:
        """A shared volume takes a slot of a node once, whoever brings it there first."""
        resource_a = self.enc.claims.resource
        for resource in sorted({resource_a[claim] for claim in unit.claims}):
            mine = [claim for claim in unit.claims if resource_a[claim] == resource]
            free = self.free[resource, span] - (self.attached[mine, span] == 0).sum(axis=0)
            room[free < 0] = 0
            asked = int(unit.request[resource])
            if asked > 0:
                np.minimum(room, free // asked, out=room)

    def _exclude(self, unit: PodUnit, span: slice, room: Int) -> None:
        """Whom the unit keeps away from, and who keeps it away."""
        self._keep_own_terms(unit, span, room)
        hosts = self.enc.ties.hosts
        for number in unit.match:
            term = hosts[number]
            has_own = self.own[number, span] > 0
            if term.kind in (TermKind.ANTI, TermKind.PORT):
                room[has_own] = 0
            elif term.kind == TermKind.SPREAD and number not in unit.own:
                # Strict for pods that are merely counted, so that every binding order is legal.
                left = term.max_skew + self.floor[number] - self.match[number, span]
                np.copyto(room, np.minimum(room, left), where=has_own)

    def _keep_own_terms(self, unit: PodUnit, span: slice, room: Int) -> None:
        hosts = self.enc.ties.hosts
        for number in unit.own:
            term = hosts[number]
            match = self.match[number, span]
            if term.kind == TermKind.SPREAD:
                most = term.max_skew + self.floor[number]
                if number in unit.match:
                    np.minimum(room, most - match, out=room)
                else:
                    room[match > most] = 0
            elif term.kind == TermKind.AFFINITY:
                room[match == 0] = 0
            else:
                room[match > 0] = 0
                if number in unit.match:
                    np.minimum(room, 1, out=room)

    def put(self, number: int, unit: PodUnit, nodes: Int, counts: Int) -> None:
        """Place so many pods of the unit on each of these (distinct) nodes."""
        self.log.append((number, nodes, counts))
        self.shift(unit, nodes, counts)

    def shift(self, unit: PodUnit, nodes: Int, counts: Int) -> None:
        """Account for pods that come (or go, when negative), without a record."""
        self.free[:, nodes] -= unit.request[:, None] * counts[None, :]
        for term in unit.match:
            self.match[term, nodes] += counts.astype(np.int32)
        for term in unit.own:
            self.own[term, nodes] += counts.astype(np.int32)
        for claim in unit.claims:
            before = self.attached[claim, nodes] > 0
            self.attached[claim, nodes] += counts.astype(np.int32)
            after = self.attached[claim, nodes] > 0
            resource = self.enc.claims.resource[claim]
            self.free[resource, nodes] -= after.astype(np.int64) - before

    def fits_new(self, unit: PodUnit) -> Bool:
        """The offers on whose empty node one pod of the unit could run."""
        tied = (unit.own, unit.match) if self.is_near_daemons(unit) else ()
        key = (unit.request.tobytes(), unit.mask, unit.cell, unit.weight, unit.claims, tied)
        if key not in self._fits_new:
            self._fits_new[key] = self._find_fits_new(unit)
            self._fits_new[key].setflags(write=False)
        return self._fits_new[key]

    def is_near_daemons(self, unit: PodUnit) -> bool:
        """Whether some term ties the unit to pods of daemon sets."""
        return not self._daemon_terms.isdisjoint((*unit.own, *unit.match))

    def _find_fits_new(self, unit: PodUnit) -> Bool:
        enc = self.enc
        fits = enc.masks_me[unit.mask, : enc.n_offers].copy()
        for resource, asked in enumerate(unit.request.tolist()):
            if asked > 0:
                fits &= enc.cap_or[:, resource] >= asked
        for resource in {enc.claims.resource[claim] for claim in unit.claims}:
            n_shared = sum(enc.claims.resource[claim] == resource for claim in unit.claims)
            fits &= enc.cap_or[:, resource] >= unit.request[resource] + n_shared
        if unit.cell != ANY_CELL:
            fits &= enc.cell_o == unit.cell
        if unit.weight != ANY_WEIGHT:
            fits &= enc.weight_o == unit.weight
        return fits & self._fit_daemons(unit)

    def _fit_daemons(self, unit: PodUnit) -> Bool:
        """The offers whose daemon pods do not keep the unit away."""
        welcome = np.ones(self.enc.n_offers, dtype=bool)
        hosts = self.enc.ties.hosts
        for number in unit.own:
            present = hosts[number].match_o
            if present is not None and hosts[number].kind in (TermKind.ANTI, TermKind.PORT):
                welcome &= present == 0
        for number in unit.match:
            present = hosts[number].own_o
            if present is not None and hosts[number].kind in (TermKind.ANTI, TermKind.PORT):
                welcome &= present == 0
        return welcome

    def same_daemons(self, old: int, new: int) -> bool:
        """Whether two offers run the same daemon pods, as far as any host term cares."""
        return all(
            present is None or present[old] == present[new]
            for term in self.enc.ties.hosts
            for present in (term.match_o, term.own_o)
        )
