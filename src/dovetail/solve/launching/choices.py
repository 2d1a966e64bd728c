"""Settles what each new node is planned as, and which other offers its launch lists.

Three things are brought together here: which offers would hold the node's pods (`fallbacks`), how
much of its pool's limits a launch may take (`headroom`), and that a node is planned as the cheapest
of all that its launch lists, since that is what a provider delivers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dovetail.solve.axes import Int
from dovetail.solve.encoding.limits import Use, limits_by_pool
from dovetail.solve.launching.fallbacks import Finder, Load
from dovetail.solve.launching.headroom import LimitAllowance, ListedLaunch, allowances
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.bins import EXISTING
from dovetail.solve.packing.contents import kinds_by_node


@dataclass(frozen=True, slots=True)
class LaunchChoice:
    """What a node is planned as, the other offers that would do (cheapest first), and whether
    minValues had to give way. Offers are numbered as before minValues narrowed them.
    """

    offer: int
    fallbacks: Int
    is_relaxed: bool


def choices(attempt: Attempt) -> dict[int, LaunchChoice]:
    """What every new node is planned as, and what else it could be."""
    bins = attempt.bins
    if bins.n == bins.n_existing:
        return {}
    finder = Finder(attempt)
    chooser = _Chooser(attempt, finder)
    orders: dict[int, _Order] = {}
    for node, traits in kinds_by_node(bins.log, finder.traits()):
        offer = int(bins.offer[node])
        if offer != EXISTING:
            used = attempt.enc.cap_or[offer] - bins.free[:, node]
            orders[node] = _Order(finder.load(offer, traits), used.tobytes())
    allowed = chooser.allowances(orders)
    return {node: chooser.choice(order, allowed.get(node)) for node, order in orders.items()}


@dataclass(frozen=True, slots=True)
class _Order:
    """A node to launch: what it is, and what its pods take of it."""

    load: Load
    used: bytes


class _Chooser:
    """Answers for one attempt; what nodes have in common is worked out once."""

    def __init__(self, attempt: Attempt, finder: Finder) -> None:
        self._attempt = attempt
        self._enc = attempt.enc if attempt.enc.origin is None else attempt.enc.origin.enc
        self._finder = finder
        self._found: dict[_Order, tuple[Int, bool]] = {}
        self._types: dict[_Order, Int] = {}
        self._choices: dict[tuple[_Order, Use | None], LaunchChoice] = {}

    def allowances(self, orders: Mapping[int, _Order]) -> Mapping[int, LimitAllowance]:
        """The most that nodes of limited pools may take of the limits, by node."""
        limited = limits_by_pool(self._attempt.enc)
        listed = [
            ListedLaunch(node, pool, self._listed_types(order))
            for node, order in (orders.items() if limited else ())
            for pool in (int(self._enc.pool_o[order.load.offer]),)
            if pool in limited
        ]
        return allowances(self._attempt, listed, limited)

    def choice(self, order: _Order, allowance: LimitAllowance | None) -> LaunchChoice:
        """What a node is planned as and what else it could be, within what limits allow."""
        if allowance is not None and allowance.is_exceeded:
            order = replace(order, load=replace(order.load, most=allowance.most))
        key = (order, None if allowance is None else allowance.most)
        if key not in self._choices:
            self._choices[key] = self._cheapest(*key)
        return self._choices[key]

    def _cheapest(self, order: _Order, most: Use | None) -> LaunchChoice:
        """The node planned as the cheapest of what it could be.

        The search need not have found that one: minValues narrow offers, and limits may have left
        less when it looked. What is planned instead lists nothing that takes more of the limits.
        """
        fallbacks, is_relaxed = self._fallbacks(order)
        price_o = self._enc.price_o
        is_cheapest = not len(fallbacks) or price_o[fallbacks[0]] >= price_o[order.load.offer]
        launch_choice = LaunchChoice(order.load.offer, fallbacks, is_relaxed)
        if is_cheapest and self._enc is self._attempt.enc:
            return launch_choice
        bounded = replace(order.load, most=most)
        for offer in self._finder.cheaper(bounded, _numbers(order.used)).tolist():
            other = self._fallbacks(replace(order, load=replace(bounded, offer=offer)))
            if is_relaxed or not other[1]:
                return LaunchChoice(offer, *other)
        return launch_choice

    def _fallbacks(self, order: _Order) -> tuple[Int, bool]:
        if order not in self._found:
            self._found[order] = self._finder.fallbacks(order.load, _numbers(order.used))
        return self._found[order]

    def _listed_types(self, order: _Order) -> Int:
        """The types of the fallbacks and of the planned offer, cheapest first."""
        if order not in self._types:
            every = np.append(self._fallbacks(order)[0], order.load.offer)
            self._types[order] = in_order(self._enc.type_o[every], len(self._enc.market.types))
        return self._types[order]


def _numbers(used: bytes) -> Int:
    return np.frombuffer(used, dtype=np.int64)


def in_order(numbers: Int, n_numbers: int) -> Int:
    """The distinct ones of many numbers, in the order in which they come."""
    first = np.full(n_numbers, len(numbers))
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]
    places = np.flatnonzero(first < len(numbers))
    return places[np.argsort(first[places])]
