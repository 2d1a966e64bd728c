"""Opens the provider that the settings name, and connects it with the controller."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import msgspec

from dovetail import api
from dovetail.clock import Clock, Timer
from dovetail.cloud import registry
from dovetail.cloud.context import ProviderContext, no_types
from dovetail.cloud.meters import ProviderMeters, ProviderMetric
from dovetail.cloud.plugin import ProviderPlugin
from dovetail.cloud.provider import CloudProvider
from dovetail.decide.lifecycle.step import Event
from dovetail.kube.seam import Kube
from dovetail.model.ending import InstanceEnding
from dovetail.model.instance import InstanceType
from dovetail.observe.logs import Log


class ProviderVoice:
    """What a provider reports. It is made before the controller: until that is connected, reports
    are kept.
    """

    def __init__(self) -> None:
        self._tell: Callable[[Event], None] | None = None
        self._announce: Callable[[InstanceEnding], None] | None = None
        self._refresh: Callable[[], None] | None = None
        self._planned: Callable[[str], tuple[InstanceType, ...]] = no_types
        self._events: list[Event] = []
        self._endings: list[InstanceEnding] = []

    def tell(self, event: Event) -> None:
        """Something to tell about an object."""
        if self._tell is None:
            self._events.append(event)
        else:
            self._tell(event)

    def announce(self, ending: InstanceEnding) -> None:
        """An instance will be gone."""
        if self._announce is None:
            self._endings.append(ending)
        else:
            self._announce(ending)

    def refresh_types(self) -> None:
        """Instance types have changed. A controller that is not connected yet will ask anyway."""
        if self._refresh is not None:
            self._refresh()

    def planned_types(self, pool: str) -> tuple[InstanceType, ...]:
        """The types of a pool as launches are planned with them."""
        return self._planned(pool)

    def plan_with(self, planned: Callable[[str], tuple[InstanceType, ...]]) -> None:
        """From now on, these are the types that launches are planned with."""
        self._planned = planned

    def connect(
        self,
        tell: Callable[[Event], None],
        announce: Callable[[InstanceEnding], None],
        refresh: Callable[[], None],
    ) -> None:
        """From now on, report to these; what was kept first."""
        self._tell, self._announce, self._refresh = tell, announce, refresh
        for event in self._events:
            tell(event)
        for ending in self._endings:
            announce(ending)
        self._events, self._endings = [], []


class EarlyMeters:
    """Counts for a provider. Until there is something to count with, it is kept."""

    def __init__(self) -> None:
        self._meters: ProviderMeters | None = None
        self._kept: list[Callable[[ProviderMeters], None]] = []

    def count(self, name: str, /, **labels: str) -> None:
        """Count one more."""
        self._perform(lambda meters: meters.count(name, **labels))

    def observe(self, name: str, seconds: float, /, **labels: str) -> None:
        """Something took so long."""
        self._perform(lambda meters: meters.observe(name, seconds, **labels))

    def connect(self, meters: ProviderMeters) -> None:
        """From now on, count with these; what was kept first."""
        self._meters = meters
        for deed in self._kept:
            deed(meters)
        self._kept = []

    def _perform(self, deed: Callable[[ProviderMeters], None]) -> None:
        if self._meters is None:
            self._kept.append(deed)
        else:
            deed(self._meters)


class Provided(msgspec.Struct, frozen=True):
    """A provider that is open, what it adds to the API, how it reports, and what it counts."""

    cloud: CloudProvider
    extensions: tuple[api.Extension, ...] = ()
    voice: ProviderVoice = msgspec.field(default_factory=ProviderVoice)
    meters: EarlyMeters = msgspec.field(default_factory=EarlyMeters)
    metrics: tuple[ProviderMetric, ...] = ()


class Means(msgspec.Struct, frozen=True):
    """What a provider works with."""

    kube: Kube
    clock: Clock
    timer: Timer
    log: Log
    api_authority: bytes = b""
    gates: Mapping[str, bool] = {}
    kubernetes_version: Callable[[], Awaitable[str]] | None = None


@asynccontextmanager
async def provide(
    plugin: ProviderPlugin[Kube, msgspec.Struct],
    means: Means,
    settings: msgspec.Struct | None = None,
) -> AsyncIterator[Provided]:
    """The provider, closed at the end. Without `settings`, with its defaults. Raises InputError."""
    voice, meters = ProviderVoice(), EarlyMeters()
    context = ProviderContext(
        kube=means.kube,
        clock=means.clock,
        timer=means.timer,
        log=means.log.named(f"provider.{plugin.name}"),
        tell=voice.tell,
        announce=voice.announce,
        types_changed=voice.refresh_types,
        planned_types=voice.planned_types,
        api_authority=means.api_authority,
        gates=means.gates,
        meters=meters,
        kubernetes_version=means.kubernetes_version,
    )
    async with registry.start_provider(plugin, context, settings) as cloud:
        yield Provided(cloud, (plugin.extension,), voice, meters, plugin.metrics)
