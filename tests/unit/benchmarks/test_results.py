from __future__ import annotations

from benchmarks.results import Result, table


def test_a_figure_above_its_limit_is_a_miss_and_one_at_its_limit_is_not() -> None:
    """Limits are "at most"."""
    assert Result("row", {"seconds": 0.5}, {"seconds": 0.5}).misses == ()
    assert Result("row", {"seconds": 0.6}, {"seconds": 0.5}).misses == ("seconds 0.6 exceeds 0.5",)


def test_a_limit_that_was_not_measured_is_a_miss() -> None:
    """Silence is no success."""
    assert Result("row", {}, {"seconds": 0.5}).misses == ("seconds was not measured",)


def test_a_failure_is_a_miss_whatever_the_figures_say() -> None:
    """Fast but incomplete is not good enough, and too slow besides is said as well."""
    result = Result("row", {"seconds": 2}, {"seconds": 1, "peak MB": 9}, ("3 pods not placed",))
    assert result.misses == ("3 pods not placed", "seconds 2 exceeds 1")


def test_the_table_shows_each_figure_with_its_limit_and_the_verdict() -> None:
    """A reader sees at once what was measured against what."""
    text = table(
        (
            Result("good", {"pods": 5000, "seconds": 0.25}, {"seconds": 0.35}),
            Result("bad", {"price/bound": 1.2}, {"price/bound": 1.1}),
            Result("free", {"seconds": 0.25}),
        )
    )
    heading, good, bad, free = text.splitlines()
    assert heading.startswith("scenario")
    assert "5,000" in good
    assert good.split()[2:] == ["seconds", "0.250", "(0.35)", "PASS"]
    assert bad.endswith("MISS: price/bound 1.2 exceeds 1.1")
    assert free.endswith("seconds 0.250")
