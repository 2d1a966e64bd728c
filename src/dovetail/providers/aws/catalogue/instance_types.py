"""Computes the instance types of an EC2NodeClass: labels, capacity, allocatable and offerings."""

from __future__ import annotations

from functools import lru_cache

from dovetail.model.instance import InstanceType
from dovetail.providers.aws.catalogue.capacity import node_resources
from dovetail.providers.aws.catalogue.class_facts import (
    NO_GROUP,
    ClassFacts,
    PlaceFacts,
    ReservationFacts,
    class_facts,
)
from dovetail.providers.aws.catalogue.compatibility import is_compatible
from dovetail.providers.aws.catalogue.inputs import (
    CatalogueInputs,
    PlacementGroupFacts,
    UnavailableOffering,
)
from dovetail.providers.aws.catalogue.machines import MachineType
from dovetail.providers.aws.catalogue.node_labels import offered_labels, requirements
from dovetail.providers.aws.catalogue.offerings import (
    UNKNOWN,
    OfferedZone,
    ReservedPlace,
    TypeMarket,
    offerings,
)
from dovetail.providers.aws.node_class.types import EC2NodeClass
from dovetail.providers.aws.settings import AwsSettings

__all__ = [
    "CatalogueInputs",
    "PlacementGroupFacts",
    "UnavailableOffering",
    "instance_types",
    "resolve",
]

_Marks = dict[str, frozenset[tuple[str, str, str]]]


def instance_types(
    node_class: EC2NodeClass, inputs: CatalogueInputs, settings: AwsSettings
) -> tuple[InstanceType, ...]:
    """Everything that the class could launch, unavailable types included.

    The same inputs, and a class that differs only in what does not matter here, give the same
    object.
    """
    group = inputs.placement_groups.get(node_class.metadata.name, NO_GROUP)
    return resolve(class_facts(node_class, settings, group), inputs)


@lru_cache(maxsize=32)
def resolve(facts: ClassFacts, inputs: CatalogueInputs) -> tuple[InstanceType, ...]:
    """The instance types for what is known of a class."""
    resolution = _Resolution(facts, inputs)
    return tuple(resolution.instance_type(machine) for machine in inputs.machines)


class _Resolution:
    """The instance types of one class: what is common to all of them is worked out once."""

    def __init__(self, facts: ClassFacts, inputs: CatalogueInputs) -> None:
        self._facts = facts
        self._inputs = inputs
        self._place = PlaceFacts(
            region=inputs.region,
            os=facts.capacity.os,
            windows_build=facts.windows_build,
            placement_group=facts.placement_group,
        )
        self._zone_ids = dict(inputs.zone_ids) | {
            place.zone: place.zone_id for place in facts.subnet_zones
        }
        self._open = frozenset(
            place.zone
            for place in facts.subnet_zones
            if not inputs.unavailable_subnets.issuperset(place.subnets)
            and place.zone_id not in inputs.shifted_zones
        )
        self._marks = _marks(facts, inputs)
        self._reservations = _by_type(facts.reservations)

    def instance_type(self, machine: MachineType) -> InstanceType:
        """One machine type, as nodes of the class will be."""
        facts = self._facts
        memory = self._inputs.memory_bytes.get((machine.name, facts.image_set), 0)
        resources = node_resources(machine, facts.capacity, memory)
        listed = offerings(self._market(machine, is_usable=not resources.error))
        zones = tuple(sorted({(item.zone, self._zone_ids.get(item.zone, "")) for item in listed}))
        capacity_types = tuple(sorted({offering.capacity_type for offering in listed}))
        return InstanceType(
            name=machine.name,
            requirements=requirements(machine, self._place, offered_labels(zones, capacity_types)),
            capacity=resources.capacity,
            allocatable=resources.allocatable,
            offerings=listed,
            attach_limits=resources.attach_limits,
        )

    def _market(self, machine: MachineType, *, is_usable: bool) -> TypeMarket:
        inputs, facts = self._inputs, self._facts
        is_overlaid = machine.name in inputs.overlaid_types
        price = inputs.on_demand_nanousd.get(machine.name, 0 if is_overlaid else UNKNOWN)
        return TypeMarket(
            places=tuple(
                OfferedZone(
                    zone=zone,
                    zone_id=self._zone_ids.get(zone, ""),
                    is_open=zone in self._open,
                    spot_nanousd=self._spot(machine, zone, price),
                )
                for zone in self._zones(machine.name)
            ),
            on_demand_nanousd=price,
            is_compatible=is_usable and is_compatible(machine, facts.fit),
            has_spot=machine.has_spot,
            n_partitions=facts.placement_group.n_partitions,
            marks=self._marks.get(machine.name, frozenset()) | self._marks.get("", frozenset()),
            reservations=tuple(
                self._reserved_place(reservation)
                for reservation in self._reservations.get(machine.name, ())
            ),
        )

    def _zones(self, name: str) -> tuple[str, ...]:
        """Where the type is offered; until EC2 has said so, wherever the class has subnets."""
        if not self._inputs.zones:
            return tuple(place.zone for place in self._facts.subnet_zones)
        return self._inputs.zones.get(name, ())

    def _spot(self, machine: MachineType, zone: str, on_demand_nanousd: int) -> int:
        # The plain catalogue lists spot of every type, as unavailable where EC2 sells none.
        if not machine.has_spot and self._facts.capacity.has_class:
            return UNKNOWN
        if not self._inputs.knows_spot:
            return on_demand_nanousd
        return self._inputs.spot_nanousd.get((machine.name, zone), UNKNOWN)

    def _reserved_place(self, reservation: ReservationFacts) -> ReservedPlace:
        return ReservedPlace(
            id=reservation.id,
            zone=reservation.zone,
            zone_id=self._zone_ids.get(reservation.zone, ""),
            reservation_type=reservation.reservation_type,
            is_interruptible=reservation.is_interruptible,
            is_open=reservation.zone in self._open and not reservation.is_expiring,
            n_left=self._inputs.reservation_counts.get(reservation.id, 0),
        )


def _marks(facts: ClassFacts, inputs: CatalogueInputs) -> _Marks:
    """The unavailable offerings that concern the class, by type; those of all types under ''.

    A mark without a placement group holds for every class.
    """
    marks: dict[str, set[tuple[str, str, str]]] = {}
    for offering in inputs.unavailable:
        if offering.placement_group_id in ("", facts.placement_group.id):
            key = (offering.zone, offering.capacity_type, offering.partition)
            marks.setdefault(offering.instance_type, set()).add(key)
    if inputs.unavailable_capacity_types:
        marks[""] = {
            (place.zone, capacity_type, "")
            for place in facts.subnet_zones
            for capacity_type in inputs.unavailable_capacity_types
        }
    return {name: frozenset(offerings) for name, offerings in marks.items()}


def _by_type(reservations: tuple[ReservationFacts, ...]) -> dict[str, tuple[ReservationFacts, ...]]:
    by_type: dict[str, tuple[ReservationFacts, ...]] = {}
    for reservation in sorted(reservations, key=lambda item: item.id):
        others = by_type.get(reservation.instance_type, ())
        by_type[reservation.instance_type] = (*others, reservation)
    return by_type
