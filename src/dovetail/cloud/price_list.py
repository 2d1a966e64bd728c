"""Lists the offerings that would serve a claim, cheapest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from dovetail import labels
from dovetail.cloud.errors import SoldOut
from dovetail.model.claim import ClaimObject
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.requirements import Requirement, Requirements
from dovetail.model.resources import fits

_FROM_THE_CLAIM: Final = frozenset({labels.NODE_POOL, labels.HOSTNAME})


class Priced(msgspec.Struct, frozen=True, gc=False):
    """One instance type, offered in one way."""

    instance_type: InstanceType
    offering: Offering

    @property
    def sold_out(self) -> SoldOut:
        """What to say when it cannot be had."""
        return SoldOut(self.instance_type.name, self.offering.zone, self.offering.capacity_type)


class PriceList:
    """Every offering of a catalogue in the order of price; equal prices go by name."""

    def __init__(self, types: Sequence[InstanceType]) -> None:
        self._choices = tuple(
            sorted((Priced(kind, at) for kind in types for at in kind.offerings), key=_order)
        )

    def serving(self, claim: ClaimObject) -> Iterator[Priced]:
        """What is available and would do for the claim, cheapest first."""
        wanted = Requirements(claim.requirements)
        names = wanted.get(labels.INSTANCE_TYPE)
        verdicts: dict[str, bool] = {}
        for choice in self._choices:
            kind = choice.instance_type
            if not choice.offering.is_available or (names and not names.has(kind.name)):
                continue
            if kind.name not in verdicts:
                verdicts[kind.name] = _type_serves(kind, claim, wanted)
            if verdicts[kind.name] and _offering_serves(choice, wanted):
                yield choice


def labels_of(choice: Priced, claim: ClaimObject) -> dict[str, str]:
    """The labels that a node of this choice gets: one value where the claim leaves several."""
    wanted = Requirements(claim.requirements)
    stated = choice.instance_type.requirements & choice.offering.requirements
    pinned = {}
    for key, need in stated.items():
        narrowed = need & wanted[key] if key in wanted else need
        if not narrowed.complement and narrowed.values:
            pinned[key] = min(narrowed.values)
    return pinned


def _order(choice: Priced) -> tuple[int, str, str, str, str]:
    at = choice.offering
    return (
        at.price_nanousd,
        choice.instance_type.name,
        at.zone,
        at.capacity_type,
        at.reservation_id,
    )


def _type_serves(kind: InstanceType, claim: ClaimObject, wanted: Requirements) -> bool:
    asked = claim.requests
    if labels.CAPACITY_OVERLAY_APPLIED in claim.annotations:
        # An overlay promised resources that the catalogue does not know of.
        asked = {name: amount for name, amount in asked.items() if name in kind.capacity}
    return fits(asked, kind.allocatable) and kind.requirements.intersects(wanted)


def _offering_serves(choice: Priced, wanted: Requirements) -> bool:
    needs, at = choice.instance_type.requirements, choice.offering.requirements
    if not at.intersects(wanted):
        return False
    return all(
        key in needs or key in at or key in _FROM_THE_CLAIM or _may_be_absent(need)
        for key, need in wanted.items()
    )


def _may_be_absent(wanted: Requirement) -> bool:
    """Whether a node without a word from its type may satisfy this: the claim labels it itself."""
    return wanted.tolerates_absence or not labels.is_well_known(wanted.key)
