"""Remembers for three minutes what EC2 had no capacity for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, TypeVar

from dovetail.clock import Clock
from dovetail.providers.aws.catalogue.inputs import UnavailableOffering

KEPT_FOR: Final = timedelta(minutes=3)
T = TypeVar("T")


class UnavailableOfferings:
    """Offerings, whole capacity types and subnets that are left out for now."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offerings: dict[UnavailableOffering, datetime] = {}
        self._capacity_types: dict[str, datetime] = {}
        self._subnets: dict[str, datetime] = {}

    def mark(self, *offerings: UnavailableOffering) -> None:
        """These have insufficient capacity."""
        self._note(self._offerings, offerings)

    def mark_capacity_type(self, capacity_type: str) -> None:
        """Nothing of this capacity type can be launched."""
        self._note(self._capacity_types, (capacity_type,))

    def mark_subnet(self, subnet_id: str) -> None:
        """The subnet has no free addresses."""
        self._note(self._subnets, (subnet_id,))

    def offerings(self) -> frozenset[UnavailableOffering]:
        """What is left out now."""
        return self._current(self._offerings)

    def capacity_types(self) -> frozenset[str]:
        """Capacity types that are left out now."""
        return self._current(self._capacity_types)

    def subnets(self) -> frozenset[str]:
        """Subnets that are left out now, by id."""
        return self._current(self._subnets)

    def all_unavailable(self) -> frozenset[UnavailableOffering | str]:
        """All that is left out now: offerings, and the names of capacity types and subnets."""
        return frozenset({*self.offerings(), *self.capacity_types(), *self.subnets()})

    def _note(self, table: dict[T, datetime], items: Iterable[T]) -> None:
        until = self._clock.now() + KEPT_FOR
        for item in items:
            table[item] = until

    def _current(self, table: dict[T, datetime]) -> frozenset[T]:
        now = self._clock.now()
        ended = [item for item, until in table.items() if until <= now]
        for item in ended:
            del table[item]
        return frozenset(table)
