"""Is the page quick on a large cluster? `python -m benchmarks.page` shows one of 1,000 nodes.

Measured in a real browser: how long it takes from the request until nodes are drawn, and how long
one change of 20 nodes takes, on the server (a look at the cluster, and JSON) and in the page.
Needs chromium. Exit code 1 when a figure is missed.
"""

from __future__ import annotations

import asyncio
import sys
import time
from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import Final

import msgspec

from benchmarks.packed import packed_cluster
from dovetail.errors import InputError
from dovetail.model.snapshot import Snapshot
from dovetail.present.explanation import Explanation
from dovetail.web.dashboard.lookout import Lookout, PageUpdate
from dovetail.web.dashboard.server import DashboardContent, ListenAddress, serving
from dovetail.web.dashboard.stream import Stream
from tests.browser.chromium import browser

_NOW: Final = datetime(2026, 1, 5, 12, tzinfo=UTC)
_N_PODS: Final = 15_000
_LOADS_MS: Final = 1000.0
_UPDATES_MS: Final = 100.0
_CHANGED: Final = 20
_LOOKS: Final = 25


class _Cluster:
    """A cluster in which 20 nodes change at every look."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._n_looks = 0
        self.took: list[float] = []

    def view(self) -> tuple[Snapshot, datetime]:
        """The cluster at the next moment."""
        self._n_looks += 1
        start = self._n_looks * _CHANGED % len(self._snapshot.nodes)
        nodes = list(self._snapshot.nodes)
        for place in range(start, min(start + _CHANGED, len(nodes))):
            one = nodes[place]
            nodes[place] = msgspec.structs.replace(one, is_unschedulable=not one.is_unschedulable)
        self._snapshot = msgspec.structs.replace(self._snapshot, nodes=tuple(nodes))
        return self._snapshot, _NOW + timedelta(seconds=self._n_looks)


async def _explain(what: str) -> Explanation:
    msg = f"nobody answers about {what} here"
    raise InputError(msg)


def _serve(cluster: _Cluster, ports: list[int], loops: list[asyncio.AbstractEventLoop]) -> None:
    async def run() -> None:
        stream = Stream(_Timed(cluster.took), cluster.view)
        async with serving(DashboardContent(stream, _explain), ListenAddress(0)) as port:
            loops.append(asyncio.get_running_loop())
            ports.append(port)
            await stream.run()

    try:
        asyncio.run(run())
    except (RuntimeError, asyncio.CancelledError):
        return


class _Timed(Lookout):
    """Takes down how long each look takes, JSON included."""

    def __init__(self, took: list[float]) -> None:
        super().__init__()
        self._took = took

    def look(self, snapshot: Snapshot, now: datetime) -> PageUpdate:
        """As always, and measured."""
        begun = time.perf_counter()
        change = super().look(snapshot, now)
        msgspec.json.encode(change)
        self._took.append((time.perf_counter() - begun) * 1000)
        return change


def main() -> int:
    """Measure, print, and say whether all is met."""
    snapshot = packed_cluster(_N_PODS, 1)
    print(f"{len(snapshot.nodes)} nodes, {len(snapshot.pods)} pods")
    cluster, ports, loops = _Cluster(snapshot), list[int](), list[asyncio.AbstractEventLoop]()
    Thread(target=_serve, args=(cluster, ports, loops), daemon=True).start()
    while not ports:
        time.sleep(0.05)
    with browser() as opened:
        page = opened.new_page(bypass_csp=True)  # else nobody can wait for an expression
        begun = time.perf_counter()
        page.goto(f"http://127.0.0.1:{ports[0]}/")
        page.wait_for_function(
            f"document.querySelectorAll('.node').length >= {len(snapshot.nodes)}"
        )
        loaded = (time.perf_counter() - begun) * 1000
        wanted = f"performance.getEntriesByName('heard').length > {_LOOKS}"
        page.wait_for_function(wanted, timeout=60_000)
        heard: list[float] = page.evaluate(
            "performance.getEntriesByName('heard').slice(1).map((one) => one.duration)"
        )
    told, drawn = _median(cluster.took[1:]), _median(heard)
    print(f"page with all nodes drawn   {loaded:7.0f} ms   ({_LOADS_MS:.0f} asked)")
    print(f"a change: look and encode   {told:7.1f} ms")
    print(f"a change: drawn in the page {drawn:7.1f} ms")
    print(f"together                    {told + drawn:7.1f} ms   ({_UPDATES_MS:.0f} asked)")
    loops[0].call_soon_threadsafe(loops[0].stop)
    return int(loaded > _LOADS_MS or told + drawn > _UPDATES_MS)


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


if __name__ == "__main__":
    sys.exit(main())
