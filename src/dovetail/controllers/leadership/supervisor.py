"""Restarts loops that fail, and ends all of them in order.

A loop that raises is told in the log and started again after a wait; the others do not notice. At
the end each loop finishes what it began, for as long as the grace period lasts, and is then cut.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import msgspec

from dovetail.clock import Timer, ends_within, happens_within
from dovetail.model.backoff import Backoff, Chance
from dovetail.observe.logs import Log

GRACE_SECONDS: Final = 20.0  # a pod is killed 30 s after SIGTERM, and the lease must go before
_BACKOFF: Final = Backoff(1.0, 60.0)
_N_FRAMES: Final = 8  # told of an error, the innermost first


class Loop(msgspec.Struct, frozen=True):
    """Work that goes on. With `finish` it is asked to return by itself, having done what it began;
    without, there is nothing to lose, and it is cancelled.
    """

    name: str
    run: Callable[[], Awaitable[None]]
    finish: Callable[[], None] | None = None


class Supervisor:
    """Runs loops side by side until each has returned, or all are stopped."""

    def __init__(
        self,
        loops: Iterable[Loop],
        *,
        timer: Timer,
        chance: Chance,
        log: Log,
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        self._loops = tuple(loops)
        self._timer = timer
        self._chance = chance
        self._log = log
        self._grace_seconds = grace_seconds
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Ask every loop to finish; `run` returns when all have."""
        self._stopping.set()

    async def run(self) -> None:
        """Run all loops; returns when none is left."""
        async with asyncio.TaskGroup() as group:
            running = {
                loop.name: group.create_task(self._keep_running(loop)) for loop in self._loops
            }
            ending = group.create_task(self._finish_all(running))
            await asyncio.wait({*running.values()} or {ending})
            ending.cancel()

    async def _finish_all(self, running: dict[str, asyncio.Task[None]]) -> None:
        """Once stopping: finish what has something to finish, cut the rest."""
        await self._stopping.wait()
        finishing = set()
        for loop in self._loops:
            if loop.finish is None:
                running[loop.name].cancel()
            else:
                finishing.add(running[loop.name])
                self._asked_to_finish(loop, loop.finish)
        if not finishing:
            return
        await ends_within(asyncio.wait(finishing), self._grace_seconds, self._timer)
        for name, task in running.items():
            if not task.done():
                self._log.warning("loop was cut off at the end", loop=name)
                task.cancel()

    def _asked_to_finish(self, loop: Loop, finish: Callable[[], None]) -> None:
        try:
            finish()
        except Exception as error:  # noqa: BLE001  a bug in one loop must not keep the others from ending
            self._log.error(
                "loop could not be asked to finish", loop=loop.name, problem=_error_text(error)
            )

    async def _keep_running(self, loop: Loop) -> None:
        n_failed = 0
        while True:
            began_at = self._timer.elapsed_seconds()
            try:
                return await loop.run()
            except Exception as error:  # noqa: BLE001  the one broad except: a bug in one loop must not stop the others
                if self._timer.elapsed_seconds() - began_at > _BACKOFF.longest_seconds:
                    n_failed = 0  # it went well for long
                n_failed += 1
                wait = _BACKOFF.seconds(n_failed, self._chance)
                self._log.error(
                    "loop failed and starts again",
                    loop=loop.name,
                    problem=_error_text(error),
                    n_failed=n_failed,
                    wait_seconds=round(wait, 3),
                )
            if await happens_within(self._stopping, wait, self._timer):
                return None


def _error_text(error: BaseException) -> str:
    """An error and everything in it, with where it was raised and how that was reached."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(_error_text(exception) for exception in error.exceptions)
    frames = traceback.extract_tb(error.__traceback__)[: -_N_FRAMES - 1 : -1]
    where = " < ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames)
    return f"{type(error).__name__}: {error}" + (f" at {where}" if where else "")
