"""Resolves `spec.subnetSelectorTerms`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from dovetail.clock import Clock
from dovetail.providers.aws.calls import calling, required
from dovetail.providers.aws.filters import tag_filters, term_text
from dovetail.providers.aws.node_class.types import EC2NodeClass, Subnet, SubnetSelectorTerm
from dovetail.providers.aws.status.conditions import ClassCondition
from dovetail.providers.aws.status.selection import (
    DescribeFilters,
    Selection,
    SelectorField,
    SelectorSource,
    SelectorTerm,
    selector_condition,
)
from dovetail.providers.aws.status.step import StepResult

if TYPE_CHECKING:
    from types_aiobotocore_ec2 import EC2Client

FIELD: Final = "spec.subnetSelectorTerms"
NOT_FOUND: Final = "SubnetsNotFound"
_SELECTOR: Final = SelectorField(
    FIELD, ClassCondition.SUBNETS, NOT_FOUND, "subnet", "tag the subnets of the cluster"
)
_ACTION: Final = "ec2:DescribeSubnets"
_AGAIN_AFTER: Final = timedelta(minutes=1)


class SubnetAddresses(msgspec.Struct, frozen=True, gc=False):
    """A subnet with the addresses that are free."""

    id: str
    zone: str
    zone_id: str
    n_free: int


def subnet_terms(terms: Sequence[SubnetSelectorTerm]) -> tuple[SelectorTerm, ...]:
    """The terms as they are asked for; an id goes before tags."""
    return tuple(
        SelectorTerm(term_text({"id": term.id}, term.tags), term.id, tag_filters(term.tags))
        for term in terms
    )


def subnet_status(selection: Selection[SubnetAddresses]) -> tuple[Subnet, ...]:
    """The subnets of the status: those with most free addresses first, then by id."""
    ordered = sorted(selection.by_id.values(), key=lambda subnet: (-subnet.n_free, subnet.id))
    return tuple(
        Subnet(id=subnet.id, zone=subnet.zone, zone_id=subnet.zone_id) for subnet in ordered
    )


class SubnetSource:
    """Subnets by selector term."""

    def __init__(self, ec2: EC2Client, *, clock: Clock, keep_for: timedelta) -> None:
        self._ec2 = ec2
        self._source = SelectorSource(
            self._describe, id_filter="subnet-id", clock=clock, keep_for=keep_for
        )

    async def select(self, terms: Sequence[SelectorTerm]) -> Selection[SubnetAddresses]:
        """The subnets that match. Raises CallFailedError."""
        return await self._source.select(terms)

    async def _describe(self, filters: DescribeFilters) -> dict[str, SubnetAddresses]:
        by_id: dict[str, SubnetAddresses] = {}
        with calling(_ACTION):
            pages = self._ec2.get_paginator("describe_subnets")
            async for page in pages.paginate(Filters=[item.wire() for item in filters]):
                for subnet in required(page.get("Subnets"), _ACTION):
                    subnet_id = subnet.get("SubnetId", "")
                    by_id[subnet_id] = SubnetAddresses(
                        subnet_id,
                        subnet.get("AvailabilityZone", ""),
                        subnet.get("AvailabilityZoneId", ""),
                        subnet.get("AvailableIpAddressCount", 0),
                    )
        return by_id


class SubnetStep:
    """Evaluates `SubnetsReady`."""

    condition = ClassCondition.SUBNETS

    def __init__(self, source: SubnetSource) -> None:
        self._source = source

    async def evaluate(self, node_class: EC2NodeClass) -> StepResult:
        """The subnets now."""
        terms = subnet_terms(node_class.spec.subnet_selector_terms)
        selection = await self._source.select(terms)
        return StepResult(
            selector_condition(_SELECTOR, selection, terms),
            msgspec.structs.replace(node_class.status, subnets=subnet_status(selection)),
            _AGAIN_AFTER,
        )
