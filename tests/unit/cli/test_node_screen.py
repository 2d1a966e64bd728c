"""How the nodes are drawn, at any width."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from dovetail.cli.node_keys import Viewing
from dovetail.cli.node_screen import Look, frame, room, sums, table
from dovetail.cli.terminal import with_colour
from dovetail.present.board import NodeBox, NodeState, PodBox, PodState, totals
from dovetail.present.node_list import NodeList, NodeListView, SortKey

NOW = datetime(2026, 1, 2, tzinfo=UTC)
BOX = NodeBox(
    name="general-1",
    pool="general",
    zone="us-west-2a",
    instance_type="m7g.large",
    capacity_type="spot",
    state=NodeState.READY,
    price_per_hour=0.0312,
    cpu=(1500, 2000),
    memory=(1024, 8192),
    pods=(PodBox("shop/web-0", 1500, 1024, PodState.RUNNING),),
    claim="general-1-claim",
    created_at=NOW - timedelta(hours=3),
)


def boxes(n_nodes: int) -> tuple[NodeBox, ...]:
    """So many nodes, one in three of which is leaving."""
    return tuple(
        msgspec.structs.replace(
            BOX,
            name=f"general-{number:03d}",
            price_per_hour=0.01 * number,
            state=NodeState.LEAVING if number % 3 == 0 else NodeState.READY,
        )
        for number in range(n_nodes)
    )


def listed(n_nodes: int) -> NodeList:
    """The same as a list."""
    found = boxes(n_nodes)
    return NodeList(NOW, found, totals(found, 2, 0))


def test_without_a_width_everything_is_shown() -> None:
    """As kubectl lays it out."""
    headings, line = (one.plain for one in table([BOX], NOW, Look()))
    assert headings.split() == [
        *("NAME", "STATE", "POOL", "TYPE", "CAPACITY", "ZONE", "$/HOUR", "CPU", "MEMORY"),
        *("PODS", "AGE"),
    ]
    want = "general-1 ready general m7g.large spot us-west-2a 0.0312"
    assert line.split()[:7] == want.split()
    assert line.split()[7:] == ["███████░░░", "75", "%", "█░░░░░░░░░", "12", "%", "1", "3h"]


def test_wide_adds_amounts_and_claims() -> None:
    """In cores and gibibytes."""
    _, line = table([BOX], NOW, Look(is_wide=True))
    assert line.plain.split()[-3:] == ["1.5/2.0", "1.0/8.0Gi", "general-1-claim"]


@pytest.mark.parametrize("is_wide", [False, True])
@pytest.mark.parametrize("width", [1, 8, 20, 40, 60, 80, 100, 120, 200])
def test_no_line_is_wider_than_the_terminal(width: int, *, is_wide: bool) -> None:
    """Whatever must give way."""
    look = Look(width, 10, is_wide=is_wide)
    for line in (*table(boxes(5), NOW, look), sums(listed(5).totals, look)):
        assert line.cell_len <= width
    for line in frame(listed(50), Viewing(), look, trouble="something " * 30):
        assert line.cell_len <= width


def test_columns_give_way_in_the_order_of_their_worth() -> None:
    """Zone before bars, bars before the type; name and price to the last."""
    headings = {
        width: table([BOX], NOW, Look(width))[0].plain.split() for width in (114, 96, 70, 40, 24)
    }
    assert "ZONE" in headings[114]
    assert "ZONE" not in headings[96]
    assert "CPU" in headings[40]
    assert "POOL" not in headings[40]
    assert headings[24][:2] == ["NAME", "$/HOUR"]
    short = table([BOX], NOW, Look(80))[1].plain
    assert "░" in short
    assert "░" not in table([BOX], NOW, Look(40))[1].plain


def test_a_long_name_is_cut_before_a_column_goes() -> None:
    """And one can see that it is."""
    long = msgspec.structs.replace(BOX, name="ip-10-0-141-27.us-west-2.compute.internal")
    headings, line = table([long], NOW, Look(130))
    assert "ZONE" in headings.plain
    assert line.plain.split()[0].endswith("…")


def test_columns_stay_where_they_are_when_the_part_moves() -> None:
    """They are as wide as all nodes need, not only those that are seen."""
    nodes = (*boxes(20), msgspec.structs.replace(BOX, name="a-node-with-a-longer-name"))
    whole = [line.plain for line in table(nodes, NOW, Look(200))]
    for first in (0, 7, 18):
        part = table(nodes, NOW, Look(200), slice(first, first + 5))
        assert [line.plain for line in part] == [whole[0], *whole[1 + first : 6 + first]]


def test_what_could_steer_a_terminal_is_not_shown() -> None:
    """Names come from outside."""
    evil = msgspec.structs.replace(BOX, name="a\x1b[31mb", zone="\x07bell", pool="two\nlines")
    text = table([evil], NOW, Look())[1].plain
    assert "a?[31mb" in text
    assert not set(text) & {"\x1b", "\x07", "\n"}


def test_ascii_alone_where_a_terminal_has_no_more() -> None:
    """Bars too."""
    lines = table([BOX], NOW, Look(100, is_plain=True))
    assert "".join(one.plain for one in lines).isascii()
    assert "#" in lines[1].plain


def test_unknown_things_are_dashes() -> None:
    """A node that nobody knows much of breaks no column."""
    bare = NodeBox("n", "", "", "", "", NodeState.NOT_READY, 0.0, (0, 0), (0, 0), ())
    assert table([bare], NOW, Look())[1].plain.split()[:6] == ["n", "not", "ready", "-", "-", "-"]


def test_a_screen_has_as_many_lines_as_the_terminal() -> None:
    """With sums, headings and keys around the nodes; also where there are none."""
    for n_nodes, height in ((0, 8), (3, 8), (50, 8), (50, 2), (50, 1)):
        assert len(frame(listed(n_nodes), Viewing(), Look(80, height))) == height
    first, gap, headings, *_, last = frame(listed(50), Viewing(), Look(100, 8))
    assert first.plain.startswith("50 nodes, 50 pods, 2 pending; $12.2500 an hour; cpu 75 %")
    assert gap.plain == ""
    assert headings.plain.startswith("NAME")
    assert last.plain.startswith("1-4 of 50  by name")
    assert "q quit" in last.plain


def test_a_screen_shows_the_part_that_was_scrolled_to() -> None:
    """In the order that was asked for."""
    viewing = Viewing(NodeListView(SortKey.PRICE), first=10)
    lines = frame(listed(50), viewing, Look(100, 8))
    assert [line.plain.split()[0] for line in lines[3:7]] == [
        f"general-{number:03d}" for number in (39, 38, 37, 36)
    ]
    assert lines[-1].plain.startswith("11-14 of 50  by price")


def test_the_last_line_says_what_is_typed_and_what_is_wrong() -> None:
    """A filter with a cursor, trouble in words."""
    typing = Viewing(NodeListView(text="spo"), is_typing=True)
    assert frame(listed(5), typing, Look(80, 9))[-1].plain.startswith("filter: spo_")
    kept = frame(listed(5), Viewing(NodeListView(text="000")), Look(120, 9), "Pods: gone")[-1].plain
    assert kept.startswith("1-1 of 1  Pods: gone  by name  filter: 000")
    none = frame(listed(5), Viewing(NodeListView(text="zzz")), Look(80, 9))[-1].plain
    assert none.startswith("0-0 of 0")


def test_room_counts_what_the_filter_leaves() -> None:
    """And what fits between the sums and the keys."""
    found = room(listed(50), Viewing(NodeListView(text="general-00")), Look(80, 24))
    assert (found.n_nodes, found.n_visible) == (10, 20)


def test_lines_are_plain_where_nobody_looks() -> None:
    """No colour reaches a pipe."""
    leaving = msgspec.structs.replace(BOX, state=NodeState.LEAVING)
    assert "\x1b" not in "".join(with_colour(table([leaving], NOW, Look())))
