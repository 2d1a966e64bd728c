"""Offers for the nodes of a layout: heaviest pools first, then cheapest, within all limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from dovetail.solve.exact.board import ExactPuzzle
from dovetail.solve.exact.search import Spot

_STEPS: Final = 400
Worth = tuple[tuple[int, ...], int, int]  # pods in light pools, lightest first; price; nodes


@dataclass(slots=True)
class Chooser:
    """Chooses an offer for each new node of a layout."""

    board: ExactPuzzle
    spots: Sequence[Spot]  # the new ones
    weights: Sequence[int]  # of all pools but the heaviest, lightest first
    best: Worth | None = None
    chosen: list[int] = field(default_factory=list)  # places of offers, by spot
    _taken: list[int] = field(default_factory=list)
    _left: int = _STEPS

    def run(self) -> Worth | None:
        """The best that limits allow; None if they allow nothing."""
        self._choose(0, list(self.board.left), {})
        return self.best

    def _choose(self, number: int, left: list[int], reserved: dict[int, int]) -> None:
        if number == len(self.spots):
            worth = self._worth_so_far()
            if self.best is None or worth < self.best:
                self.best, self.chosen = worth, list(self._taken)
            return
        if self.best is not None and self._worth_so_far() >= self.best:
            return
        for place in self._candidates(self.spots[number]):
            if self._left <= 0:
                return
            self._left -= 1
            after = [have - row[place] for have, row in zip(left, self.board.use, strict=True)]
            if any(have < 0 for have in after) or not self._take(place, reserved, 1):
                continue
            self._taken.append(place)
            self._choose(number + 1, after, reserved)
            self._taken.pop()
            self._take(place, reserved, -1)

    def _take(self, place: int, reserved: dict[int, int], count: int) -> bool:
        """Draw on a reservation (or give back); says whether there is enough left of it."""
        limits, offer = self.board.limits, self.board.offers[place]
        if not self.board.is_scarce(place):
            return True
        first = min((offer, *limits.same_reservation(offer)))
        if count > 0 and reserved.get(first, 0) >= limits.supply[offer]:
            return False
        reserved[first] = reserved.get(first, 0) + count
        return True

    def _candidates(self, spot: Spot) -> list[int]:
        """The offers that would do and of which none is better in everything, best first."""
        board, kept = self.board, list[int]()
        for place in range(len(board.offers)):
            if not spot.offers >> place & 1:
                continue
            is_beaten = any(
                board.weight[other] == board.weight[place]
                and not board.is_scarce(other)
                and all(row[other] <= row[place] for row in board.use)
                for other in kept
            )
            if not is_beaten:
                kept.append(place)
        return kept

    def _worth_so_far(self) -> Worth:
        """What the nodes chosen so far come to."""
        board, n_pods = self.board, dict.fromkeys(self.weights, 0)
        for spot, place in zip(self.spots, self._taken, strict=False):
            if board.weight[place] in n_pods:
                n_pods[board.weight[place]] += sum(spot.held)
        price = sum(board.price[place] for place in self._taken)
        return tuple(n_pods[weight] for weight in self.weights), price, len(self._taken)
