"""Computes which offerings are available now, and at what price.

Prices move for everybody: decisions see the new ones, and instances that run cost as much from then
on. A launch gets the cheapest offering that would do and can be had; whatever would have come
before it was refused, and is not asked for again for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from math import prod

import msgspec

from dovetail.cloud.price_list import Priced, PriceList
from dovetail.model.backoff import Chance
from dovetail.model.claim import ClaimObject
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.plan import Launch
from dovetail.sim.fast.cluster import FastCluster
from dovetail.sim.weather import PriceCourse, Weather
from dovetail.state.changes import Refused

_Offer = tuple[str, str, str]  # instance type, zone, capacity type
_Types = tuple[InstanceType, ...]


class Market:
    """The offerings of a cloud. `repriced` hears when prices have changed."""

    def __init__(
        self, cluster: FastCluster, weather: Weather, repriced: Callable[[], None]
    ) -> None:
        self._cluster = cluster
        self._weather = weather
        self._repriced = repriced
        self._listed = cluster.given.instance_types  # at the prices of the catalogue
        self._factors = [1.0] * len(weather.prices)
        self._moved = _courses_by_offer(self._listed, weather.prices)
        self._lists: dict[str, tuple[_Types, PriceList]] = {}

    def begin(self) -> None:
        """Plan how prices move."""
        for number, course in enumerate(self._weather.prices):
            for moment, factor in course.steps:
                step = partial(self._step, number, factor)
                self._cluster.agenda.since_start(moment, step)

    # ---- orders

    def is_failing(self, chance: Chance) -> bool:
        """Whether an order comes back with an error now."""
        elapsed = self._cluster.agenda.elapsed
        shares = [item.share for item in self._weather.api_errors if item.during.holds(elapsed)]
        return bool(shares) and chance() < max(shares)

    def sell(self, launch: Launch) -> Priced | None:
        """What an order gets, if anything. Whatever could not be had is remembered."""
        types = self._cluster.given.instance_types[launch.node_pool]
        planned = purchase(launch, types)
        if not self._weather.shortages or not self._is_short(planned):
            return planned
        self._refuse(planned)
        for choice in self._serving_offers(launch, types):
            if not self._is_short(choice):
                return choice
            self._refuse(choice)
        return None

    def boots_slower_by(self, choice: Priced) -> float:
        """How many times as long it takes to start now."""
        elapsed = self._cluster.agenda.elapsed
        return prod(
            slow_boot.factor
            for slow_boot in self._weather.slow_boots
            if slow_boot.during.holds(elapsed) and slow_boot.offers.mean(*_offer(choice))
        )

    def _serving_offers(self, launch: Launch, types: _Types) -> Iterator[Priced]:
        listed = self._lists.get(launch.node_pool)
        if listed is None or listed[0] is not types:
            listed = self._lists[launch.node_pool] = (types, PriceList(types))
        claim = ClaimObject(launch.name, requirements=launch.requirements, requests=launch.requests)
        return listed[1].serving(claim)

    def _is_short(self, choice: Priced) -> bool:
        elapsed, offer = self._cluster.agenda.elapsed, _offer(choice)
        return any(
            shortage.during.holds(elapsed) and shortage.offers.mean(*offer)
            for shortage in self._weather.shortages
        )

    def _refuse(self, choice: Priced) -> None:
        self._cluster.book.apply(Refused(*_offer(choice), self._cluster.now))

    # ---- prices

    def _step(self, course: int, factor: float) -> None:
        """One course takes its next step."""
        if self._factors[course] == factor:
            return
        self._factors[course] = factor
        cluster = self._cluster
        current = cluster.given.instance_types
        fresh: dict[int, _Types] = {}  # pools that share their types go on sharing them
        for listed, instance_types in zip(self._listed.values(), current.values(), strict=True):
            if id(listed) not in fresh:
                fresh[id(listed)] = tuple(self._with_prices(listed, instance_types, course))
        cluster.given = msgspec.structs.replace(
            cluster.given,
            instance_types={pool: fresh[id(types)] for pool, types in self._listed.items()},
        )
        self._repriced()
        cluster.touched(False)

    def _with_prices(self, listed: _Types, types: _Types, course: int) -> Iterator[InstanceType]:
        for at_first, now in zip(listed, types, strict=True):
            offerings = tuple(
                self._price(at_first.name, offering)
                if self._is_moved(at_first.name, offering, course)
                else as_it_is
                for offering, as_it_is in zip(at_first.offerings, now.offerings, strict=True)
            )
            is_same = all(a is b for a, b in zip(offerings, now.offerings, strict=True))
            yield now if is_same else msgspec.structs.replace(now, offerings=offerings)

    def _is_moved(self, kind: str, offering: Offering, course: int) -> bool:
        return course in self._moved.get((kind, offering.zone, offering.capacity_type), ())

    def _price(self, kind: str, item: Offering) -> Offering:
        courses = self._moved[kind, item.zone, item.capacity_type]
        factor = prod(self._factors[course] for course in courses)
        return msgspec.structs.replace(item, price_nanousd=round(item.price_nanousd * factor))


def purchase(launch: Launch, types: Iterable[InstanceType]) -> Priced:
    """The type and the offering that a launch chose."""
    kind = next(item for item in types if item.name == launch.instance_type)
    offering = next(
        item
        for item in kind.offerings
        if (item.zone, item.capacity_type) == (launch.zone, launch.capacity_type)
    )
    return Priced(kind, offering)


def _offer(choice: Priced) -> _Offer:
    return choice.instance_type.name, choice.offering.zone, choice.offering.capacity_type


def _courses_by_offer(
    listed: Mapping[str, _Types], courses: tuple[PriceCourse, ...]
) -> dict[_Offer, tuple[int, ...]]:
    """For every offering the courses that move its price."""
    offers = {
        (kind.name, offering.zone, offering.capacity_type)
        for types in listed.values()
        for kind in types
        for offering in kind.offerings
    }
    named = {offer: tuple(_moved_at(offer, courses)) for offer in sorted(offers)}
    return {offer: courses for offer, courses in named.items() if courses}


def _moved_at(offer: _Offer, courses: tuple[PriceCourse, ...]) -> Iterator[int]:
    return (at for at, course in enumerate(courses) if course.offers.mean(*offer))
