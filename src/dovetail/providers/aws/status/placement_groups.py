"""Resolves `spec.placementGroupSelector`."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from dovetail.clock import Clock
from dovetail.providers.aws.calls import CallFailedError, Failure, calling, required
from dovetail.providers.aws.expiring_cache import ExpiringCache
from dovetail.providers.aws.node_class.types import EC2NodeClass, PlacementGroupSelector
from dovetail.providers.aws.status.conditions import ClassCondition, fails, holds, unknown
from dovetail.providers.aws.status.step import StepResult

if TYPE_CHECKING:
    from types_aiobotocore_ec2 import EC2Client
    from types_aiobotocore_ec2.type_defs import PlacementGroupTypeDef

FIELD: Final = "spec.placementGroupSelector"
NOT_FOUND: Final = "PlacementGroupNotFound"
RESOLUTION_FAILED: Final = "PlacementGroupResolutionFailed"
_ACTION: Final = "ec2:DescribePlacementGroups"
_AVAILABLE: Final = "available"
_KEPT_FOR: Final = timedelta(minutes=1)
_FALLBACK_KEPT_FOR: Final = timedelta(hours=24)
_AGAIN_AFTER: Final = timedelta(minutes=1)


class ResolvedPlacementGroup(msgspec.Struct, frozen=True, gc=False):
    """A placement group that instances can be launched into."""

    id: str
    name: str
    strategy: str  # cluster, partition, spread
    n_partitions: int = 0


class PlacementGroups:
    """Placement groups by selector, kept for a minute; for a day where EC2 cannot be asked."""

    def __init__(self, ec2: EC2Client, clock: Clock) -> None:
        self._ec2 = ec2
        self._current: ExpiringCache[PlacementGroupSelector, ResolvedPlacementGroup]
        self._current = ExpiringCache(clock)
        self._fallback: ExpiringCache[PlacementGroupSelector, ResolvedPlacementGroup]
        self._fallback = ExpiringCache(clock)

    async def find(self, selector: PlacementGroupSelector) -> ResolvedPlacementGroup | None:
        """The group; None if there is none that is available. Raises CallFailedError if EC2 cannot
        be asked and has not answered for a day.
        """
        kept = self._current.get(selector)
        if kept is not None:
            return kept
        try:
            group = await self._describe(selector)
        except CallFailedError as error:
            fallback = self._fallback.get(selector)
            if error.failure is Failure.NOT_FOUND:
                group = None
            elif fallback is not None:
                return fallback
            else:
                raise
        if group is None:
            self._fallback.drop(lambda other: other == selector)
            return None
        self._current.put(selector, group, keep_for=_KEPT_FOR)
        self._fallback.put(selector, group, keep_for=_FALLBACK_KEPT_FOR)
        return group

    async def _describe(self, selector: PlacementGroupSelector) -> ResolvedPlacementGroup | None:
        with calling(_ACTION):
            if selector.id:
                answer = await self._ec2.describe_placement_groups(GroupIds=[selector.id])
            else:
                answer = await self._ec2.describe_placement_groups(GroupNames=[selector.name])
        described = required(answer.get("PlacementGroups"), _ACTION)
        groups = [placement_group(tree) for tree in described]
        return next((group for group in groups if group is not None), None)


def placement_group(described: PlacementGroupTypeDef) -> ResolvedPlacementGroup | None:
    """The group, if it is available."""
    if described.get("State") != _AVAILABLE:
        return None
    return ResolvedPlacementGroup(
        described.get("GroupId", ""),
        described.get("GroupName", ""),
        described.get("Strategy", ""),
        described.get("PartitionCount", 0),
    )


class PlacementGroupStep:
    """Evaluates `PlacementGroupReady`, which holds where no group is selected."""

    condition = ClassCondition.PLACEMENT_GROUP

    def __init__(self, groups: PlacementGroups) -> None:
        self._groups = groups

    async def evaluate(self, node_class: EC2NodeClass) -> StepResult:
        """Whether the group is there now."""
        selector = node_class.spec.placement_group_selector
        if selector is None:
            return StepResult(holds(self.condition), node_class.status)
        text = f"{FIELD} (id {selector.id})" if selector.id else f"{FIELD} (name {selector.name})"
        try:
            group = await self._groups.find(selector)
        except CallFailedError as error:
            update = unknown(self.condition, RESOLUTION_FAILED, f"{text}: {error}")
            return StepResult(update, node_class.status, _AGAIN_AFTER, error)
        if group is None:
            message = f"no available placement group matches {text}: create it, or change the name"
            update = fails(self.condition, NOT_FOUND, message)
            return StepResult(update, node_class.status, _AGAIN_AFTER)
        return StepResult(holds(self.condition), node_class.status, _AGAIN_AFTER)
