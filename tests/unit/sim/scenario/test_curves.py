from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from dovetail.errors import InputError
from dovetail.sim.scenario.curves import LoadCurve, replicas
from dovetail.sim.scenario.strict import Place, Share
from dovetail.sim.scenario.written import WrittenCurve, WrittenStep

HOUR = timedelta(hours=1)
MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
HERE = Place("day.yaml", "workloads.web.replicas")


def course(days: int = 1, start: datetime = MONDAY, seed: int = 1) -> LoadCurve:
    """So many days."""
    return LoadCurve(start, timedelta(days=days), Random(seed))  # noqa: S311  it has to repeat itself


def wave(**more: object) -> WrittenCurve:
    """Between 10 and 50, highest at three."""
    said = {"low": 10, "high": 50, "peak": 15 * HOUR, "tolerance": Share(0), **more}
    return WrittenCurve(**said)  # type: ignore[arg-type]  # fields by name


def at(found: tuple[tuple[timedelta, int], ...], hour: float) -> int:
    """How many at that hour."""
    return [n for moment, n in found if moment <= hour * HOUR][-1]


def test_a_number_holds_from_the_start() -> None:
    """And for ever."""
    assert replicas(7, course(), HERE) == ((timedelta(0), 7),)


def test_steps_come_in_the_order_of_their_time() -> None:
    """However they were written."""
    steps = (WrittenStep(at=6 * HOUR, pods=4), WrittenStep(at=0 * HOUR, pods=1))
    assert replicas(steps, course(), HERE) == ((0 * HOUR, 1), (6 * HOUR, 4))


def test_a_wave_is_highest_at_its_peak_and_lowest_half_a_day_away() -> None:
    """A cosine between the two."""
    found = replicas(wave(), course(), HERE)
    assert (at(found, 15), at(found, 3), at(found, 9)) == (50, 10, 30)


def test_a_weekend_has_its_share() -> None:
    """Saturday is the sixth day."""
    found = replicas(wave(weekend=Share(0.5)), course(days=7), HERE)
    assert at(found, 4 * 24 + 15) == 50
    assert at(found, 5 * 24 + 15) == 25


def test_noise_repeats_itself_and_follows_the_seed() -> None:
    """The same seed, the same day."""
    noisy = wave(noise=Share(0.1))
    assert replicas(noisy, course(), HERE) == replicas(noisy, course(), HERE)
    assert replicas(noisy, course(), HERE) != replicas(noisy, course(seed=2), HERE)


def test_small_changes_are_let_pass() -> None:
    """As an autoscaler does."""
    found = replicas(wave(tolerance=Share(0.2)), course(), HERE)
    pairs = itertools.pairwise(found)
    assert all(abs(after - before) > 0.2 * before for (_, before), (_, after) in pairs)


@pytest.mark.parametrize(
    ("written", "want"),
    [
        pytest.param(-1, "workloads.web.replicas: found -1; expected a number of pods", id="below"),
        pytest.param((), "workloads.web.replicas: found no step; expected", id="no step"),
        pytest.param(wave(low=60), "replicas.low: found 60; expected no more than", id="upside"),
    ],
)
def test_curves_that_make_no_sense_are_refused(
    written: int | tuple[WrittenStep, ...] | WrittenCurve, want: str
) -> None:
    """With the field that is wrong."""
    with pytest.raises(InputError) as caught:
        replicas(written, course(), HERE)
    assert want in str(caught.value)
