"""Whether what the page shows can be told from what is behind it, in both themes."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

TEXT = ("ink", "quiet", "good", "bad", "accent")
SHAPES = ("running", "starting", "leaving", "daemon", "bad", "edge", "focus")
GROUNDS = ("card", "room")


def _themes() -> dict[str, dict[str, str]]:
    """The colours of each theme by name."""
    css = (files("dovetail.web.dashboard") / "pages" / "style.css").read_text()
    light, dark = re.findall(r"^:root.*?\{(.*?)^\}", css, re.DOTALL | re.MULTILINE)
    return {
        name: dict(re.findall(r"--(\w+): (#\w+)", block))
        for name, block in (("light", light), ("dark", dark))
    }


def _luminance(colour: str) -> float:
    digits = colour.removeprefix("#")
    digits = "".join(2 * one for one in digits) if len(digits) == 3 else digits
    shares = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (
        one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in shares
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_black_on_white_is_the_most() -> None:
    """As WCAG 2.2 defines it."""
    assert _contrast("#000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    ("names", "least"),
    [pytest.param(TEXT, 4.5, id="text"), pytest.param(SHAPES, 3.0, id="shapes")],
)
def test_colours_stand_out(theme: str, names: tuple[str, ...], least: float) -> None:
    """Against a card, and against the room inside a node."""
    colours = _themes()[theme]
    found = {(a, b): _contrast(colours[a], colours[b]) for a in names for b in GROUNDS}
    assert {pair: ratio for pair, ratio in found.items() if ratio < least} == {}
