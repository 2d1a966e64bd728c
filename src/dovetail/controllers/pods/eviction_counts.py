"""Stores how often workloads were evicted in a ConfigMap next to the lease.

The leader reads it when it begins, and writes it after evictions, at once and then at most every
few seconds, so that a crash loses no more than those. Every write names the version that it
changes: what another replica has written meanwhile is read and added, never overwritten.
"""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from dovetail import api
from dovetail.controllers.dependencies import Dependencies
from dovetail.kube.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from dovetail.kube.seam import Json, Patch, Ref
from dovetail.state.evictions import Counts, Tally, fit, read, to_text

CONFIG_MAP: Final = api.Kind("", "v1", "ConfigMap", "configmaps", api.Object)
NAME: Final = "dovetail-evictions"
PAUSE_SECONDS: Final = 5.0  # from one write to the next
_KEY: Final = "evictions"
_LABELS: Final[dict[str, Json]] = {"app.kubernetes.io/managed-by": "dovetail"}


class _Meta(msgspec.Struct, frozen=True, rename="camel", gc=False):
    resource_version: str = ""


class _ConfigMap(msgspec.Struct, frozen=True, gc=False):
    metadata: _Meta = _Meta()
    data: dict[str, str] | None = None


_config_maps: Final = msgspec.json.Decoder(_ConfigMap)


class EvictionCountStore:
    """Keeps what a tally counts."""

    def __init__(self, dependencies: Dependencies, tally: Tally, namespace: str) -> None:
        self._dependencies = dependencies
        self._tally = tally
        self._place = Ref(CONFIG_MAP, NAME, namespace)
        self._log = dependencies.log.named("eviction-memory")
        self._stored: Counts = {}  # as it was last read or written
        self._version = ""  # of that; empty: it has not been read, or is not there
        self._changed = asyncio.Event()
        self._writing = asyncio.Lock()
        tally.heard = self._changed.set

    async def recall(self) -> None:
        """Learn what earlier leaders have counted. What cannot be read now is later."""
        try:
            async with self._writing:
                await self._read()
        except ApiError as error:
            self._log.warning("could not read what was evicted", problem=str(error))

    async def run(self) -> None:
        """Write down what is counted, until cancelled."""
        while True:
            await self._changed.wait()
            await self._keep()
            await self._dependencies.timer.sleep(PAUSE_SECONDS)

    async def finish(self) -> None:
        """Write down what is left."""
        if self._changed.is_set():
            await self._keep()

    async def _keep(self) -> None:
        async with self._writing:
            self._changed.clear()
            try:
                await self._write()
            except ApiError as error:
                self._changed.set()
                self._log.warning("could not write down what was evicted", problem=str(error))

    async def _write(self) -> None:
        """Write down what is known, after what others may have written. Raises ApiError."""
        for is_last in (False, False, True):
            if not self._version:
                await self._read()
            counts = fit(self._tally.counts(self._dependencies.clock.now()))
            if counts == self._stored:
                return
            self._tally.replace(counts)  # all that is known is kept, and nothing else is known
            try:
                await self._put(to_text(counts))
            except (ConflictError, NotFoundError, AlreadyExistsError):
                self._version = ""  # somebody else wrote, or took it away
                if is_last:
                    raise
            else:
                self._stored = counts
                return

    async def _put(self, text: str) -> None:
        meta: dict[str, Json] = {"name": self._place.name, "labels": dict(_LABELS)}
        if self._version:
            meta = {"resourceVersion": self._version}
        body: dict[str, Json] = {"metadata": meta, "data": {_KEY: text}}
        kube, place = self._dependencies.kube, self._place
        if self._version:
            answer = await kube.patch(place, Patch(body))
        else:
            answer = await kube.create(CONFIG_MAP, body, place.namespace)
        self._version = _config_maps.decode(answer).metadata.resource_version

    async def _read(self) -> None:
        """Learn what others have counted since we last read or wrote. Raises ApiError."""
        try:
            config_map = _config_maps.decode(await self._dependencies.kube.get(self._place))
        except NotFoundError:
            self._stored = {}
            return
        theirs = self._counts_in((config_map.data or {}).get(_KEY, "{}"))
        more = {key: n - self._stored.get(key, 0) for key, n in theirs.items()}
        self._tally.learn({key: n for key, n in more.items() if n > 0})
        self._stored, self._version = theirs, config_map.metadata.resource_version

    def _counts_in(self, text: str) -> Counts:
        try:
            return read(text)
        except (ValueError, msgspec.DecodeError) as error:
            self._log.warning(
                "what was evicted makes no sense and is forgotten", problem=str(error)
            )
            return {}
