"""Orders pods so that required pod affinity by hostname holds when they are bound one by one.

The company comes first, and those who want it wait for it there. A pod that may be the first of its
kind need not wait, as long as nobody of that kind is anywhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.packing.attempt import Attempt

Place = tuple[int, int]  # the group of a pod, and its node


def after_company(attempt: Attempt, turns: list[str], places: Mapping[str, Place]) -> list[str]:
    """The same turns, but whoever would find no company on its node has to wait for it."""
    present = _Present(attempt)
    late: dict[int, list[str]] = defaultdict(list)
    order: list[str] = []
    for key in turns:
        node = places[key][1]
        late[node].append(key)
        while ready := next((pod for pod in late[node] if present.suits(places[pod])), None):
            late[node].remove(ready)
            present.add(places[ready])
            order.append(ready)
    return order + [key for keys in late.values() for key in keys]


def is_wanted(attempt: Attempt) -> bool:
    """Whether any pod wants company on its node."""
    return any(term.kind == TermKind.AFFINITY for term in attempt.enc.ties.hosts)


class _Present:
    """Which company is on which node, as one pod is bound after another."""

    def __init__(self, attempt: Attempt) -> None:
        bins, self._ties = attempt.bins, attempt.enc.ties
        self._match = np.zeros_like(bins.match[:, : bins.n])
        new_offers = bins.offer[bins.n_existing : bins.n]
        for number, term in enumerate(self._ties.hosts):
            self._match[number, : bins.n_existing] = term.match_n
            if term.match_o is not None:
                self._match[number, bins.n_existing :] = term.match_o[new_offers]

    def suits(self, place: Place) -> bool:
        """Whether a pod has the company that it wants, or may be the first."""
        group, node = place
        return all(
            self._match[number, node]
            or (number in self._ties.host_match_g[group] and not self._match[number].any())
            for number in self._ties.host_own_g[group]
            if self._ties.hosts[number].kind == TermKind.AFFINITY
        )

    def add(self, place: Place) -> None:
        """Bind a pod."""
        group, node = place
        self._match[list(self._ties.host_match_g[group]), node] += 1
