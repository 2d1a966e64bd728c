from __future__ import annotations

import re
from html.parser import HTMLParser

from dovetail.sim.report.page import Line, Plot, describe, page, plots, svg, thin_out, tick_values
from dovetail.sim.report.sides import labels, sides
from dovetail.sim.scenario.case import Decider
from tests.unit.sim.report.outcomes import outcome, report

NASTY = '<script>alert("x")</script>&\'"'
VOID = {"meta", "line", "polyline"}


class Tags(HTMLParser):
    """Every tag, with its attributes, and whether all that was opened was closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One more."""
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One that is closed at once."""
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """One less."""
        assert self.open.pop() == tag


def drawn(title: str = "A day") -> str:
    """The page of two policies."""
    both = [outcome(Decider.REFERENCE, title=title), outcome(title=title)]
    return page(sides(both), notes=(title,), is_compared=True)


def test_everything_that_is_opened_is_closed() -> None:
    """A browser need not guess."""
    assert Tags(drawn()).open == []


def test_the_page_needs_nothing_else() -> None:
    """No script, no link, no image, and the browser is told to fetch nothing."""
    found = Tags(drawn())
    assert not {tag for tag, _ in found.seen} & {"script", "link", "img", "iframe", "object"}
    assert not any({"src", "href", "style"} & set(held) for _, held in found.seen)
    assert not any(name.startswith("on") for _, held in found.seen for name in held)
    assert "default-src 'none'" in drawn()


def test_whatever_comes_from_a_scenario_is_escaped() -> None:
    """Titles, settings, notes and file names may hold anything."""
    held = [outcome(title=NASTY, settings=((NASTY, NASTY),)), outcome(file=NASTY, title=NASTY)]
    text = page(sides(held), notes=(NASTY,), is_compared=True)
    assert "script" not in {tag for tag, _ in Tags(text).seen}
    assert NASTY not in text


def test_every_plot_has_a_title_a_description_and_a_table() -> None:
    """For those who do not see it."""
    found = Tags(drawn())
    images = [held for tag, held in found.seen if held.get("role") == "img"]
    assert len(images) == 6
    names = {held["id"] for tag, held in found.seen if tag in {"title", "desc"} and "id" in held}
    for held in images:
        assert set((held["aria-labelledby"] or "").split()) <= names
    assert sum(tag == "details" for tag, _ in found.seen) == 6


def test_lines_can_be_told_apart_without_colour() -> None:
    """Each has its own dashes."""
    text = drawn()
    styles = re.findall(r"\.s(\d) \{ stroke: var\(--s\d\); stroke-dasharray: ([\d ]+);", text)
    assert len({dashes for _, dashes in styles}) == len(styles) == 5


def test_the_page_follows_the_readers_theme() -> None:
    """Light and dark."""
    assert "prefers-color-scheme: dark" in drawn()


def test_of_many_runs_only_some_are_drawn_and_that_is_said() -> None:
    """The tables have them all."""
    many = sides(outcome(settings=(("seed", str(n)),)) for n in range(9))
    text = page(many, notes=(), is_compared=False)
    assert "Only the first 6 runs are drawn." in text
    assert "seed=8" in text


def test_a_day_without_samples_is_drawn_as_well() -> None:
    """There is nothing to see, and nothing breaks."""
    held = sides([outcome(report=report(n_samples=0))])
    assert Tags(page(held, notes=(), is_compared=False)).open == []


def test_a_description_says_what_the_lines_do() -> None:
    """Between what and what, and where it ends."""
    held = sides([outcome()])
    nodes = next(one for one in plots(held, labels(held)) if one.name == "nodes")
    assert describe(nodes) == "dovetail: between 3 and 5, at the end 5."


def test_ticks_are_round_and_reach_the_highest() -> None:
    """Of any size."""
    assert tick_values(0.0) == [0.0, 1.0]
    assert tick_values(97.0) == [0, 20, 40, 60, 80, 100]
    assert tick_values(0.0021)[-1] >= 0.0021


def test_very_many_points_are_thinned_out_and_the_last_is_kept() -> None:
    """A month would be a line of megabytes."""
    points = tuple((float(at), float(at)) for at in range(10_000))
    kept = thin_out(points)
    assert len(kept) < 700
    assert kept[-1] == points[-1]
    plot = Plot("x", "X", (Line("a", points),), str)
    assert len(svg(plot)) < 20_000
