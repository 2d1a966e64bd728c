"""Defines what Dovetail needs of a Kubernetes API, in two protocols.

`http` speaks to a real server, `memory` is one, in this process. Both pass the same conformance
suite (`tests/conformance/kube`). Objects cross the seam as JSON, undecoded: whoever asked knows
which fields matter (`typed.py`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from enum import StrEnum
from typing import Final, Protocol

import msgspec

from dovetail import api

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Body = Mapping[str, Json]


CAUGHT_UP: Final = "k8s.io/initial-events-end"  # the annotation of a bookmark


class _Meta(msgspec.Struct, frozen=True):
    annotations: dict[str, str] = {}


class _Marked(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()


_marked: Final = msgspec.json.Decoder(_Marked)


class WatchEventType(StrEnum):
    """What happened to an object. A bookmark only says how far the watch has come."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


class PatchType(StrEnum):
    """How a patch is written, as its content type."""

    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    JSON = "application/json-patch+json"
    APPLY = "application/apply-patch+yaml"


class Propagation(StrEnum):
    """What becomes of an object's dependents when it is deleted."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


class Page(msgspec.Struct, frozen=True, gc=False):
    """Part of a list. An empty `token` means it was the last part."""

    items: tuple[msgspec.Raw, ...]
    resource_version: str
    token: str = ""


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """One event of a watch. A bookmark's object has metadata only."""

    type: WatchEventType
    object: msgspec.Raw
    resource_version: str

    @property
    def is_caught_up(self) -> bool:
        """Whether this bookmark says that everything that was there has been told."""
        if self.type is not WatchEventType.BOOKMARK:
            return False
        return _marked.decode(self.object).metadata.annotations.get(CAUGHT_UP) == "true"


class Ref(msgspec.Struct, frozen=True, gc=False):
    """One object by name; `namespace` is empty for kinds that have none."""

    kind: api.Kind
    name: str
    namespace: str = ""


class Scope(msgspec.Struct, frozen=True, gc=False):
    """Which objects of a kind: of one namespace or all, by selectors as kubectl writes them."""

    kind: api.Kind
    namespace: str = ""
    labels: str = ""
    fields: str = ""


class Patch(msgspec.Struct, frozen=True, gc=False):
    """A change to one object. `manager` and `force` are for server-side apply."""

    body: Body | list[Json]
    type: PatchType = PatchType.MERGE
    subresource: str = ""
    manager: str = "dovetail"
    force: bool = False


class Deletion(msgspec.Struct, frozen=True, gc=False):
    """How an object goes; with `uid` or `resource_version`, only if it is that very one."""

    uid: str = ""
    resource_version: str = ""
    grace_seconds: int | None = None
    propagation: Propagation = Propagation.BACKGROUND


class WriteOptions(msgspec.Struct, frozen=True, gc=False):
    """For whom something is written: a `manager` owns what it writes; a trial changes nothing."""

    manager: str = ""
    is_trial: bool = False


class Reader(Protocol):
    """Reads objects. Every call may raise `ApiError` (see `kube/errors.py`)."""

    async def get(self, ref: Ref) -> msgspec.Raw:
        """One object. Raises NotFoundError."""
        ...

    async def list(self, scope: Scope, *, limit: int = 0, token: str = "") -> Page:
        """A page of objects, in the order of their keys; `limit` 0 means all at once."""
        ...

    def watch(self, scope: Scope, *, since: str) -> AsyncIterator[WatchEvent]:
        """Every change after a resource version, as it happens, until the server ends it.

        With an empty version everything that is there comes first, as added, then a bookmark that
        says so (`Change.is_caught_up`), then changes. Raises GoneError when a version is too old:
        begin anew; InvalidError when the server cannot stream what is there: list it.
        """
        ...


class Writer(Protocol):
    """Changes objects; never replaces one whole. Every call may raise `ApiError`."""

    async def create(self, kind: api.Kind, body: Body, namespace: str = "") -> msgspec.Raw:
        """Make an object. Raises AlreadyExistsError, InvalidError."""
        ...

    async def patch(self, ref: Ref, patch: Patch) -> msgspec.Raw:
        """Change an object. A resource version in the patch must match, else ConflictError."""
        ...

    async def delete(self, ref: Ref, how: Deletion) -> None:
        """Delete an object, or mark it as going while finalizers hold it. Raises NotFoundError."""
        ...

    async def evict(self, ref: Ref, how: Deletion) -> None:
        """Evict a pod. Raises TooManyRequestsError while a disruption budget forbids it."""
        ...


class Kube(Reader, Writer, Protocol):
    """A whole API."""


class Servable(Kube, Protocol):
    """An API that can be served to others, who say for whom they write."""

    def on_behalf(self, manner: WriteOptions) -> Kube:
        """The same API, written to in that manner."""
        ...
