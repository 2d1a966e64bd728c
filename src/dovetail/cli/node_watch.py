"""Redraws the view of the nodes when they change and when a key is pressed.

Time passes on the screen too: ages are drawn anew every few seconds.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Final

import msgspec

from dovetail.cli.node_keys import Viewing, keys_in, press, within
from dovetail.cli.node_screen import SIGNS, Look, frame, room
from dovetail.cli.output import Progress
from dovetail.cli.render import is_plain
from dovetail.cli.terminal import Terminal
from dovetail.clock import LoopTimer, SystemClock, happens_within
from dovetail.live.following import Following, Whose, follow
from dovetail.present.node_list import NodeList, NodeListView, node_list

_LOOK_SECONDS: Final = 0.5  # between two looks at a cluster in which much happens
_AGE_SECONDS: Final = 5.0

Handlers = Mapping[signal.Signals, Callable[[], None]]


def watch(whose: Whose, wish: NodeListView, *, is_wide: bool) -> None:
    """Show the nodes until somebody has seen enough. Raises InputError."""
    look = Look(is_wide=is_wide, is_plain=is_plain(SIGNS))
    with ExitStack() as reading:
        reading.enter_context(Progress()).tell("reading the cluster")
        asyncio.run(_watch(whose, Viewing(wish), look, reading.close))


async def _watch(whose: Whose, viewing: Viewing, look: Look, has_read: Callable[[], None]) -> None:
    changed = asyncio.Event()

    async def show(cluster: Following) -> None:
        has_read()
        with Terminal() as terminal:
            await _Screen(terminal, viewing, look, changed).show(cluster)

    await follow(whose, show, changed.set)


class _Screen:
    """One person's look at the nodes of a cluster. `changed` says that there is something new."""

    def __init__(
        self, terminal: Terminal, viewing: Viewing, look: Look, changed: asyncio.Event
    ) -> None:
        self._terminal = terminal
        self._viewing = viewing
        self._look = look
        self._changed = changed
        self._unread = b""
        self._woken = asyncio.Event()
        self._clock, self._timer = SystemClock(), LoopTimer()

    async def show(self, cluster: Following) -> None:
        """Draw until it is over."""
        handlers: Handlers = {
            signal.SIGWINCH: self._woken.set,
            signal.SIGTSTP: self._step_aside,
            signal.SIGINT: self._end,
            signal.SIGTERM: self._end,
        }
        with _hear(self._terminal.keys, self._read, handlers):
            listed = self._list_nodes(cluster)
            while True:
                if self._changed.is_set():
                    listed = self._list_nodes(cluster)
                self._press(listed)
                if self._viewing.is_over:
                    return
                aged = msgspec.structs.replace(listed, now=self._clock.now())
                lines = frame(aged, self._viewing, self._look, cluster.trouble())
                self._terminal.draw(lines)
                await self._rest()

    def _list_nodes(self, cluster: Following) -> NodeList:
        self._changed.clear()
        now = self._clock.now()
        return node_list(cluster.snapshot(now), now)

    async def _rest(self) -> None:
        """Until a key is pressed, something is new, or what is shown has grown old."""
        for _ in range(round(_AGE_SECONDS / _LOOK_SECONDS)):
            if await happens_within(self._woken, _LOOK_SECONDS, self._timer):
                break
            if self._changed.is_set():
                break
        self._woken.clear()

    def _press(self, listed: NodeList) -> None:
        """Let the keys that were pressed meanwhile have their effect."""
        columns, lines = self._terminal.size
        self._look = msgspec.structs.replace(self._look, width=columns, height=lines)
        keys, self._unread = keys_in(self._unread)
        for key in keys:
            fits = room(listed, self._viewing, self._look)
            self._viewing = press(self._viewing, key, fits)
        self._viewing = within(self._viewing, room(listed, self._viewing, self._look))

    # ---- what is heard

    def _read(self) -> None:
        sent = self._terminal.read_sent()
        if not sent:  # nobody is at the keys any more
            self._end()
        self._unread += sent
        self._woken.set()

    def _end(self) -> None:
        self._viewing = msgspec.structs.replace(self._viewing, is_over=True)
        self._woken.set()

    def _step_aside(self) -> None:
        """Ctrl-Z: the shell gets its terminal back, and we ours when we are called again."""
        self._terminal.leave()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._terminal.enter()
        self._woken.set()


@contextmanager
def _hear(keys: int, read: Callable[[], None], handlers: Handlers) -> Iterator[None]:
    """Hear keys and signals for as long as the block lasts."""
    loop = asyncio.get_running_loop()
    loop.add_reader(keys, read)
    for number, handle in handlers.items():
        loop.add_signal_handler(number, handle)
    try:
        yield
    finally:
        loop.remove_reader(keys)
        for number in handlers:
            loop.remove_signal_handler(number)
