"""Chooses one subnet in each zone: the one with most free addresses, launches under way counted."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from dovetail.clock import Clock
from dovetail.providers.aws.calls import calling, required
from dovetail.providers.aws.node_class.types import Subnet

if TYPE_CHECKING:
    from types_aiobotocore_ec2 import EC2Client

_ACTION: Final = "ec2:DescribeSubnets"


def zonal_subnets(subnets: Sequence[Subnet], free: Mapping[str, int]) -> dict[str, str]:
    """The subnet to launch into, by zone; of equals, the first by id."""
    chosen: dict[str, str] = {}
    for subnet in sorted(subnets, key=lambda subnet: (-free.get(subnet.id, 0), subnet.id)):
        chosen.setdefault(subnet.zone, subnet.id)
    return dict(sorted(chosen.items()))


class FreeAddresses:
    """How many addresses subnets have free: what EC2 said, less what launches since then take."""

    def __init__(self, ec2: EC2Client, clock: Clock, kept_for: timedelta) -> None:
        self._ec2 = ec2
        self._clock = clock
        self._kept_for = kept_for
        self._free: dict[str, int] = {}
        self._read_at: dict[str, datetime] = {}
        self._taken: dict[str, int] = {}  # by launches, since it was read
        self._reading = asyncio.Lock()

    async def free(self, subnets: Sequence[Subnet]) -> dict[str, int]:
        """Free addresses by subnet. Raises CallFailedError."""
        ids = [subnet.id for subnet in subnets]
        async with self._reading:
            now = self._clock.now()
            stale = [name for name in ids if not self._is_fresh(name, now)]
            if stale:
                await self._read(stale, now)
        return {name: self._free.get(name, 0) - self._taken.get(name, 0) for name in ids}

    def take(self, subnet_id: str, n_addresses: int) -> None:
        """A launch takes so many addresses, or gives them back if negative."""
        self._taken[subnet_id] = max(self._taken.get(subnet_id, 0) + n_addresses, 0)

    def exhaust(self, subnet_id: str) -> None:
        """EC2 had no address there."""
        self._free[subnet_id] = 0
        self._taken.pop(subnet_id, None)

    def _is_fresh(self, subnet_id: str, now: datetime) -> bool:
        read_at = self._read_at.get(subnet_id)
        return read_at is not None and abs(now - read_at) < self._kept_for

    async def _read(self, ids: Sequence[str], now: datetime) -> None:
        with calling(_ACTION):
            answer = await self._ec2.describe_subnets(SubnetIds=list(ids))
        for tree in required(answer.get("Subnets"), _ACTION):
            subnet_id = tree.get("SubnetId", "")
            self._free[subnet_id] = tree.get("AvailableIpAddressCount", 0)
            self._read_at[subnet_id] = now
            self._taken.pop(subnet_id, None)
