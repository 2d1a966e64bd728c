"""Converts prices and failures of a scenario for the simulator, drawn by the seed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from random import Random
from typing import Final

from dovetail import labels
from dovetail.model.snapshot import Snapshot
from dovetail.sim.scenario.curves import stream
from dovetail.sim.scenario.strict import Place
from dovetail.sim.scenario.written import WrittenFailure, WrittenPrice, WrittenScenario, WrittenWalk
from dovetail.sim.weather import (
    ApiErrors,
    During,
    Offers,
    PriceCourse,
    Reclaims,
    Shortage,
    SlowBoots,
    Storm,
    Weather,
)

_MOST_STEPS: Final = 100_000
_DEAREST: Final = 1_000.0


def weather(written: WrittenScenario, cluster: Snapshot, seed: int, file: str) -> Weather:
    """All of it. Raises InputError."""
    place = Place(file)
    offers = sorted(
        {
            (kind.name, offering.zone, offering.capacity_type)
            for types in cluster.instance_types.values()
            for kind in types
            for offering in kind.offerings
        }
    )
    drawn = _Drawn(written, offers, seed)
    failures = [
        drawn.failure(failure, place.of("failures").at(at))
        for at, failure in enumerate(written.failures)
    ]
    return Weather(
        prices=tuple(
            course
            for at, price in enumerate(written.prices)
            for course in drawn.courses(price, place.of("prices").at(at), at)
        ),
        shortages=tuple(failure for failure in failures if isinstance(failure, Shortage)),
        reclaims=tuple(failure for failure in failures if isinstance(failure, Reclaims)),
        storms=tuple(failure for failure in failures if isinstance(failure, Storm)),
        slow_boots=tuple(failure for failure in failures if isinstance(failure, SlowBoots)),
        api_errors=tuple(failure for failure in failures if isinstance(failure, ApiErrors)),
    )


class _Drawn:
    def __init__(
        self, written: WrittenScenario, offers: list[tuple[str, str, str]], seed: int
    ) -> None:
        self._lasts_for = written.lasts
        self._offers = offers
        self._seed = seed

    # ---- failures

    def failure(
        self, failure: WrittenFailure, place: Place
    ) -> Shortage | Reclaims | Storm | SlowBoots | ApiErrors:
        self._check_kind(failure, place)
        offers = self._meant_offers(failure, place)
        ends = failure.begins + (failure.lasts if failure.lasts is not None else self._lasts_for)
        during = During(failure.begins, ends)
        if failure.interruptions is not None:
            return Reclaims(failure.interruptions, _spot(offers), during)
        if failure.storm is not None:
            return Storm(failure.begins, failure.storm, _spot(offers))
        if failure.slow_boots is not None:
            if not 0 < failure.slow_boots <= _DEAREST:
                place.of("slowBoots").refuse("expected a factor such as 5")
            return SlowBoots(failure.slow_boots, offers, during)
        if failure.api_errors is not None:
            return ApiErrors(failure.api_errors, during)
        return Shortage(offers, during)

    def _check_kind(self, written_failure: WrittenFailure, place: Place) -> None:
        given = {
            "noCapacity": written_failure.no_capacity or None,
            "interruptions": written_failure.interruptions,
            "storm": written_failure.storm,
            "slowBoots": written_failure.slow_boots,
            "apiErrors": written_failure.api_errors,
        }
        named = [name for name, value in given.items() if value is not None]
        if len(named) != 1:
            present = " and ".join(named) or "none"
            place.refuse(f"found {present}; expected one of {', '.join(given)}")

    def _meant_offers(self, wanted: WrittenFailure | WrittenPrice, place: Place) -> Offers:
        """The offers that are meant: some must be on sale, or the file has a slip."""
        meant = Offers(wanted.type, wanted.zone, wanted.capacity_type)
        if self._offers and not any(meant.mean(*offer) for offer in self._offers):
            zones = ", ".join(sorted({zone for _, zone, _ in self._offers}))
            place.refuse(
                f"no offering of type {wanted.type or 'any'} in zone {wanted.zone or 'any'} of "
                f"capacity type {wanted.capacity_type or 'any'}; expected offers of the catalogue, "
                f"in zones {zones}"
            )
        return meant

    # ---- prices

    def courses(self, price: WrittenPrice, place: Place, number: int) -> Iterator[PriceCourse]:
        offers = self._meant_offers(price, place)
        if (price.factor is None) == (price.walk is None):
            place.refuse("expected either `factor` or `walk`")
        if price.factor is not None:
            if not 0 < price.factor <= _DEAREST:
                place.of("factor").refuse("expected a factor such as 1.5")
            yield PriceCourse(offers, tuple(self._step(price, price.factor)))
        elif price.walk is not None:
            yield from self._walks(offers, price.walk, place.of("walk"), number)

    def _step(self, price: WrittenPrice, factor: float) -> Iterator[tuple[timedelta, float]]:
        yield price.at, factor
        if price.until is not None:
            yield price.until, 1.0

    def _walks(
        self, offers: Offers, walk: WrittenWalk, place: Place, number: int
    ) -> Iterator[PriceCourse]:
        if walk.every < timedelta(minutes=1) or self._lasts_for // walk.every > _MOST_STEPS:
            place.of("every").refuse("expected at least 1m")
        if not walk.lowest <= 1 <= walk.highest:
            place.refuse("expected `lowest` below 100% and `highest` above")
        for part in self._parts(offers, walk.each, place.of("each")):
            chance = stream(self._seed, "prices", str(number), *part)
            steps = tuple(_random_walk(walk, self._lasts_for, chance))
            yield PriceCourse(Offers(*part), steps)

    def _parts(self, offers: Offers, each: str, place: Place) -> list[tuple[str, str, str]]:
        """The groups of offers that have a price of their own."""
        kinds = [offer for offer in self._offers if offers.mean(*offer)]
        match each:
            case "all":
                return [(offers.instance_type, offers.zone, offers.capacity_type)]
            case "zone":
                zones = sorted({zone for _, zone, _ in kinds})
                return [(offers.instance_type, zone, offers.capacity_type) for zone in zones]
            case "type":
                names = sorted({name for name, _, _ in kinds})
                return [(name, offers.zone, offers.capacity_type) for name in names]
            case "offer":
                return kinds
            case _:
                return place.refuse(f"found {each!r}; expected all, zone, type or offer")


def _spot(offers: Offers) -> Offers:
    """Only spot instances are taken back, unless the file says otherwise."""
    kind = offers.capacity_type or labels.SPOT
    return Offers(offers.instance_type, offers.zone, kind)


def _random_walk(
    walk: WrittenWalk, lasts_for: timedelta, chance: Random
) -> Iterator[tuple[timedelta, float]]:
    factor, at = 1.0, walk.every
    while at < lasts_for:
        factor *= 1 + chance.gauss(0.0, walk.deviation)
        factor = min(max(factor, walk.lowest), walk.highest)
        yield at, factor
        at += walk.every
