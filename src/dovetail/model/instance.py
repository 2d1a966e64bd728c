"""Defines instance types, and where, how and at what price each is offered."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from dovetail.model.requirements import Requirements


class Offering(msgspec.Struct, frozen=True, gc=False):
    """One way to get an instance type. Prices are per hour, in billionths of a dollar.

    `requirements` holds every label that this offering fixes, zone and capacity type included.
    """

    zone: str
    capacity_type: str
    price_nanousd: int
    requirements: Requirements
    is_available: bool = True
    reservation_id: str = ""
    reservation_capacity: int = 0  # how many may still be launched; only for reserved
    is_overlaid: bool = False


class InstanceType(msgspec.Struct, frozen=True, gc=False):
    """A machine shape. `allocatable` is `capacity` less what the system keeps for itself.

    `requirements` holds the labels that the type fixes (several values: any of them can be had).
    `attach_limits` says how many volumes of a CSI driver a node of this type takes, where known.
    """

    name: str
    requirements: Requirements
    capacity: Mapping[str, int]
    allocatable: Mapping[str, int]
    offerings: tuple[Offering, ...]
    attach_limits: Mapping[str, int] = {}
    is_overlaid: bool = False
