"""Counts what is left of capacity reservations: as EC2 says, less what was launched since."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from dovetail.clock import Clock
from dovetail.providers.aws.calls import CallFailedError, calling, required

if TYPE_CHECKING:
    from types_aiobotocore_ec2 import EC2Client

_ACTION: Final = "ec2:DescribeCapacityReservations"
_KEPT_FOR: Final = timedelta(minutes=1)
_FALLBACK_KEPT_FOR: Final = timedelta(hours=24)  # where EC2 cannot be asked


class ReservationCounts:
    """How many instances can still be launched into each reservation, by id."""

    def __init__(self, ec2: EC2Client, clock: Clock) -> None:
        self._ec2 = ec2
        self._clock = clock
        self._left: dict[str, int] = {}
        self._read_at: dict[str, datetime] = {}
        self._reading = asyncio.Lock()

    def counts(self) -> dict[str, int]:
        """What is left, of all that are known."""
        now = self._clock.now()
        return {
            name: count
            for name, count in sorted(self._left.items())
            if abs(now - self._read_at[name]) < _FALLBACK_KEPT_FOR
        }

    def note_launch(self, reservation_id: str, n_instances: int = 1) -> None:
        """Instances were launched into the reservation."""
        if reservation_id in self._left:
            self._left[reservation_id] = max(self._left[reservation_id] - n_instances, 0)

    def note_end(self, reservation_id: str) -> None:
        """An instance of the reservation is gone for certain."""
        if reservation_id in self._left:
            self._left[reservation_id] += 1

    def exhaust(self, reservation_id: str) -> None:
        """EC2 had nothing left of it."""
        if reservation_id in self._left:
            self._left[reservation_id] = 0

    async def refresh(self, ids: Iterable[str]) -> None:
        """Ask EC2 for those that were not read for a minute. What cannot be read stays as it is."""
        async with self._reading:
            now = self._clock.now()
            stale = sorted(name for name in set(ids) if self._is_stale(name, now))
            if stale:
                await self._read(stale, now)

    def _is_stale(self, reservation_id: str, now: datetime) -> bool:
        read_at = self._read_at.get(reservation_id)
        return read_at is None or abs(now - read_at) >= _KEPT_FOR

    async def _read(self, ids: list[str], now: datetime) -> None:
        try:
            with calling(_ACTION):
                answer = await self._ec2.describe_capacity_reservations(CapacityReservationIds=ids)
            described = required(answer.get("CapacityReservations"), _ACTION)
        except CallFailedError:
            return
        for reservation in described:
            name = reservation.get("CapacityReservationId", "")
            is_active = reservation.get("State") == "active"
            self._left[name] = reservation.get("AvailableInstanceCount", 0) if is_active else 0
            self._read_at[name] = now
