"""Defines what a provider is given to work with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, Protocol, TypeVar

import msgspec

from dovetail.clock import Clock, Timer
from dovetail.cloud.meters import NoMeters, ProviderMeters
from dovetail.decide.lifecycle.step import Event
from dovetail.model.ending import InstanceEnding
from dovetail.model.instance import InstanceType

KubeT_co = TypeVar("KubeT_co", covariant=True)


class ProviderLog(Protocol):
    """Where a provider writes what it does; fields become fields of the line."""

    def debug(self, message: str, /, **fields: object) -> None:
        """For whoever looks for a mistake."""
        ...

    def info(self, message: str, /, **fields: object) -> None:
        """Something has happened."""
        ...

    def warning(self, message: str, /, **fields: object) -> None:
        """Something is odd."""
        ...

    def error(self, message: str, /, **fields: object) -> None:
        """Something went wrong."""
        ...


class Silence:
    """A log that nobody reads."""

    def debug(self, message: str, /, **fields: object) -> None:
        """Ignore it."""

    def info(self, message: str, /, **fields: object) -> None:
        """Ignore it."""

    def warning(self, message: str, /, **fields: object) -> None:
        """Ignore it."""

    def error(self, message: str, /, **fields: object) -> None:
        """Ignore it."""


def ignore_event(event: Event) -> None:
    """Nothing is told where nothing may be written."""


def ignore_ending(ending: InstanceEnding) -> None:
    """Nobody acts on it."""


def ignore_change() -> None:
    """Nobody keeps instance types."""


def no_types(pool: str) -> tuple[InstanceType, ...]:
    """Nothing is planned."""
    del pool
    return ()


class ProviderContext(msgspec.Struct, Generic[KubeT_co], frozen=True):
    """What a provider is given to work with. `kube` is a `dovetail.kube.seam.Kube`.

    `tell` writes an event about an object. `announce` says that an instance will be gone: its node
    is drained and replaced. Announcing the same ending again changes nothing, so a provider repeats
    after a restart whatever it can still find out. `types_changed` says that instance types, their
    offerings or prices have changed: all pools are asked for theirs again. `api_authority` is what
    the certificate of the API server is verified with, as PEM; empty if the machine's own is used.
    `planned_types` has the types of a NodePool by name, as launches are planned with them: prices
    are those of NodeOverlays where these apply. There are none until the controller has asked.
    `gates` are the feature gates by name; those that are missing have their default. `meters` count
    under the names of the plugin's metrics. `kubernetes_version` asks the API server for its
    version, such as `v1.35.2`, and raises what `kube` raises; None where there is no server to ask.
    """

    kube: KubeT_co
    clock: Clock
    timer: Timer
    log: ProviderLog = Silence()
    tell: Callable[[Event], None] = ignore_event
    announce: Callable[[InstanceEnding], None] = ignore_ending
    types_changed: Callable[[], None] = ignore_change
    planned_types: Callable[[str], tuple[InstanceType, ...]] = no_types
    api_authority: bytes = b""
    gates: Mapping[str, bool] = {}
    meters: ProviderMeters = NoMeters()
    kubernetes_version: Callable[[], Awaitable[str]] | None = None
