from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Final

import pytest

from benchmarks.growth.axes import AXES, GROWN_MB, Axis, Grown
from benchmarks.growth.plots import TITLE, described, drawn
from benchmarks.rows import SECONDS

SVG: Final = "{http://www.w3.org/2000/svg}"


def measured(axis: Axis, power: float) -> Grown:
    """An axis along which time and memory follow a power law."""
    sizes = axis.sizes
    figures = {n: {SECONDS: 0.01 * n**power, GROWN_MB: 3.0 * n**0.5} for n in sizes}
    return Grown(axis, figures)


def parsed(series: list[Grown], note: str = "") -> ET.Element:
    """The picture as a tree."""
    return ET.fromstring(drawn(series, note))  # noqa: S314  our own picture


def texts(root: ET.Element) -> list[str]:
    """Everything that can be read, with the zero-width joints taken out."""
    return ["".join(one.itertext()).replace("\u200b", "") for one in root.iter(f"{SVG}text")]


def numbers(one: ET.Element, names: tuple[str, ...]) -> list[float]:
    """These attributes of an element."""
    return [float(one.attrib[name]) for name in names]


def test_the_picture_is_xml_with_a_title_and_a_description() -> None:
    """For whoever has it read out."""
    series = [measured(axis, 0.5) for axis in AXES]
    root = parsed(series)
    assert root.get("role") == "img"
    named = {one.get("id"): one.text for one in root if one.get("id")}
    assert root.get("aria-labelledby") == "title description"
    assert named == {"title": TITLE, "description": described(series)}
    assert "growing as the power 0.50" in described(series)


def test_every_size_is_a_point_in_time_and_memory() -> None:
    """And every plot has a line."""
    root = parsed([measured(axis, 0.5) for axis in AXES])
    points = [one for one in root.iter(f"{SVG}circle") if one.get("class") == "point"]
    assert len(points) == 2 * sum(len(axis.sizes) for axis in AXES)
    lines = [one for one in root.iter(f"{SVG}line") if one.get("class") == "law"]
    assert len(lines) == 2 * 2 * len(AXES)  # the line itself, and its sample in the legend


def test_the_legend_says_the_exponent() -> None:
    """Of all sizes, and of the upper half."""
    assert "as pods1.25, upper half pods1.25" in texts(parsed([measured(AXES[0], 1.25)]))


def test_points_of_a_power_law_lie_on_its_line() -> None:
    """Both ends of the line are points."""
    root = parsed([measured(AXES[0], 0.8)])
    points = list(root.iter(f"{SVG}circle"))[: len(AXES[0].sizes)]
    line = next(one for one in root.iter(f"{SVG}line") if one.get("class") == "law")
    ends = numbers(line, ("x1", "y1", "x2", "y2"))
    first, last = (numbers(one, ("cx", "cy")) for one in (points[0], points[-1]))
    assert ends == pytest.approx([*first, *last], abs=0.11)  # they are written to a tenth


def test_everything_stays_within_the_picture() -> None:
    """Even where nothing grows at all."""
    series = [measured(axis, 0.0) for axis in AXES]
    root = parsed(series)
    width, height = (float(side) for side in (root.get("viewBox") or "").split()[2:])
    for one in root.iter(f"{SVG}circle"):
        x, y = numbers(one, ("cx", "cy"))
        assert 0 < x < width
        assert 0 < y < height


@pytest.mark.parametrize("name", ["<pods>", 'a "quoted" & odd name', "</svg>"])
def test_text_cannot_break_the_picture(name: str) -> None:
    """Names and notes are escaped wherever they stand."""
    axis = AXES[0]._replace(name=name, grows=name, beside=name)
    said = texts(parsed([measured(axis, 1.0)], note=name))
    assert name in said
    assert f"Seconds by {name}" in said


def test_it_is_readable_in_the_dark_and_needs_nothing_from_elsewhere() -> None:
    """Colours follow the reader; no script, no font, no link."""
    text = drawn([measured(AXES[0], 1.0)])
    assert "prefers-color-scheme: dark" in text
    assert not any(word in text for word in ("<script", "@import", "href", "url("))
