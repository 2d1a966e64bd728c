"""Keeps machine types, zones and prices up to date from the APIs of AWS."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Final

import msgspec

from dovetail.clock import Clock, Timer
from dovetail.providers.aws.apis import AwsApis
from dovetail.providers.aws.calls import CallFailedError
from dovetail.providers.aws.catalogue import fetching
from dovetail.providers.aws.catalogue.discovered_memory import DiscoveredMemory
from dovetail.providers.aws.catalogue.inputs import (
    CatalogueInputs,
    PlacementGroupFacts,
    UnavailableOffering,
)
from dovetail.providers.aws.catalogue.machines import MachineType, packaged_prices, packaged_types
from dovetail.providers.aws.catalogue.prices import is_priced
from dovetail.providers.aws.settings import AwsSettings

_REFRESH_AFTER: Final = timedelta(hours=12)
_SHORTEST_BACKOFF: Final = timedelta(seconds=30)
_LONGEST_BACKOFF: Final = timedelta(hours=1)
_REPORT_AFTER: Final = timedelta(minutes=1)


class CatalogueSource:
    """What is known of machines, zones, prices and capacity.

    Until AWS has answered it is the packaged table. A call that fails changes nothing.
    """

    def __init__(
        self,
        apis: AwsApis,
        settings: AwsSettings,
        *,
        clock: Clock,
        timer: Timer,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._apis = apis
        self._settings = settings
        self._clock = clock
        self._timer = timer
        self._report = report
        self._changed: Callable[[], None] = lambda: None
        self._reported_at: float | None = None
        self._memory = DiscoveredMemory()
        self._inputs = CatalogueInputs(
            machines=packaged_types(), region=settings.region, on_demand_nanousd=packaged_prices()
        )

    def call_on_change(self, changed: Callable[[], None]) -> None:
        """Call this from now on whenever something has changed."""
        self._changed = changed

    def inputs(self) -> CatalogueInputs:
        """What is known now; the same object for as long as nothing changes."""
        return self._inputs

    async def begin(self) -> None:
        """Ask for types, zones and spot prices once, so that nothing is launched where EC2 does not
        offer it, or on demand because spot seems to cost as much.
        """
        async with asyncio.TaskGroup() as group:
            for refresh in (self.refresh_types, self.refresh_spot):
                group.create_task(self._attempt(refresh))

    async def run(self) -> None:
        """Refresh every twelve hours, and sooner after a failed attempt, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for refresh in self._refreshes():
                group.create_task(self._repeat(refresh))

    async def refresh(self) -> bool:
        """Ask AWS for everything, once; whether all calls succeeded."""
        succeeded = [await self._attempt(refresh) for refresh in self._refreshes()]
        return all(succeeded)

    def _refreshes(self) -> tuple[Callable[[], Awaitable[None]], ...]:
        market = (self.refresh_types, self.refresh_spot)
        settings = self._settings
        if is_priced(settings.region, isolated_vpc=settings.isolated_vpc):
            return (*market, self.refresh_on_demand)
        return market

    async def refresh_types(self) -> None:
        """Ask for instance types and their zones. Raises CallFailedError."""
        machines = await fetching.machine_types(self._apis.ec2)
        zones = await fetching.zones_by_type(self._apis.ec2)
        self._change(memory_bytes=self._memory.amounts(self._clock.now()))
        if machines and zones:
            known = {machine.name: machine for machine in self._inputs.machines}
            shared = tuple(_share(known.get(machine.name), machine) for machine in machines)
            self._change(machines=shared, zones=zones)

    async def refresh_on_demand(self) -> None:
        """Ask for on-demand prices. Raises CallFailedError."""
        region = self._settings.region
        prices = await fetching.on_demand_prices(self._apis.pricing, region)
        self._change(on_demand_nanousd={**self._inputs.on_demand_nanousd, **prices})

    async def refresh_spot(self) -> None:
        """Ask for spot prices. Raises CallFailedError."""
        prices, zone_ids = await fetching.spot_prices(self._apis.ec2, self._clock.now())
        if prices:
            zone_ids = {**self._inputs.zone_ids, **zone_ids}
            self._change(spot_nanousd=prices, zone_ids=zone_ids, knows_spot=True)

    def set_unavailable(
        self,
        offerings: frozenset[UnavailableOffering],
        *,
        capacity_types: frozenset[str] = frozenset(),
        subnets: frozenset[str] = frozenset(),
    ) -> None:
        """Take over what has insufficient capacity: offerings, capacity types and subnets."""
        self._change(
            unavailable=offerings,
            unavailable_capacity_types=capacity_types,
            unavailable_subnets=subnets,
        )

    def set_shifted_zones(self, zone_ids: frozenset[str]) -> None:
        """Take over the zones that traffic is shifted away from."""
        self._change(shifted_zones=zone_ids)

    def set_reservations(self, counts: Mapping[str, int]) -> None:
        """Take over how many instances are left in each capacity reservation."""
        self._change(reservation_counts=dict(counts))

    def set_placement_groups(self, groups: Mapping[str, PlacementGroupFacts]) -> None:
        """Take over the placement groups, by name of the node class."""
        self._change(placement_groups=dict(groups))

    def set_overlaid_types(self, names: frozenset[str]) -> None:
        """Take over the types whose price a NodeOverlay gives."""
        self._change(overlaid_types=names)

    def see_memory(self, instance_type: str, image_set: str, memory_bytes: int) -> None:
        """Take note of what a new node reports; `class_facts.image_set` names its images."""
        now = self._clock.now()
        self._memory.see((instance_type, image_set), memory_bytes, now)
        self._change(memory_bytes=self._memory.amounts(now))

    def _change(self, **fields: object) -> None:
        """Make new inputs, unless they would be the same."""
        changed = {
            name: value for name, value in fields.items() if getattr(self._inputs, name) != value
        }
        if changed:
            self._inputs = msgspec.structs.replace(self._inputs, **changed)
            self._changed()

    async def _repeat(self, refresh: Callable[[], Awaitable[None]]) -> None:
        backoff = _SHORTEST_BACKOFF
        while True:
            if await self._attempt(refresh):
                backoff, pause = _SHORTEST_BACKOFF, _REFRESH_AFTER
            else:
                pause, backoff = backoff, min(2 * backoff, _LONGEST_BACKOFF)
            await self._timer.sleep(pause.total_seconds())

    async def _attempt(self, refresh: Callable[[], Awaitable[None]]) -> bool:
        try:
            await refresh()
        except CallFailedError as error:
            self._tell(f"refreshing the AWS catalogue: {error}; what is known stays in use")
            return False
        return True

    def _tell(self, message: str) -> None:
        """Report at most once a minute."""
        now = self._timer.elapsed_seconds()
        last = self._reported_at
        if last is None or now - last >= _REPORT_AFTER.total_seconds():
            self._reported_at = now
            self._report(message)


def _share(known: MachineType | None, machine: MachineType) -> MachineType:
    """The machine type that is known already, if the new one is equal."""
    return known if known is not None and known == machine else machine
