"""Two clusters alike, to type the same commands at: one in this process, one with a real server.

Both have the same definitions and the same stand-ins for scheduler, kubelets and workload
controllers, so that whatever differs is the API server's doing. What belongs to the garbage
collector and to namespaces is done by kube-controller-manager there, and by the server itself here.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from dovetail.apiserver import MemoryKube
from dovetail.apiserver.http.server import serve
from dovetail.clock import LoopTimer, SystemClock
from dovetail.kube.http import kubeconfig
from dovetail.kube.http.client import HttpKube
from dovetail.kube.http.transport import HttpSettings, World
from dovetail.sim.world import run_world
from tests.controlplane.plane import ControlPlane

CONTEXT = "session"
_READY_SECONDS = 240
_SETTINGS = HttpSettings(requests_per_second=2000.0, burst=2000)


@dataclass(frozen=True)
class Twins:
    """Where the two are: folders, each with a kubeconfig and room for files."""

    ours: Path
    real: Path


@contextmanager
def twins(plane: ControlPlane, folder: Path) -> Iterator[Twins]:
    """Both clusters alive, for as long as the block lasts."""
    pair = Twins(folder / "ours", folder / "real")
    for one in (pair.ours, pair.real):
        one.mkdir()
    _write(pair.real, plane.kubeconfig.read_text())
    life = _Life(pair)
    thread = threading.Thread(target=life.run)
    thread.start()
    try:
        assert life.is_up.wait(_READY_SECONDS), "the clusters did not come up"
        yield pair
    finally:
        life.stop()
        thread.join()


class _Life:
    """What goes on in both clusters, in a thread of its own."""

    def __init__(self, pair: Twins) -> None:
        self.is_up = threading.Event()
        self._pair = pair
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()

    def run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._live())

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)

    async def _live(self) -> None:
        clock, timer = SystemClock(), LoopTimer()
        kube = MemoryKube(clock)
        async with (
            serve(kube, clock=clock, timer=timer) as served,
            _real(self._pair.real) as real,
            asyncio.TaskGroup() as group,
        ):
            _write(self._pair.ours, served.kubeconfig())
            worlds = [group.create_task(run_world(one, clock, timer)) for one in (kube, real)]
            self.is_up.set()
            await self._stopping.wait()
            for world in worlds:
                world.cancel()


@asynccontextmanager
async def _real(folder: Path) -> AsyncIterator[HttpKube]:
    access = kubeconfig.load({}, path=str(folder / "kubeconfig"))
    world = World(SystemClock(), LoopTimer(), lambda: 0.5)
    async with HttpKube(access, world, _SETTINGS) as kube:
        yield kube
    await asyncio.sleep(0.02)  # connections over TLS say goodbye before they are closed


def _write(folder: Path, config: str) -> None:
    """Keep a kubeconfig whose names do not tell which of the two it is for."""
    tree = json.loads(config)
    for field, inner in (("clusters", "cluster"), ("users", "user"), ("contexts", "context")):
        tree[field] = [{"name": CONTEXT, inner: one[inner]} for one in tree[field]]
    tree["contexts"][0]["context"] = {"cluster": CONTEXT, "user": CONTEXT}
    tree["current-context"] = CONTEXT
    (folder / "kubeconfig").write_text(json.dumps(tree))
