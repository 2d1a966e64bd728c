"""Profiles time and memory of a running program over HTTP, under the names of Go's profiles.

/debug/pprof/profile?seconds=10   what every thread did, as collapsed stacks (flame graphs)
/debug/pprof/goroutine            what every task and thread waits for now
/debug/pprof/heap                 what memory holds
"""

from __future__ import annotations

import asyncio
import gc
import math
import sys
import threading
import tracemalloc
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from types import FrameType
from typing import Final

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

ROOT: Final = "/debug/pprof/"
_LONGEST_SECONDS: Final = 60.0
_USUAL_SECONDS: Final = 30.0
_SAMPLES_PER_SECOND: Final = 100
_DEEPEST: Final = 200  # frames of a stack that are told
_MOST_LINES: Final = 100
_INDEX: Final = (
    ("profile", "what every thread does, sampled for ?seconds=N (at most 60): collapsed stacks"),
    ("goroutine", "what every task and thread does at this moment"),
    ("threadcreate", "what every thread does at this moment"),
    (
        "heap",
        "what memory holds: by line when Python traces it (PYTHONTRACEMALLOC=1), else by type",
    ),
    ("allocs", "the same"),
    ("cmdline", "how the program was started"),
)


class Profiler:
    """Answers these questions, one sampling at a time."""

    def __init__(self, pause: Callable[[float], bool] | None = None) -> None:
        self._stopping = threading.Event()
        self._pause = pause or self._stopping.wait
        self._is_sampling = False

    def stop(self) -> None:
        """End a sampling that is under way; it answers with what it has."""
        self._stopping.set()

    def routes(self) -> list[web.RouteDef]:
        """Everything under /debug/pprof/."""
        return [
            web.get(ROOT, _text(_index)),
            web.get(ROOT.rstrip("/"), _text(_index)),
            web.get(ROOT + "cmdline", _text(lambda: "\0".join(sys.orig_argv))),
            web.get(ROOT + "goroutine", _text(lambda: tasks_text() + threads_text())),
            web.get(ROOT + "threadcreate", _text(threads_text)),
            web.get(ROOT + "heap", _heap),
            web.get(ROOT + "allocs", _heap),
            web.get(ROOT + "profile", self._profile),
        ]

    async def _profile(self, request: web.Request) -> web.Response:
        seconds = _seconds(request.query.get("seconds", ""))
        if seconds is None:
            msg = f"seconds: expected a number above 0 and at most {_LONGEST_SECONDS:g}\n"
            return web.Response(status=400, text=msg)
        if self._is_sampling:
            return web.Response(status=429, text="another profile is being taken; try again\n")
        self._is_sampling = True
        try:
            counts = await asyncio.to_thread(sample, seconds, self._pause)
        finally:
            self._is_sampling = False
        lines = (f"{stack} {count}\n" for stack, count in counts.most_common())
        return web.Response(text="".join(lines))


def _seconds(given: str) -> float | None:
    """How long to sample; None for what makes no sense."""
    if not given:
        return _USUAL_SECONDS
    try:
        seconds = float(given[:32])
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and 0 < seconds <= _LONGEST_SECONDS else None


def sample(seconds: float, pause: Callable[[float], bool]) -> Counter[str]:
    """How often each stack was seen; `pause` waits, and says whether to stop. Runs in a thread."""
    counts: Counter[str] = Counter()
    own = threading.get_ident()
    for _ in range(max(1, round(seconds * _SAMPLES_PER_SECOND))):
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        for ident, frame in sys._current_frames().items():  # noqa: SLF001  the interpreter's own way, documented
            if ident != own:
                counts[collapse(names.get(ident, str(ident)), frame)] += 1
        if pause(1 / _SAMPLES_PER_SECOND):
            break
    return counts


def collapse(name: str, frame: FrameType | None) -> str:
    """A stack on one line, the outermost call first."""
    parts = [
        _clean_name(f"{_module(item)}:{item.f_code.co_qualname}") for item in _outer_frames(frame)
    ]
    return ";".join([_clean_name(name), *reversed(parts)])


def _outer_frames(frame: FrameType | None) -> Iterator[FrameType]:
    for _ in range(_DEEPEST):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "?"))


def _clean_name(text: str) -> str:
    return text.replace(";", ",").replace("\n", " ").replace(" ", "_")


def tasks_text() -> str:
    """What each task of this loop waits for."""
    tasks = sorted(asyncio.all_tasks(), key=lambda task: task.get_name())
    parts = [f"{len(tasks)} tasks\n\n"]
    for task in tasks:
        frames = task.get_stack(limit=_DEEPEST)
        lines = (f"    {_at(frame)}\n" for frame in frames)
        parts.append(f"task {task.get_name()}\n{''.join(lines)}\n")
    return "".join(parts)


def threads_text() -> str:
    """What each thread does."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = [f"{len(names)} threads\n\n"]
    for ident, frame in sorted(sys._current_frames().items()):  # noqa: SLF001  the interpreter's own way, documented
        lines = "".join(f"    {_at(outward)}\n" for outward in _outer_frames(frame))
        parts.append(f"thread {names.get(ident, ident)}\n{lines}\n")
    return "".join(parts)


def _at(frame: FrameType) -> str:
    return f"{frame.f_code.co_qualname} {frame.f_code.co_filename}:{frame.f_lineno}"


def heap_text() -> str:
    """What memory holds: by line where Python keeps track of it, else how many of each type."""
    if tracemalloc.is_tracing():
        used, peak = tracemalloc.get_traced_memory()
        top = tracemalloc.take_snapshot().statistics("lineno")[:_MOST_LINES]
        lines = (f"{item.size:>14} {item.count:>10}  {item.traceback}\n" for item in top)
        return f"{used} bytes held, {peak} at most\n\n         bytes    objects  line\n" + "".join(
            lines
        )
    counts = Counter(
        f"{type(item).__module__}.{type(item).__qualname__}" for item in gc.get_objects()
    )
    lines = (f"{count:>14}  {name}\n" for name, count in counts.most_common(_MOST_LINES))
    return (
        f"{counts.total()} objects that the collector of cycles knows; frozen nouns are none of "
        "them.\nStart with PYTHONTRACEMALLOC=1 to see bytes by line.\n\n       objects  type\n"
    ) + "".join(lines)


async def _heap(request: web.Request) -> web.Response:
    del request
    return web.Response(text=await asyncio.to_thread(heap_text))


def _index() -> str:
    lines = (f"{ROOT}{name:<14} {about}\n" for name, about in _INDEX)
    return "profiles of this process\n\n" + "".join(lines)


def _text(content: Callable[[], str]) -> Handler:
    async def answer(request: web.Request) -> web.Response:
        del request
        return web.Response(text=content())

    return answer
