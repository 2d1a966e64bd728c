"""Defines what a scenario says of budgets, and of what protects nodes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail.decide.evictions import hour_of
from dovetail.model.ending import InstanceEnding
from dovetail.model.ledger import Departure, EvictionCount, Proposal
from dovetail.model.plan import DisruptionReason
from dovetail.model.pool import Budget, ConsolidationPolicy, Disruption
from dovetail.model.snapshot import DisruptionBudget
from dovetail.testing import shorthand
from dovetail.units import duration

_NEVER: Final = "Never"


def span(text: str) -> timedelta | None:
    """A duration such as `30s`; `Never` is none."""
    return None if text == _NEVER else duration.parse(text)


class GivenBudget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A budget of a pool. With `schedule` it holds only for `duration` after each hit."""

    nodes: str = "10%"
    reasons: tuple[str, ...] | None = None
    schedule: str = ""
    duration: str = ""

    def budget(self) -> Budget:
        """The budget."""
        lasts = duration.parse(self.duration) if self.duration else None
        return Budget(self.nodes, self.reasons, self.schedule, lasts)


def disruption(
    consolidate_after: str, policy: ConsolidationPolicy, budgets: list[GivenBudget] | None
) -> Disruption:
    """When the nodes of a pool may go; without budgets of its own, a tenth of them at once."""
    if budgets is None:
        return Disruption(span(consolidate_after), policy)
    return Disruption(span(consolidate_after), policy, tuple(budget.budget() for budget in budgets))


class GivenDisruptionBudget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A PodDisruptionBudget, with how many of its pods may be evicted now."""

    name: str
    selector: dict[str, str] | list[str]
    namespace: str = "default"
    disruptions_allowed: int = 0
    always_allows_unhealthy: bool = False
    min_available: int | str = ""
    max_unavailable: int | str = ""
    expected_pods: int = 0

    def disruption_budget(self) -> DisruptionBudget:
        """The budget."""
        return DisruptionBudget(
            name=self.name,
            namespace=self.namespace,
            selector=shorthand.selector(self.selector),
            disruptions_allowed=self.disruptions_allowed,
            always_allows_unhealthy=self.always_allows_unhealthy,
            min_available=str(self.min_available),
            max_unavailable=str(self.max_unavailable),
            expected_pods=self.expected_pods,
        )


class GivenEvictions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many pods of a workload ("kind/namespace/name") were evicted in the hour of `at`."""

    workload: str
    at: datetime
    n_evictions: int = 1

    def count(self) -> EvictionCount:
        """As the ledger counts."""
        return EvictionCount(self.workload, hour_of(self.at), self.n_evictions)


class GivenEnding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A node whose instance will be gone, when if that is known, and for how long it is drained."""

    node: str
    at: datetime | None = None
    reason: str = "Interrupted"
    drains_for: str = "10m"

    def ending(self) -> InstanceEnding:
        """What the provider has announced."""
        return InstanceEnding(
            f"test://{self.node}",
            self.reason,
            "the cloud takes it back",
            at=self.at,
            drains_for=duration.parse(self.drains_for),
        )


class GivenDeparture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A node that could go, or is going, since when and why."""

    node: str
    since: datetime
    reason: DisruptionReason = DisruptionReason.EMPTY

    def proposal(self) -> Proposal:
        """The node as one that could go."""
        return Proposal(self.reason, self.node, self.since)

    def departure(self) -> Departure:
        """The node as one that is going."""
        return Departure(self.node, self.reason, self.since)
