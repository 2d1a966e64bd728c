from __future__ import annotations

import pytest

from benchmarks.growth.scales import Scale, around, label


def test_equal_ratios_are_equal_distances() -> None:
    """Which makes a power law a straight line; downwards, too."""
    scale = Scale(1, 100, start=300, end=100)
    assert [scale.at(value) for value in (1, 10, 100)] == pytest.approx([300, 200, 100])


@pytest.mark.parametrize(
    ("low", "high", "want"),
    [
        (0.15, 3, [0.2, 0.5, 1, 2]),
        (900, 250_000, [1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000]),
        (8, 6_000, [10, 100, 1_000]),
    ],
    ids=["below one", "short", "long"],
)
def test_marks_are_round_and_within(low: float, high: float, want: list[float]) -> None:
    """On long axes only powers of ten."""
    assert list(Scale(low, high, 0, 1).marks()) == pytest.approx(want)


def test_labels_are_written_as_people_write_them() -> None:
    """Thousands apart, no trailing zeros."""
    assert [label(value) for value in (0.05, 0.2, 1, 5_000)] == ["0.05", "0.2", "1", "5,000"]


def test_there_is_room_around_even_a_single_value() -> None:
    """A scale has two ends."""
    low, high = around([3.0, 3.0], 0.1)
    assert low < 3.0 < high
