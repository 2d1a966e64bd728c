"""A Kubernetes API server in this process, without a network.

Everything happens at once and in the order of the calls: the same calls give the same objects,
uids and versions. What a real cluster's controllers do in the background happens when the caller
says so.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from copy import copy
from typing import Final

import msgspec

from dovetail import api
from dovetail.api.crds import crds
from dovetail.apiserver import creation, deletion, eviction, garbage, reading
from dovetail.apiserver.patches import patching
from dovetail.apiserver.storage import ObjectStore
from dovetail.clock import Clock
from dovetail.cloud import registry
from dovetail.kube.seam import (
    Body,
    Deletion,
    Json,
    Page,
    Patch,
    Ref,
    Scope,
    WatchEvent,
    WriteOptions,
)

_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
_HISTORY: Final = 20_000


class MemoryKube:
    """An API server in memory. `history` is how many changes of a kind it remembers at least.

    `extensions` are what providers add to the API; by default, those that are installed. Without
    `definitions` it has those of all kinds.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        definitions: Iterable[Mapping[str, Json]] | None = None,
        extensions: tuple[api.Extension, ...] | None = None,
        history: int = _HISTORY,
    ) -> None:
        added = registry.extensions() if extensions is None else extensions
        defined = crds(added) if definitions is None else definitions
        self._storage = ObjectStore(clock, defined, added, history)
        self._manner = WriteOptions()
        self._tidy_at = 0  # the version at which no garbage was left
        for name in _NAMESPACES:
            creation.create(self._storage, creation.NAMESPACE, {"metadata": {"name": name}}, "")

    # ---- Reader

    async def get(self, ref: Ref) -> msgspec.Raw:
        """One object. Raises NotFoundError."""
        return self._storage.get(ref).raw

    async def list(self, scope: Scope, *, limit: int = 0, token: str = "") -> Page:
        """A page of objects, in the order of their keys; `limit` 0 means all at once."""
        return reading.page(self._storage, scope, limit, token)

    def watch(self, scope: Scope, *, since: str) -> AsyncIterator[WatchEvent]:
        """Every change after a version; with none or "0", first everything that is there.

        The watch ends when it is cut, or when it has fallen behind the history.
        """
        return reading.changes(self._storage, scope, since)

    # ---- Writer

    async def create(self, kind: api.Kind, body: Body, namespace: str = "") -> msgspec.Raw:
        """Make an object; a Binding binds the pod of its name. Raises AlreadyExistsError, ..."""
        with self._storage.act_as(self._manner):
            if (kind.group, kind.name) == ("", "Binding"):
                return eviction.bind(self._storage, creation.readable(body), namespace)
            return creation.create(self._storage, kind, body, namespace).raw

    async def patch(self, ref: Ref, patch: Patch) -> msgspec.Raw:
        """Change an object. A resource version in the patch must match, else ConflictError."""
        with self._storage.act_as(self._manner):
            return patching.patch(self._storage, ref, patch)

    async def delete(self, ref: Ref, how: Deletion) -> None:
        """Delete an object, or mark it as going while finalizers hold it. Raises NotFoundError."""
        with self._storage.act_as(self._manner):
            deletion.delete(self._storage, ref, how)

    async def evict(self, ref: Ref, how: Deletion) -> None:
        """Evict a pod. Raises TooManyRequestsError while a disruption budget forbids it."""
        with self._storage.act_as(self._manner):
            eviction.evict(self._storage, ref, how)

    def on_behalf(self, manner: WriteOptions) -> MemoryKube:
        """The same API, written to in that manner."""
        guise = copy(self)
        guise._manner = manner  # noqa: SLF001  its own kind
        return guise

    # ---- what a cluster does by itself, when the caller says so

    def collect_garbage(self) -> int:
        """Delete what has lost its owners, until nothing is left to do; how many changes it took.

        Only kinds that were spoken of before are known.
        """
        n_changes = 0
        if self._tidy_at == self._storage.version:
            return 0
        while n_more := garbage.collect(self._storage):
            n_changes += n_more
        self._tidy_at = self._storage.version
        return n_changes

    def send_bookmarks(self) -> None:
        """Tell every open watch how far it has come."""
        for _, table in self._storage.tables():
            table.n_bookmarks += 1
            table.wake()

    def cut_watches(self) -> None:
        """End every open watch, as a server does that goes away."""
        for _, table in self._storage.tables():
            table.n_cuts += 1
            table.wake()

    def forget_history(self) -> None:
        """Forget what was: watches and lists cannot go on from before this moment."""
        for _, table in self._storage.tables():
            table.forget()
