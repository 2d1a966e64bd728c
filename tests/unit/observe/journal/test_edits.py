"""A list, and what became of it."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.observe.journal.edits import Edit, apply_edit, edit

LINES = st.lists(st.text("abc", max_size=2), max_size=12)


def write(line: object) -> bytes:
    """As msgpack."""
    return msgspec.msgpack.encode(line)


def read(line: msgspec.Raw) -> str:
    """And back."""
    return msgspec.msgpack.decode(line, type=str)


@given(LINES, LINES)
def test_an_edit_makes_the_one_list_of_the_other(before: list[str], after: list[str]) -> None:
    """Whatever left, came or moved, also through the bytes of a file."""
    made = edit(before, after, write)
    if made is None:
        assert before == after
        return
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(made), type=Edit)
    assert apply_edit(before, again, read) == tuple(after)


def test_lists_that_say_the_same_need_no_edit() -> None:
    """Whether or not their lines are the same objects."""
    before = [("a", 1), ("b", 2)]
    assert edit(before, list(before), write) is None
    assert edit(before, [("a", 0 + 1), ("b", 2)], write) is None


def test_only_what_changed_is_written() -> None:
    """In the middle of many, one line."""
    before = [f"line {number}" for number in range(100)]
    after = [*before[:50], "another", *before[51:]]
    made = edit(before, after, write)
    assert made is not None
    assert (made.gone, made.placed) == ((50,), (50,))
    assert [read(one) for one in made.lines] == ["another"]


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(Edit(gone=(5,)), id="a line that is not there"),
        pytest.param(Edit(gone=(0, -1)), id="a line twice"),
        pytest.param(Edit(placed=(9,), lines=(msgspec.Raw(b"\xa1a"),)), id="a place far off"),
        pytest.param(Edit(placed=(0,)), id="a place without a line"),
    ],
)
def test_an_edit_of_some_other_list_is_refused(made: Edit) -> None:
    """Rather than making something up."""
    with pytest.raises(ValueError, match=r"edit|zip"):
        apply_edit(("a", "b"), made, read)
