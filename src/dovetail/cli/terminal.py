"""Takes over a terminal and restores it; the only module that uses termios."""

from __future__ import annotations

import os
import sys
import termios
import tty
from collections.abc import Sequence
from typing import Final, Self

from rich.text import Text

from dovetail.cli.render import console

_ENTER: Final = "\x1b[?1049h\x1b[?25l"  # the other screen, and no cursor
_LEAVE: Final = "\x1b[?25h\x1b[?1049l"
_TOP: Final = "\x1b[H"
_CLEAR_LINE: Final = "\x1b[2K"  # before it is written: afterwards it would take a last column along
_AT_ONCE: Final = 4096


def is_interactive() -> bool:
    """Whether there is somebody to see and to press keys, at a terminal that can be drawn on."""
    can_draw = os.environ.get("TERM", "dumb") not in {"", "dumb"}
    return can_draw and sys.stdin.isatty() and sys.stdout.isatty()


def with_colour(lines: Sequence[Text]) -> list[str]:
    """Lines as a terminal takes them; coloured only where stdout is one and NO_COLOR is not set."""
    paper = console(10_000)
    made = []
    for line in lines:
        with paper.capture() as caught:
            paper.print(line, end="", soft_wrap=True)
        made.append(caught.get())
    return made


class Terminal:
    """A terminal for as long as the block lasts: keys come one by one, unseen, and what is drawn
    takes the place of what was there. Afterwards it is as before.
    """

    def __init__(self) -> None:
        self.keys = sys.stdin.fileno()
        self._before = termios.tcgetattr(self.keys)

    def __enter__(self) -> Self:
        self.enter()
        return self

    def __exit__(self, *raised: object) -> None:
        self.leave()

    def enter(self) -> None:
        """Take it over."""
        tty.setcbreak(self.keys)
        self._write(_ENTER)

    def leave(self) -> None:
        """Give it back."""
        self._write(_LEAVE)
        termios.tcsetattr(self.keys, termios.TCSADRAIN, self._before)

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines, as they are now."""
        terminal = os.get_terminal_size(sys.stdout.fileno())
        return max(1, terminal.columns), max(1, terminal.lines)

    def read_sent(self) -> bytes:
        """What was typed since the last time."""
        return os.read(self.keys, _AT_ONCE)

    def draw(self, lines: Sequence[Text]) -> None:
        """Show these lines, from the top."""
        body = "\r\n".join(f"{_CLEAR_LINE}{line}" for line in with_colour(lines))
        self._write(f"{_TOP}{body}")

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
