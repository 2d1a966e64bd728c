"""Chooses what to launch for a filled claim: the cheapest offering that fits.

Which offering that is, the provider decides; the cheapest is what all do that are told to save
money.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from dovetail import labels
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.plan import Launch
from dovetail.model.requirements import Requirement, Requirements
from dovetail.sim.fast.claimed import fixed_labels
from dovetail.sim.reference.menus import Bits
from dovetail.sim.reference.places import Claim


class TypeChoice(msgspec.Struct, frozen=True):
    """A type and one way to get it."""

    kind: InstanceType
    offering: Offering


def cheapest(claim: Claim, bits: Bits, wanted: Requirements) -> TypeChoice | None:
    """The cheapest of these types that can be had with these labels."""
    for _, index, offering in claim.menu.offers(wanted):
        if bits >> index & 1:
            return TypeChoice(claim.menu.types[index], offering)
    return None


def launches(claims: Sequence[Claim], revision: int, n_before: int = 0) -> Iterator[Launch]:
    """The claims as a plan says them."""
    for number, claim in enumerate(claims, n_before + 1):
        launched = launch(claim, f"{claim.menu.pool.name}-{revision}-{number}")
        if launched is not None:
            yield launched


def launch(
    claim: Claim, name: str, *, bits: Bits | None = None, wanted: Requirements | None = None
) -> Launch | None:
    """One claim as a plan says it, perhaps with fewer types than it could have."""
    bits = claim.bits if bits is None else bits
    wanted = claim.requirements if wanted is None else wanted
    chosen = cheapest(claim, bits, wanted)
    if chosen is None:
        return None
    pool, kind, offering = claim.menu.pool, chosen.kind, chosen.offering
    others = [item for item in claim.menu.names(bits) if item != kind.name]
    return Launch(
        name=name,
        node_pool=pool.name,
        instance_type=kind.name,
        zone=offering.zone,
        capacity_type=offering.capacity_type,
        price_nanousd=offering.price_nanousd,
        instance_types=(kind.name, *others),
        requests=_with_daemons(claim, kind),
        pods=tuple(pod.key for pod in claim.pods),
        labels={**fixed_labels(kind, offering), **pool.labels, labels.HOSTNAME: name},
        requirements=tuple(_requirements_of(wanted, kind, others)),
        taints=pool.taints,
        startup_taints=pool.startup_taints,
        allocatable=kind.allocatable,
        reservation_id=offering.reservation_id,
    )


def _with_daemons(claim: Claim, kind: InstanceType) -> Mapping[str, int]:
    overhead = claim.menu.overheads[claim.menu.types.index(kind)]
    names = {**claim.requests, **overhead}
    return {name: claim.requests.get(name, 0) + overhead.get(name, 0) for name in names}


def _requirements_of(
    wanted: Requirements, kind: InstanceType, others: list[str]
) -> Iterator[Requirement]:
    yield Requirement(labels.INSTANCE_TYPE, False, frozenset({kind.name, *others}))
    for key in (labels.CAPACITY_TYPE, labels.ZONE):
        if key in wanted:
            yield wanted[key]
