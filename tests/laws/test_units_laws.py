"""Laws of the units: what is written reads back, and order is kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dovetail.units import cron, duration, money, quantity

SUFFIXES = ["", *"numkMGTPE", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
RESOURCES = ["cpu", "memory", "ephemeral-storage", "pods", "nvidia.com/gpu", "hugepages-2Mi"]
AMOUNTS = st.integers(min_value=0, max_value=quantity.MAX)
SPANS = st.timedeltas(min_value=-timedelta(days=100_000), max_value=timedelta(days=100_000))
MOMENTS = st.datetimes(
    min_value=datetime(2000, 1, 1),  # noqa: DTZ001  hypothesis adds the zone
    max_value=datetime(2100, 1, 1),  # noqa: DTZ001  same
    timezones=st.just(UTC),
)


@given(st.sampled_from(RESOURCES), AMOUNTS)
def test_a_rendered_amount_reads_back(resource: str, amount: int) -> None:
    """An amount is what its rendering means."""
    shown = quantity.render(resource, amount)
    # A cpu in thousandths may exceed what a quantity holds in whole units, never the other way.
    assert quantity.amount(resource, shown) == amount


@given(
    st.integers(0, 10**6), st.integers(0, 999), st.sampled_from(SUFFIXES), st.sampled_from(SUFFIXES)
)
def test_larger_digits_or_suffixes_never_mean_less(
    digits: int, more: int, one: str, other: str
) -> None:
    """Reading keeps order, and rounding up keeps it too."""
    small, large = sorted((one, other), key=lambda suffix: quantity.parse(f"1{suffix}"))
    less, greater = f"{digits}{small}", f"{digits + more}{large}"
    assert quantity.parse(less) <= quantity.parse(greater)
    assert quantity.milli(less) <= quantity.milli(greater)
    assert quantity.whole(less) <= quantity.whole(greater)


@given(st.decimals(min_value=0, max_value=10**9, places=9))
def test_rounding_up_adds_less_than_one_unit(number: object) -> None:
    """Neither thousandths nor ones are ever rounded down, or up by a whole unit."""
    exact = Fraction(str(number))
    text = f"{number:f}"
    assert 0 <= quantity.milli(text) - exact * 1000 < 1
    assert 0 <= quantity.whole(text) - exact < 1


@given(SPANS)
def test_a_rendered_duration_reads_back(span: timedelta) -> None:
    """A duration is what its rendering means."""
    assert duration.parse(duration.render(span)) == span


@given(st.integers(-(10**15), 10**15))
def test_money_reads_back(nanousd: int) -> None:
    """A billionth is not lost on the way to dollars and back."""
    assert money.nanousd(money.dollars(nanousd)) == nanousd


def _part(least: int, most: int) -> st.SearchStrategy[str]:
    value = st.integers(least, most)
    spans = st.tuples(value, value).map(lambda pair: f"{min(pair)}-{max(pair)}")
    plain = st.one_of(st.just("*"), st.just("?"), value.map(str), spans)
    stepped = st.tuples(plain, st.integers(1, most)).map(lambda pair: f"{pair[0]}/{pair[1]}")
    return st.lists(st.one_of(plain, stepped), min_size=1, max_size=2).map(",".join)


# Minutes and hours are loose and days few, so that a step by minutes ends soon.
SCHEDULES = st.tuples(_part(0, 59), _part(0, 23), _part(1, 28), st.just("*"), _part(0, 6)).map(
    " ".join
)


@given(SCHEDULES, MOMENTS)
def test_the_next_hit_is_the_first_minute_that_matches(text: str, moment: datetime) -> None:
    """Stepping through every minute finds the same, within two days."""
    schedule = cron.parse(text)
    hit = schedule.next_after(moment)
    assert hit is not None
    assert hit > moment
    assert _matches(text, hit)
    minute = moment.replace(second=0, microsecond=0) + timedelta(minutes=1)
    for _ in range(2 * 24 * 60):
        if minute >= hit:
            break
        assert not _matches(text, minute)
        minute += timedelta(minutes=1)


def _matches(text: str, minute: datetime) -> bool:
    """Plainly: is this minute one of the schedule's?"""
    minutes, hours, days, months, weekdays = text.split()
    if not (
        _allows(minutes, minute.minute, 0, 59)
        and _allows(hours, minute.hour, 0, 23)
        and _allows(months, minute.month, 1, 12)
    ):
        return False
    by_date = _allows(days, minute.day, 1, 31)
    by_weekday = _allows(weekdays, (minute.weekday() + 1) % 7, 0, 6)
    if _is_plain(days) or _is_plain(weekdays):
        return by_date and by_weekday
    return by_date or by_weekday


def _is_plain(field: str) -> bool:
    return any(part in {"*", "?", "*/1", "?/1"} for part in field.split(","))


def _allows(field: str, value: int, least: int, most: int) -> bool:
    return any(value in _listed(part, least, most) for part in field.split(","))


def _listed(part: str, least: int, most: int) -> list[int]:
    span, _, step = part.partition("/")
    if span in {"*", "?"}:
        low, high = least, most
    elif "-" in span:
        low, high = (int(end) for end in span.split("-"))
    else:
        low, high = int(span), most if step else int(span)
    return [value for value in range(low, high + 1) if (value - low) % int(step or 1) == 0]
