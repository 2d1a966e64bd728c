"""Checks that the API answers and knows our kinds, for /readyz, and frees memory near the limit.

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

from dovetail import api
from dovetail.clock import Timer
from dovetail.kube.errors import ApiError, NotFoundError
from dovetail.kube.seam import Reader, Scope
from dovetail.observe.logs import Log

_KINDS: Final = tuple(api.KINDS["karpenter.sh", name] for name in ("NodePool", "NodeClaim"))
_AGAIN_SECONDS: Final = 1.0
_REPAIR: Final = "install it with: dovetail crds | kubectl apply --server-side -f -"


class Readiness:
    """What stands in the way, for /readyz; found out again and again until nothing does."""

    def __init__(self, kube: Reader, timer: Timer, log: Log, server: str) -> None:
        self._kube = kube
        self._timer = timer
        self._log = log
        self._server = server
        self._problems: tuple[str, ...] = (f"{server} has not answered yet",)

    def problems(self) -> tuple[str, ...]:
        """One line for each thing that is missing; none when ready."""
        return self._problems

    async def run(self) -> None:
        """Look until everything is there."""
        while True:
            problems = [problem for kind in _KINDS if (problem := await self._problem(kind))]
            for problem in problems:
                if problem not in self._problems:
                    self._log.warning("not ready", problem=problem)
            self._problems = tuple(problems)
            if not problems:
                return
            await self._timer.sleep(_AGAIN_SECONDS)

    async def _problem(self, kind: api.Kind) -> str:
        try:
            await self._kube.list(Scope(kind), limit=1)
        except NotFoundError:
            return f"the CRD {kind.plural}.{kind.group} is not installed; {_REPAIR}"
        except ApiError as error:
            return f"{self._server} cannot be asked for {kind.plural}.{kind.group}: {error}"
        return ""


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
        n_bytes = resident_bytes()
        if n_bytes > _SHARE * limit_bytes:
            tidy()
            log.warning(
                "memory is nearly used up",
                limit_bytes=limit_bytes,
                held_bytes=n_bytes,
                after_bytes=resident_bytes(),
            )
        await timer.sleep(_LOOK_SECONDS)
