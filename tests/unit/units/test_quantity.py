from __future__ import annotations

from fractions import Fraction

import pytest

from dovetail.units import quantity


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("1", Fraction(1)),
        ("1.5", Fraction(3, 2)),
        (".5", Fraction(1, 2)),
        ("1.", Fraction(1)),
        ("+3", Fraction(3)),
        ("-3", Fraction(-3)),
        ("1n", Fraction(1, 10**9)),
        ("1u", Fraction(1, 10**6)),
        ("1m", Fraction(1, 1000)),
        ("1k", Fraction(1000)),
        ("1M", Fraction(10**6)),
        ("1G", Fraction(10**9)),
        ("1T", Fraction(10**12)),
        ("1P", Fraction(10**15)),
        ("1E", Fraction(10**18)),
        ("1Ki", Fraction(1024)),
        ("1Mi", Fraction(1024**2)),
        ("1Gi", Fraction(1024**3)),
        ("1Ti", Fraction(1024**4)),
        ("1Pi", Fraction(1024**5)),
        ("1Ei", Fraction(1024**6)),
        ("0.5Gi", Fraction(1024**3, 2)),
        ("1e3", Fraction(1000)),
        ("12E6", Fraction(12 * 10**6)),
        ("5e-3", Fraction(1, 200)),
        (2, Fraction(2)),
        (0.25, Fraction(1, 4)),
        (1e21, Fraction(quantity.MAX)),
    ],
)
def test_every_spelling_means_its_exact_amount(text: str | float, want: Fraction) -> None:
    """Suffixes, exponents, signs, points and bare numbers are all read exactly."""
    assert quantity.parse(text) == want


def test_a_bare_e_is_exa_and_with_digits_an_exponent() -> None:
    """12E and 12E0 differ by eighteen zeros."""
    assert quantity.parse("9E") == 9 * 10**18
    assert quantity.parse("9E0") == 9


@pytest.mark.parametrize(
    ("text", "want"), [("0.1n", Fraction(1, 10**9)), ("-0.1n", Fraction(-1, 10**9))]
)
def test_finer_than_a_billionth_is_rounded_away_from_zero(text: str, want: Fraction) -> None:
    """What was something does not become nothing."""
    assert quantity.parse(text) == want


@pytest.mark.parametrize("text", ["12E", "1e999999999", "9223372036854775808", "100Ei"])
def test_what_64_bits_cannot_hold_is_cut_off_there(text: str) -> None:
    """However large, and in no time."""
    assert quantity.whole(text) == quantity.MAX
    assert quantity.milli(text) == quantity.MAX


def test_a_minute_exponent_is_the_smallest_amount_and_zero_stays_zero() -> None:
    """Exponents without bound cost nothing."""
    assert quantity.parse("1e-999999999") == Fraction(1, 10**9)
    assert quantity.parse("0e999999999") == 0


@pytest.mark.parametrize(
    "text",
    ["", ".", "m", "1K", "1mi", "1ki", "1e", "1e+", "--1", "1 ", " 1", "1,5", "0x10", "1Gib", "٣"],
)
def test_junk_is_refused_with_what_was_expected(text: str) -> None:
    """A message names the junk and shows what would have done."""
    with pytest.raises(ValueError, match="expected a number with an optional suffix") as caught:
        quantity.parse(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("value", [True, False, float("inf"), float("nan"), "1" * 10_000])
def test_truth_infinity_and_endless_digits_are_no_quantities(value: str | float) -> None:
    """Even where Python would count with them."""
    with pytest.raises(ValueError, match="not a quantity"):
        quantity.parse(value)


def test_true_is_refused_even_after_one_was_read() -> None:
    """True equals 1 in Python, but not in a manifest."""
    assert quantity.amount("cpu", 1) == 1000
    with pytest.raises(ValueError, match="True is not a quantity"):
        quantity.amount("cpu", True)


@pytest.mark.parametrize(
    ("resource", "text", "want"),
    [
        ("cpu", "100m", 100),
        ("cpu", "0.1", 100),
        ("cpu", "1n", 1),
        ("cpu", "1.0001", 1001),
        ("memory", "128Mi", 128 * 1024**2),
        ("memory", "0.1", 1),
        ("memory", "1500m", 2),
        ("nvidia.com/gpu", "2", 2),
    ],
)
def test_amounts_are_counted_in_their_unit_rounded_up(resource: str, text: str, want: int) -> None:
    """Processors count in thousandths, everything else in ones."""
    assert quantity.amount(resource, text) == want


@pytest.mark.parametrize(
    ("resource", "amount", "want"),
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 2000, "2"),
        ("cpu", 0, "0"),
        ("memory", 1610612736, "1536Mi"),
        ("memory", 1000, "1000"),
        ("memory", 0, "0"),
        ("ephemeral-storage", 20 * 1024**3, "20Gi"),
        ("hugepages-2Mi", 2 * 1024**2, "2Mi"),
        ("pods", 1024, "1024"),
    ],
)
def test_amounts_are_shown_as_people_write_them(resource: str, amount: int, want: str) -> None:
    """The largest binary suffix for bytes, thousandths only where needed, plain counts."""
    assert quantity.render(resource, amount) == want
