"""Finds pods on existing nodes that can be bound only once new nodes are there.

Pods on existing nodes are usually bound before any new node has come, so no spread counts new nodes
against them. A pod that wants company in its zone has to wait, if that company comes with a new
node; so does everybody on an existing node who wants it for company. By then new nodes count.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dovetail.solve.axes import Int
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.encoding.ties import Ties
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.contents import loads

Place = tuple[int, int]  # a unit, and the existing node that holds pods of it


def late_places(attempt: Attempt) -> set[Place]:
    """The units on existing nodes whose pods are bound after new nodes have come."""
    if not _matters(attempt):
        return set()
    return _Company(attempt).late


def is_late(attempt: Attempt, group: int, cell: int) -> bool:
    """Whether one more pod of a group on an existing node of a cell would have to wait for
    company that only new nodes bring. Company on the node itself is there by its own rule.
    """
    ties = attempt.enc.ties
    if not any(ties.zones[term].kind == TermKind.AFFINITY for term in ties.zone_own_g[group]):
        return False
    return not _Company(attempt).is_in_zone((group,), cell)


def _matters(attempt: Attempt) -> bool:
    """Whether any group wants company and is spread, beside nodes that are there."""
    ties = attempt.enc.ties
    if not attempt.bins.n_existing or all(term.kind != TermKind.AFFINITY for term in ties.zones):
        return False
    return any(
        {TermKind.AFFINITY, TermKind.SPREAD} <= _kinds(ties, group)
        for group in range(len(ties.zone_own_g))
    )


def _kinds(ties: Ties, group: int) -> set[TermKind]:
    """The kinds of the terms that a group states."""
    return {ties.zones[term].kind for term in ties.zone_own_g[group]} | {
        ties.hosts[term].kind for term in ties.host_own_g[group]
    }


class _Company:
    """Who is there before any new node: running pods, then those that find their company there."""

    def __init__(self, attempt: Attempt) -> None:
        self._units, self._ties = attempt.units, attempt.enc.ties
        self._cell_n = attempt.enc.cell_n
        self._zone_d: list[Int] = [term.match_d.copy() for term in self._ties.zones]
        self._host_n: list[Int] = [term.match_n.copy() for term in self._ties.hosts]
        self.late: set[Place] = {
            (unit, node)
            for node, pods in loads(attempt.bins.log).items()
            if node < attempt.bins.n_existing
            for unit in pods
        }
        while early := {place for place in sorted(self.late) if self._is_early(*place)}:
            self.late -= early

    def _is_early(self, unit: int, node: int) -> bool:
        """Whether pods of a unit can be bound now; if so, they are there from now on."""
        groups = [group for group, _ in self._units[unit].members]
        cell = int(self._cell_n[node])
        if not self.is_in_zone(groups, cell) or not self._is_on_node(groups, node):
            return False
        for term in set.intersection(*(set(self._ties.zone_match_g[group]) for group in groups)):
            domain = self._ties.domains_ck[cell, self._ties.zones[term].key]
            if domain >= 0 and self._ties.zones[term].counts_c[cell]:
                self._zone_d[term][domain] += 1
        for term in self._units[unit].match:
            self._host_n[term][node] += 1
        return True

    def is_in_zone(self, groups: Iterable[int], cell: int) -> bool:
        """Whether the company that pods of these groups want in their zone is there, or they may
        be the first of their kind.
        """
        ties = self._ties
        return all(
            self._zone_d[term][ties.domains_ck[cell, ties.zones[term].key]] > 0
            or (term in ties.zone_match_g[group] and not self._zone_d[term].any())
            for group in groups
            for term in ties.zone_own_g[group]
            if ties.zones[term].kind == TermKind.AFFINITY
        )

    def _is_on_node(self, groups: Iterable[int], node: int) -> bool:
        """The same of company on their node."""
        ties = self._ties
        return all(
            self._host_n[term][node] > 0
            or (term in ties.host_match_g[group] and not np.any(self._host_n[term]))
            for group in groups
            for term in ties.host_own_g[group]
            if ties.hosts[term].kind == TermKind.AFFINITY
        )
