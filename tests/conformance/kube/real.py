"""The real API server, asked over HTTP."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dovetail.clock import LoopTimer, SystemClock
from dovetail.kube.http import kubeconfig
from dovetail.kube.http.client import HttpKube
from dovetail.kube.http.transport import World
from dovetail.kube.seam import Kube
from tests.controlplane.plane import ControlPlane


class RealServer:
    """A kube-apiserver with its controllers."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Kube]:
        """Begin to talk to it."""
        access = kubeconfig.load(os.environ, path=str(self._plane.kubeconfig))
        world = World(SystemClock(), LoopTimer(), random.Random(1).random)  # noqa: S311  # jitter, not secrets
        async with HttpKube(access, world) as kube:
            yield kube

    async def settle(self) -> None:
        """Give the cluster's own controllers a chance to act."""
        await asyncio.sleep(0.05)
