"""How a plan is drawn."""

from __future__ import annotations

import io
import sys

import pytest

from dovetail.cli.render import plan_text
from dovetail.present.table import (
    DisruptionRow,
    ExistingRow,
    Fill,
    NodeRow,
    PlanTable,
    StayingRow,
    WaitingRow,
)

ROW = NodeRow(
    count=12,
    node_pool="general",
    instance_type="m6g.2xlarge",
    capacity_type="spot",
    zone="us-west-2a",
    price_nanousd=1_480_800_000,
    cpu=Fill("cpu", 93, 100),
    memory=Fill("memory", 1, 2),
    devices=(Fill("nvidia.com/gpu", 3, 4),),
    n_pods=77,
    n_fallbacks=41,
)
TABLE = PlanTable(
    nodes=(ROW,),
    existing=(ExistingRow("node-1", 2, "a/x, a/y"),),
    disruptions=(DisruptionRow("Empty", "node-9", "", 0, 500_000_000, ()),),
    staying=(StayingRow("node-7", "A pod forbids it.", "ask the pod"),),
    waiting=(WaitingRow("a/z", 1, "It waits.", ("gpu: a taint (TaintNotTolerated)",), "wait"),),
    totals=("12 new nodes.",),
)
EMPTY = PlanTable((), (), (), (), (), ("0 new nodes.",))


def test_everything_a_person_wants_is_there() -> None:
    """Nodes, how full, what they cost, what stays, what goes, what waits and what would help."""
    text = plan_text(TABLE, is_wide=False, notes=["figures are examples"])
    for words in (
        "12 x m6g.2xlarge spot us-west-2a",
        "1.4808",
        "93 %",
        "50 %",
        "3/4 nvidia.com/gpu",
        "node-1",
        "a/x, a/y",
        "node-9",
        "node-7",
        "A pod forbids it.",
        "nothing",
        "0.5000",
        "1 pod unschedulable",
        "It waits.",
        "What would help: wait",
        "12 new nodes.",
        "Note: figures are examples",
    ):
        assert words in text


def test_wide_adds_pods_fallbacks_and_reasons() -> None:
    """A single reason is in the sentence already; wide spells it out."""
    narrow, wide = plan_text(TABLE, is_wide=False), plan_text(TABLE, is_wide=True)
    for words in ("77", "41", "- gpu: a taint (TaintNotTolerated)"):
        assert words in wide
        assert words not in narrow


class Terminal(io.StringIO):
    """A stdout that somebody looks at."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        """It is a terminal."""
        return True


def test_no_color_means_no_escape_codes_even_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without it a terminal gets them, so the test can fail."""
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in plan_text(TABLE, is_wide=False)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in plan_text(TABLE, is_wide=False)


def test_a_stdout_without_unicode_gets_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bars and rules are drawn with what it can show."""
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert plan_text(TABLE, is_wide=True).isascii()


def test_an_empty_plan_has_no_empty_tables() -> None:
    """Only the total is left."""
    assert plan_text(EMPTY, is_wide=False) == "0 new nodes.\n"


@pytest.mark.parametrize("columns", [30, 60, 75, 100, 140])
def test_no_line_is_longer_than_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """And none ends in blanks."""
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = plan_text(TABLE, is_wide=True).splitlines()
    assert max(map(len, lines)) <= max(columns, len("    - (TaintNotTolerated)"))
    assert all(line == line.rstrip() for line in lines)


def test_a_tiny_terminal_gets_lines_instead_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same facts."""
    monkeypatch.setenv("COLUMNS", "60")
    text = plan_text(TABLE, is_wide=False)
    assert "12 x m6g.2xlarge spot us-west-2a\n" in text
    assert "cpu 93 %" in text
