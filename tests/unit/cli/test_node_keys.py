"""What keys do to the view of the nodes."""

from __future__ import annotations

import msgspec
import pytest

from dovetail.cli.node_keys import (
    BACKSPACE,
    DOWN,
    END,
    ENTER,
    ESCAPE,
    HOME,
    INTERRUPT,
    PAGE_DOWN,
    PAGE_UP,
    SORTS,
    UP,
    ScreenSize,
    Viewing,
    keys_in,
    press,
    within,
)
from dovetail.present.node_list import NodeListView, SortKey

ROOM = ScreenSize(n_nodes=50, n_visible=10)


def after(*keys: str, start: Viewing | None = None) -> Viewing:
    """The view once these keys were pressed."""
    viewing = start or Viewing()
    for key in keys:
        viewing = press(viewing, key, ROOM)
    return viewing


@pytest.mark.parametrize(("key", "sort"), SORTS.items())
def test_a_letter_sorts_and_begins_at_the_top(key: str, sort: SortKey) -> None:
    """Wherever one was."""
    far = Viewing(NodeListView(SortKey.AGE if key != "a" else SortKey.NAME), first=30)
    assert after(key, start=far) == Viewing(NodeListView(sort))


def test_the_same_letter_turns_the_order_round_and_back() -> None:
    """And another one begins with its own order."""
    assert after("p", "p").wish == NodeListView(SortKey.PRICE, is_reversed=True)
    assert after("p", "p", "p").wish == NodeListView(SortKey.PRICE)
    assert after("p", "p", "c").wish == NodeListView(SortKey.CPU)


@pytest.mark.parametrize(
    ("keys", "want"),
    [
        pytest.param([DOWN, DOWN, UP], 1, id="line by line"),
        pytest.param(["j", "j", "k"], 1, id="as in vi"),
        pytest.param([PAGE_DOWN], 9, id="a page, less the line to read on from"),
        pytest.param([PAGE_DOWN, PAGE_UP], 0, id="and back"),
        pytest.param([END], 40, id="to the end, which fills the screen"),
        pytest.param([END, DOWN], 40, id="not beyond it"),
        pytest.param([END, HOME, UP], 0, id="nor before the beginning"),
        pytest.param(["G", "g", " "], 9, id="other names of the same keys"),
        pytest.param(["x", "é", "unheard of"], 0, id="keys without meaning"),
    ],
)
def test_keys_scroll_within_what_there_is(keys: list[str], want: int) -> None:
    """No further than the nodes reach."""
    assert after(*keys).first == want


def test_fewer_nodes_than_before_pull_the_view_up() -> None:
    """The screen never shows less than it could."""
    assert within(Viewing(first=40), ScreenSize(12, 10)).first == 2
    assert within(Viewing(first=40), ScreenSize(3, 10)).first == 0


def test_a_filter_is_typed_between_slash_and_enter() -> None:
    """Letters that sort otherwise are letters there; Backspace takes the last one back."""
    typing = after("/", "s", "p", "o", "x", BACKSPACE, "t")
    assert (typing.wish.text, typing.is_typing) == ("spot", True)
    kept = after(ENTER, start=typing)
    assert (kept.wish.text, kept.is_typing, kept.wish.sort) == ("spot", False, SortKey.NAME)
    assert after("/", "s", start=kept).wish.text == "spots"


@pytest.mark.parametrize("keys", [["/", "a", ESCAPE], ["/", "a", ENTER, ESCAPE]])
def test_escape_drops_the_filter(keys: list[str]) -> None:
    """While it is typed, and later."""
    assert after(*keys) == Viewing()


def test_arrows_scroll_while_a_filter_is_typed() -> None:
    """They type nothing."""
    viewing = after("/", "a", DOWN)
    assert (viewing.first, viewing.wish.text, viewing.is_typing) == (1, "a", True)


def test_a_filter_has_an_end() -> None:
    """However long somebody leans on the keyboard."""
    assert len(after("/", *"x" * 500).wish.text) == 100


@pytest.mark.parametrize("keys", [["q"], [INTERRUPT], ["/", INTERRUPT]])
def test_it_ends_with_q_and_whenever_interrupted(keys: list[str]) -> None:
    """While a filter is typed, q is a letter."""
    assert after(*keys).is_over
    assert after("/", "q").wish.text == "q"
    assert not after("/", "q").is_over


@pytest.mark.parametrize(
    ("sent", "want", "rest"),
    [
        pytest.param(b"pq", ["p", "q"], b"", id="letters"),
        pytest.param(b"\x1b[A\x1bOB", [UP, DOWN], b"", id="arrows, in either mode"),
        pytest.param(
            b"\x1b[5~\x1b[6~\x1b[H\x1b[4~", [PAGE_UP, PAGE_DOWN, HOME, END], b"", id="pages"
        ),
        pytest.param(b"\x1b", [ESCAPE], b"", id="escape alone"),
        pytest.param(b"\x1b[", [], b"\x1b[", id="a sequence cut in two"),
        pytest.param(b"a\x1b[1;5", ["a"], b"\x1b[1;5", id="one with figures cut in two"),
        pytest.param(b"\x1b[1;5Cx", ["x"], b"", id="a sequence that means nothing"),
        pytest.param("é€".encode(), ["é", "€"], b"", id="letters of several bytes"),
        pytest.param("é".encode()[:1], [], "é".encode()[:1], id="half a letter"),
        pytest.param(b"\xff\xfea", ["a"], b"", id="no text at all"),
        pytest.param(
            b"\r\x7f\x03\x00", [ENTER, BACKSPACE, INTERRUPT], b"", id="control characters"
        ),
    ],
)
def test_what_a_terminal_sends_is_read_as_keys(sent: bytes, want: list[str], rest: bytes) -> None:
    """What is not whole yet waits for the rest."""
    assert keys_in(sent) == (want, rest)


def test_keys_cut_anywhere_are_the_same_keys() -> None:
    """A slow line changes nothing; but for Escape, which is the beginning of others."""
    whole = b"a\x1b[B\xc3\xa9\x1b[6~/"
    for at in range(len(whole) + 1):
        if whole[at - 1 : at] == b"\x1b":
            continue
        first, rest = keys_in(whole[:at])
        second, left = keys_in(rest + whole[at:])
        assert (first + second, left) == (["a", DOWN, "é", PAGE_DOWN, "/"], b"")


def test_views_are_values() -> None:
    """The same keys make the same view."""
    assert after("/", "a", ENTER, DOWN) == msgspec.structs.replace(
        Viewing(NodeListView(text="a")), first=1
    )
