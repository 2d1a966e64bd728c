"""Computes the next view of the nodes from a view and a key, without a terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from dovetail.present.node_list import NodeListView, SortKey

Key = str  # one character that was typed, or the name of a key

UP: Final = "up"
DOWN: Final = "down"
PAGE_UP: Final = "page up"
PAGE_DOWN: Final = "page down"
HOME: Final = "home"
END: Final = "end"
ENTER: Final = "enter"
ESCAPE: Final = "escape"
BACKSPACE: Final = "backspace"
INTERRUPT: Final = "interrupt"

SORTS: Final[Mapping[Key, SortKey]] = {
    "n": SortKey.NAME,
    "p": SortKey.PRICE,
    "c": SortKey.CPU,
    "m": SortKey.MEMORY,
    "a": SortKey.AGE,
    "o": SortKey.POOL,
}
_LONGEST: Final = 100  # more than anybody looks for
_ALIASES: Final[Mapping[Key, Key]] = {
    "j": DOWN, "k": UP, "g": HOME, "G": END, " ": PAGE_DOWN, "b": PAGE_UP
}  # fmt: skip


class Viewing(msgspec.Struct, frozen=True):
    """What somebody looks at: which nodes in which order, from which on, and whether a filter is
    being typed.
    """

    wish: NodeListView = NodeListView()
    first: int = 0
    is_typing: bool = False
    is_over: bool = False


class ScreenSize(msgspec.Struct, frozen=True):
    """How many nodes there are to see, and how many fit the screen."""

    n_nodes: int
    n_visible: int


def press(viewing: Viewing, key: Key, room: ScreenSize) -> Viewing:
    """The view after a key."""
    if key == INTERRUPT:
        return msgspec.structs.replace(viewing, is_over=True)
    if viewing.is_typing:
        after = _view_after_typing(viewing, key)
        return after if after is not None else _move(viewing, key, room)
    if key in SORTS:
        return _sort_by(viewing, SORTS[key])
    match key:
        case "q":
            return msgspec.structs.replace(viewing, is_over=True)
        case "/":
            return msgspec.structs.replace(viewing, is_typing=True)
        case "escape":
            return _search(viewing, "")
        case _:
            return _move(viewing, _ALIASES.get(key, key), room)


def within(viewing: Viewing, room: ScreenSize) -> Viewing:
    """The same view, scrolled no further than there are nodes."""
    last = max(0, room.n_nodes - room.n_visible)
    return msgspec.structs.replace(viewing, first=max(0, min(viewing.first, last)))


def _view_after_typing(viewing: Viewing, key: Key) -> Viewing | None:
    """The view after a key while a filter is typed; None for a key that types nothing."""
    text = viewing.wish.text
    if key == ENTER:
        return msgspec.structs.replace(viewing, is_typing=False)
    if key == ESCAPE:
        return msgspec.structs.replace(_search(viewing, ""), is_typing=False)
    if key == BACKSPACE:
        return _search(viewing, text[:-1])
    if len(key) == 1 and key.isprintable():
        return _search(viewing, (text + key)[:_LONGEST])
    return None


def _search(viewing: Viewing, text: str) -> Viewing:
    wish = msgspec.structs.replace(viewing.wish, text=text)
    return msgspec.structs.replace(viewing, wish=wish, first=0)


def _sort_by(viewing: Viewing, sort: SortKey) -> Viewing:
    """By this from the top; by the same once more means the other way round."""
    turns = viewing.wish.sort is sort and not viewing.wish.is_reversed
    wish = msgspec.structs.replace(viewing.wish, sort=sort, is_reversed=turns)
    return msgspec.structs.replace(viewing, wish=wish, first=0)


def _move(viewing: Viewing, key: Key, room: ScreenSize) -> Viewing:
    page = max(1, room.n_visible - 1)  # one line stays, to read on from
    steps = {
        UP: -1, DOWN: 1, PAGE_UP: -page, PAGE_DOWN: page, HOME: -room.n_nodes, END: room.n_nodes
    }  # fmt: skip
    moved = msgspec.structs.replace(viewing, first=viewing.first + steps.get(key, 0))
    return within(moved, room)


# ------------------------------------------------------------------ what a terminal sends

_NAMES: Final[Mapping[bytes, Key]] = {
    b"\x1b[A": UP, b"\x1bOA": UP, b"\x1b[B": DOWN, b"\x1bOB": DOWN,
    b"\x1b[5~": PAGE_UP, b"\x1b[6~": PAGE_DOWN,
    b"\x1b[H": HOME, b"\x1bOH": HOME, b"\x1b[1~": HOME, b"\x1b[7~": HOME,
    b"\x1b[F": END, b"\x1bOF": END, b"\x1b[4~": END, b"\x1b[8~": END,
    b"\r": ENTER, b"\n": ENTER, b"\x1b": ESCAPE, b"\x7f": BACKSPACE, b"\x08": BACKSPACE,
    b"\x03": INTERRUPT, b"\x04": INTERRUPT,
}  # fmt: skip
_PIECE: Final = re.compile(
    rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1bO[ -~]|\x1b(?![\[O])|[\x00-\x1a\x1c-\x7f]"
    rb"|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_CUT_SHORT: Final = re.compile(
    rb"\x1b(\[[0-?]*[ -/]*|O)|[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2}"
)


def keys_in(sent: bytes) -> tuple[list[Key], bytes]:
    """The keys that a terminal sent, and the beginning of one that has yet to come whole. Keys
    that mean nothing here are left out.
    """
    keys: list[Key] = []
    at = 0
    while at < len(sent):
        piece = _PIECE.match(sent, at)
        if piece is not None:
            key = _NAMES.get(piece[0]) or _character(piece[0])
            keys += [key] if key else []
            at = piece.end()
        elif _CUT_SHORT.fullmatch(sent, at):
            break
        else:
            at += 1
    return keys, sent[at:]


def _character(piece: bytes) -> Key:
    """What was typed, if that is something to see."""
    text = piece.decode(errors="replace")
    return text if len(text) == 1 and text.isprintable() else ""
