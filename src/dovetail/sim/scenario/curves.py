"""Computes replicas over time from a number, steps, or a wave, and makes streams of chance."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Final

import msgspec

from dovetail.sim.scenario.strict import Place
from dovetail.sim.scenario.written import WrittenCurve, WrittenStep

Replicas = tuple[tuple[timedelta, int], ...]
_HOUR: Final = timedelta(hours=1)
_SATURDAY: Final = 5
_MOST_PODS: Final = 150_000
_SHORTEST_STEP: Final = timedelta(seconds=10)


class LoadCurve(msgspec.Struct, frozen=True):
    """When it begins, for how long it goes on, and the chance in it."""

    start: datetime
    lasts_for: timedelta
    chance: Random


def replicas(
    written: int | tuple[WrittenStep, ...] | WrittenCurve, course: LoadCurve, place: Place
) -> Replicas:
    """How many from each moment on. Raises InputError."""
    match written:
        case int():
            _check(written, place)
            return ((timedelta(0), written),)
        case WrittenCurve():
            return _wave(written, course, place)
        case _:
            return _steps(written, place)


def _steps(written: tuple[WrittenStep, ...], place: Place) -> Replicas:
    if not written:
        place.refuse("found no step; expected at least one, such as {at: 0h, pods: 10}")
    for at, step in enumerate(written):
        _check(step.pods, place.at(at).of("pods"))
    return tuple(sorted((written_step.at, written_step.pods) for written_step in written))


def _check(n_pods: int, place: Place) -> None:
    if not 0 <= n_pods <= _MOST_PODS:
        place.refuse(f"found {n_pods}; expected a number of pods up to {_MOST_PODS}")


def _wave(written: WrittenCurve, course: LoadCurve, place: Place) -> Replicas:
    _check(written.low, place.of("low"))
    _check(written.high, place.of("high"))
    if written.low > written.high:
        place.of("low").refuse(f"found {written.low}; expected no more than `high`")
    if written.step < _SHORTEST_STEP:
        place.of("step").refuse("expected at least 10s")
    return tuple(_autoscaled_steps(written, course))


def _autoscaled_steps(written: WrittenCurve, course: LoadCurve) -> Iterator[tuple[timedelta, int]]:
    """What an autoscaler makes of it: changes too small to matter are let pass."""
    current = -1
    for number in range(-(-course.lasts_for // written.step)):
        moment = number * written.step
        seen = _load(written, course.start + moment) * course.chance.gauss(1.0, written.noise)
        n_pods = max(0, math.ceil(seen))
        if current < 0 or abs(n_pods - current) > written.tolerance * current:
            current = n_pods
            yield moment, current


def _load(written: WrittenCurve, at: datetime) -> float:
    hour = (at - at.replace(hour=0, minute=0, second=0, microsecond=0)) / _HOUR
    wave = (1 + math.cos((hour - written.peak / _HOUR) * math.pi / 12)) / 2
    load = written.low + (written.high - written.low) * wave
    return load * written.weekend if at.weekday() >= _SATURDAY else load


def stream(seed: int, *names: str) -> Random:
    """The chance of one part: the same for everybody who asks by the same names."""
    return Random("/".join((str(seed), *names)))  # noqa: S311  it only has to repeat itself
