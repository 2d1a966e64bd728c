"""Frees memory before the limit is reached.

Go collects garbage harder near its limit. Python frees most things at once; what is left are
cycles, which are looked for rarely, and pages that its allocator keeps. Past nine tenths of the
limit both are given back.
"""

from __future__ import annotations

import ctypes
import gc
import os
from pathlib import Path
from typing import Final

from dovetail.clock import Timer
from dovetail.observe.logs import Log

_SHARE: Final = 0.9
_LOOK_SECONDS: Final = 10.0


def resident_bytes() -> int:
    """How much memory this process holds; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def tidy() -> None:
    """Collect all cycles and give free pages back, where the C library can."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


async def watch_memory(limit_bytes: int, timer: Timer, log: Log) -> None:
    """Look again and again how much memory is held, and tidy up when it is nearly all."""
    while True:
        held = resident_bytes()
        if held > _SHARE * limit_bytes:
            tidy()
            log.warning(
                "memory is nearly used up",
                limit_bytes=limit_bytes,
                held_bytes=held,
                after_bytes=resident_bytes(),
            )
        await timer.sleep(_LOOK_SECONDS)
