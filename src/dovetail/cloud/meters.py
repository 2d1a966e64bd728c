"""Defines metrics of a provider's own: what they mean, and how a provider counts."""

from __future__ import annotations

from typing import Final, Protocol

import msgspec

SECONDS: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0)


class ProviderMetric(msgspec.Struct, frozen=True):
    """One metric. `name` is without `karpenter_`. With `buckets` it is a histogram of seconds,
    otherwise a counter, whose name ends in `_total`.
    """

    name: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


class ProviderMeters(Protocol):
    """Where a provider counts. A metric that its plugin does not name is an error."""

    def count(self, name: str, /, **labels: str) -> None:
        """Count one more."""
        ...

    def observe(self, name: str, seconds: float, /, **labels: str) -> None:
        """Something took so long."""
        ...


class NoMeters:
    """Meters that nobody reads."""

    def count(self, name: str, /, **labels: str) -> None:
        """Ignore it."""

    def observe(self, name: str, seconds: float, /, **labels: str) -> None:
        """Ignore it."""
