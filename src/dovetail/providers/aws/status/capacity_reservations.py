"""Resolves `spec.capacityReservationSelectorTerms`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from dovetail.clock import Clock
from dovetail.providers.aws.calls import CallFailedError, Failure, calling, required
from dovetail.providers.aws.filters import DescribeFilter, tag_filters, term_text, unmatched_text
from dovetail.providers.aws.node_class.types import (
    CapacityReservation,
    CapacityReservationSelectorTerm,
    EC2NodeClass,
)
from dovetail.providers.aws.status.conditions import ClassCondition, ConditionUpdate, holds
from dovetail.providers.aws.status.selection import (
    DescribeFilters,
    Selection,
    SelectorSource,
    SelectorTerm,
)
from dovetail.providers.aws.status.step import StepResult

if TYPE_CHECKING:
    from types_aiobotocore_ec2 import EC2Client
    from types_aiobotocore_ec2.type_defs import CapacityReservationTypeDef

FIELD: Final = "spec.capacityReservationSelectorTerms"
BLOCK: Final = "capacity-block"
EXPIRING: Final = "expiring"
# EC2 reclaims a capacity block 30 minutes before its end; nodes are drained 10 minutes earlier.
BLOCK_ENDS_EARLY_BY: Final = timedelta(minutes=40)
_ACTION: Final = "ec2:DescribeCapacityReservations"
_AGAIN_AFTER: Final = timedelta(minutes=1)
_KEPT_FOR: Final = timedelta(seconds=30)  # shorter than the time between two passes
_IDS: Final = "capacity-reservation-id"  # no filter of EC2: ids are a parameter of their own
_ACTIVE: Final = DescribeFilter("state", ("active",))


def reservation_terms(terms: Sequence[CapacityReservationSelectorTerm]) -> tuple[SelectorTerm, ...]:
    """The terms as they are asked for; an id goes before everything else."""
    return tuple(_term(term) for term in terms)


def _term(term: CapacityReservationSelectorTerm) -> SelectorTerm:
    fields = {
        "id": term.id,
        "ownerID": term.owner_id,
        "instanceMatchCriteria": term.instance_match_criteria,
    }
    owner = (DescribeFilter("owner-id", (term.owner_id,)),) if term.owner_id else ()
    criteria = (
        (DescribeFilter("instance-match-criteria", (term.instance_match_criteria,)),)
        if term.instance_match_criteria
        else ()
    )
    filters = (*owner, *criteria, *tag_filters(term.tags))
    return SelectorTerm(term_text(fields, term.tags), term.id, filters)


def reservation_status(
    selection: Selection[CapacityReservation], now: datetime
) -> tuple[CapacityReservation, ...]:
    """The reservations of the status, by id; a capacity block near its end is expiring."""
    return tuple(
        msgspec.structs.replace(item, state=EXPIRING) if _is_expiring(item, now) else item
        for item in selection.by_id.values()
        if item.end_time is None or now < item.end_time
    )


def _is_expiring(reservation: CapacityReservation, now: datetime) -> bool:
    end = reservation.end_time
    is_block = reservation.reservation_type == BLOCK
    return is_block and end is not None and now >= end - BLOCK_ENDS_EARLY_BY


def reservations_again_after(
    reservations: Sequence[CapacityReservation], now: datetime
) -> timedelta:
    """When to look again: in a minute, or sooner when one ends or begins to expire."""
    moments = [
        moment
        for reservation in reservations
        if reservation.end_time is not None
        for moment in (reservation.end_time, reservation.end_time - BLOCK_ENDS_EARLY_BY)
        if moment > now
    ]
    return min([_AGAIN_AFTER, *(moment - now for moment in moments)])


def reservation_condition(
    selection: Selection[CapacityReservation], terms: Sequence[SelectorTerm]
) -> ConditionUpdate:
    """It always holds: a class launches without reservations. The message names empty terms."""
    unmatched = unmatched_text(FIELD, selection.unmatched, [term.text for term in terms])
    note = f"no active capacity reservation matches {unmatched}" if unmatched else ""
    return holds(ClassCondition.CAPACITY_RESERVATIONS, note)


class CapacityReservationStep:
    """Evaluates `CapacityReservationsReady`; left out where the gate ReservedCapacity is off."""

    condition = ClassCondition.CAPACITY_RESERVATIONS

    def __init__(self, ec2: EC2Client, clock: Clock) -> None:
        self._ec2 = ec2
        self._clock = clock
        self._source = SelectorSource(
            self._describe, id_filter=_IDS, clock=clock, keep_for=_KEPT_FOR
        )

    async def evaluate(self, node_class: EC2NodeClass) -> StepResult:
        """The reservations now."""
        terms = reservation_terms(node_class.spec.capacity_reservation_selector_terms)
        selection = await self._source.select(terms)
        now = self._clock.now()
        reservations = reservation_status(selection, now)
        return StepResult(
            reservation_condition(selection, terms),
            msgspec.structs.replace(node_class.status, capacity_reservations=reservations),
            reservations_again_after(reservations, now) if terms else None,
        )

    async def _describe(self, filters: DescribeFilters) -> dict[str, CapacityReservation]:
        ids = [value for item in filters if item.name == _IDS for value in item.values]
        others = tuple(item for item in filters if item.name != _IDS)
        try:
            return await self._describe_filtered(ids, others)
        except CallFailedError as error:
            if error.failure is not Failure.NOT_FOUND:
                raise
        if len(ids) <= 1:
            return {}
        # One id that does not exist spoils the answer for all of them.
        answers = [await self._describe((DescribeFilter(_IDS, (name,)),)) for name in ids]
        return {key: reservation for answer in answers for key, reservation in answer.items()}

    async def _describe_filtered(
        self, ids: Sequence[str], filters: DescribeFilters
    ) -> dict[str, CapacityReservation]:
        by_id: dict[str, CapacityReservation] = {}
        wire = [item.wire() for item in (*filters, _ACTIVE)]
        with calling(_ACTION):
            pages = self._ec2.get_paginator("describe_capacity_reservations")
            async for page in pages.paginate(CapacityReservationIds=ids, Filters=wire):
                for described in required(page.get("CapacityReservations"), _ACTION):
                    reservation = capacity_reservation(described)
                    by_id[reservation.id] = reservation
        return by_id


def capacity_reservation(described: CapacityReservationTypeDef) -> CapacityReservation:
    """A reservation as the status has it."""
    return CapacityReservation(
        id=described.get("CapacityReservationId", ""),
        instance_type=described.get("InstanceType", ""),
        availability_zone=described.get("AvailabilityZone", ""),
        owner_id=described.get("OwnerId", ""),
        instance_match_criteria=described.get("InstanceMatchCriteria", ""),
        reservation_type=described.get("ReservationType", "default"),
        interruptible=described.get("Interruptible", False),
        end_time=described.get("EndDate"),
    )
