"""Who takes the taint off that nodes come up with? An agent, as operators run one on each."""

from __future__ import annotations

from typing import Final

from dovetail import api
from dovetail.apiserver import MemoryKube
from dovetail.controllers.cache import NODE
from dovetail.kube.errors import ConflictError, NotFoundError
from dovetail.kube.seam import Json, Patch, Ref, Scope, WatchEventType

TAINT: Final = "example.com/starting"


class Starter:
    """Takes the taint off every node that has it, unless hindered."""

    def __init__(self, kube: MemoryKube) -> None:
        self._kube = kube
        self._is_hindered = False

    async def run(self) -> None:
        """Look at every node that comes or changes, until cancelled."""
        page = await self._kube.list(Scope(NODE))
        since = page.resource_version
        while True:
            async for change in self._kube.watch(Scope(NODE), since=since):
                since = change.resource_version
                if change.type in {WatchEventType.ADDED, WatchEventType.MODIFIED}:
                    await self._start(api.decode(api.Node, change.object))

    def hinder(self) -> None:
        """From now on nothing is done."""
        self._is_hindered = True

    async def resume(self) -> None:
        """Do what was left undone, and go on."""
        self._is_hindered = False
        for raw in (await self._kube.list(Scope(NODE))).items:
            await self._start(api.decode(api.Node, raw))

    async def _start(self, node: api.Node) -> None:
        taints = node.spec.taints
        if self._is_hindered or not any(one.key == TAINT for one in taints):
            return
        kept: list[Json] = [
            {"key": one.key, "value": one.value, "effect": one.effect}
            for one in taints
            if one.key != TAINT
        ]
        version: Json = node.metadata.resource_version
        body: dict[str, Json] = {
            "metadata": {"resourceVersion": version},
            "spec": {"taints": kept or None},
        }
        try:
            await self._kube.patch(Ref(NODE, node.metadata.name), Patch(body))
        except (NotFoundError, ConflictError):
            return  # it is gone, or comes again as it is now
