"""A real kube-apiserver, spoken to over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from dovetail.api.crds import render
from dovetail.clock import LoopTimer, SystemClock
from dovetail.cloud.registry import extensions
from dovetail.kube.http import kubeconfig
from dovetail.kube.http.client import HttpKube
from dovetail.kube.http.transport import World
from dovetail.kube.seam import Kube
from tests.controlplane.plane import ControlPlane, running, start_controllers

# Others would write what the laws say themselves: the counts of budgets, for one.
CONTROLLERS = ("garbage-collector-controller", "namespace-controller")


class HttpServer:
    """The server of a control plane."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Kube]:
        """Begin to talk to it."""
        access = kubeconfig.load({}, path=str(self._plane.kubeconfig))
        world = World(SystemClock(), LoopTimer(), lambda: 0.5)
        async with HttpKube(access, world) as kube:
            yield kube
        await asyncio.sleep(0.02)  # connections over TLS say goodbye before they are closed

    async def settle(self) -> None:
        """Give the cluster's own controllers a chance to act."""
        await asyncio.sleep(0.1)


@contextmanager
def control_plane() -> Iterator[ControlPlane]:
    """An API server that knows our kinds, with the few controllers that laws are about."""
    with running(schedules=False) as plane:
        plane.kubectl("apply", "--server-side", "-f", "-", given=render(extensions()))
        plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        start_controllers(plane, CONTROLLERS)
        yield plane
