"""The server in this process, spoken to over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from dovetail.apiserver.http.server import serve
from dovetail.clock import LoopTimer, SystemClock
from dovetail.kube.http import kubeconfig
from dovetail.kube.http.client import HttpKube
from dovetail.kube.http.transport import World
from dovetail.kube.seam import Kube
from tests.conformance.kube.servers import MemoryServer


class ServedServer(MemoryServer):
    """As the one in memory, but for the way to it."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Kube]:
        """Begin to talk to it."""
        world = World(SystemClock(), LoopTimer(), lambda: 0.5)
        async with serve(self.kube, clock=self.clock, timer=LoopTimer()) as served:
            with TemporaryDirectory() as folder:
                config = Path(folder) / "kubeconfig"
                config.write_text(served.kubeconfig())
                access = kubeconfig.load({}, path=str(config))
            async with HttpKube(access, world) as kube:
                yield kube
