"""How does kube-scheduler learn where a pod was planned to go? From `status.nominatedNodeName`.

It tries the nominated node first and keeps its room from others of no higher priority, so that a
tight plan comes true. Whose word it is stays in the ledger; a word that no longer holds is taken
back, if it is still the one we wrote.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from dovetail import api
from dovetail.kube.errors import ApiError
from dovetail.kube.seam import Json, Kube, Patch, PatchType, Ref
from dovetail.model.pod import PodKey

_POD: Final = api.KINDS["", "Pod"]
_PATH: Final = "/status/nominatedNodeName"
_AT_ONCE: Final = 50


class Steering:
    """Writes and takes back nominations. `failed` hears of what the API refused."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def steer(
        self, pods: Iterable[tuple[PodKey, str]], node: str
    ) -> tuple[tuple[PodKey, ApiError], ...]:
        """Tell the scheduler that these pods (each with its uid) are meant for the node; what the
        API refused. A pod that has gone or is bound by now needs no word.
        """
        return await self._each((pod, _nominate(node, uid)) for pod, uid in pods)

    async def withdraw(
        self, pods: Iterable[tuple[PodKey, str]]
    ) -> tuple[tuple[PodKey, ApiError], ...]:
        """Take back what pods were told (each with that word), unless it has changed since."""
        return await self._each((pod, _take_back(word)) for pod, word in pods)

    async def _each(
        self, patches: Iterable[tuple[PodKey, Patch]]
    ) -> tuple[tuple[PodKey, ApiError], ...]:
        refused: list[tuple[PodKey, ApiError]] = []

        async def write(pod: PodKey, patch: Patch) -> None:
            namespace, _, name = pod.partition("/")
            async with self._slots:
                try:
                    await self._kube.patch(Ref(_POD, name, namespace), patch)
                except ApiError as error:
                    refused.append((pod, error))

        async with asyncio.TaskGroup() as group:
            for pod, patch in patches:
                group.create_task(write(pod, patch))
        return tuple(refused)


def _nominate(node: str, uid: str) -> Patch:
    # A uid that differs is refused: the pod was made anew.
    body: dict[str, Json] = {"metadata": {"uid": uid}, "status": {"nominatedNodeName": node}}
    return Patch(body, subresource="status")


def _take_back(word: str) -> Patch:
    body: list[Json] = [
        {"op": "test", "path": _PATH, "value": word},
        {"op": "remove", "path": _PATH},
    ]
    return Patch(body, type=PatchType.JSON, subresource="status")
