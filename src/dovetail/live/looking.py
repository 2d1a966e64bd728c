"""What is in the cluster of the kubeconfig? Read once, by whoever wants to know and not to act."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from random import SystemRandom

from dovetail.clock import LoopTimer, SystemClock
from dovetail.kube import listing
from dovetail.kube.http import kubeconfig
from dovetail.kube.http.access import Access
from dovetail.kube.http.client import HttpKube
from dovetail.kube.http.transport import World
from dovetail.kube.manifests import Manifests

Tell = Callable[[str], None]


def cluster(environment: Mapping[str, str], path: str, tell: Tell) -> Manifests:
    """All that decisions read of it, as manifests. Raises InputError."""
    access = kubeconfig.load(environment, path=path)
    return asyncio.run(_cluster(access, environment, tell))


async def _cluster(access: Access, environment: Mapping[str, str], tell: Tell) -> Manifests:
    world = World(SystemClock(), LoopTimer(), SystemRandom().random, environment)
    async with HttpKube(access, world) as kube:
        return await listing.cluster(kube, access.server, tell)
