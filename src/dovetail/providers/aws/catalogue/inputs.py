"""Defines what the instance types of a node class are computed from, besides the class itself."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from dovetail.providers.aws.catalogue.machines import MachineType


class UnavailableOffering(msgspec.Struct, frozen=True, gc=False):
    """An offering with insufficient capacity; with a placement group, only for that group."""

    instance_type: str
    zone: str
    capacity_type: str
    placement_group_id: str = ""
    partition: str = ""


class PlacementGroupFacts(msgspec.Struct, frozen=True, gc=False):
    """A resolved placement group. `n_partitions` is 0 unless the strategy is `partition`."""

    id: str
    strategy: str
    n_partitions: int = 0


class CatalogueInputs(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Everything known of machines, zones, prices and capacity at one moment.

    Two are equal only if they are the same object: whoever changes something makes a new one, and
    nothing is computed again while it is the same.
    """

    machines: tuple[MachineType, ...]
    region: str
    zones: Mapping[
        str, tuple[str, ...]
    ] = {}  # where each type is offered, by type; empty: not known yet
    zone_ids: Mapping[str, str] = {}  # by zone
    on_demand_nanousd: Mapping[str, int] = {}  # by type
    spot_nanousd: Mapping[tuple[str, str], int] = {}  # by type and zone
    knows_spot: bool = False  # False: no spot prices yet, on-demand prices stand in
    unavailable: frozenset[UnavailableOffering] = frozenset()
    unavailable_capacity_types: frozenset[str] = frozenset()
    unavailable_subnets: frozenset[str] = frozenset()  # by id
    shifted_zones: frozenset[str] = frozenset()  # by zone id: traffic is shifted away
    memory_bytes: Mapping[tuple[str, str], int] = {}  # seen on nodes, by type and image set
    reservation_counts: Mapping[str, int] = {}  # instances left, by reservation
    placement_groups: Mapping[str, PlacementGroupFacts] = {}  # by name of the node class
    overlaid_types: frozenset[str] = frozenset()  # a NodeOverlay gives their price
