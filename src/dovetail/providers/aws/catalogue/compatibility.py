"""Checks whether instances of a node class can run on a machine type."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Final

from dovetail.providers.aws.bootstrap.families import Family, traits
from dovetail.providers.aws.catalogue.class_facts import FitFacts
from dovetail.providers.aws.catalogue.machines import MachineType
from dovetail.providers.aws.node_class.types import NetworkInterface

_EFA_ONLY: Final = "efa-only"
_FIRST_GRAVITON: Final = "a1"  # AL2023 does not run on it


@lru_cache(maxsize=1 << 14)
def is_compatible(machine: MachineType, fit: FitFacts) -> bool:
    """Whether the machine can do all that the class asks for."""
    return (
        _boots(machine, fit.family)
        and (machine.nests_virtualization or not fit.nests_virtualization)
        and (machine.is_nitro or not fit.tracks_connections)
        and (not fit.placement_strategy or fit.placement_strategy in machine.placement_strategies)
        and (not fit.interfaces or _takes(machine, fit.interfaces))
    )


def _boots(machine: MachineType, family: Family) -> bool:
    if family is Family.AL2023 and machine.family == _FIRST_GRAVITON:
        return False
    return traits(family).os == "linux" or machine.arch == "amd64"


def _takes(machine: MachineType, interfaces: tuple[NetworkInterface, ...]) -> bool:
    """Whether the network cards have places for all the interfaces."""
    n_efa_only = sum(interface.interface_type == _EFA_ONLY for interface in interfaces)
    on_card = Counter(interface.network_card_index for interface in interfaces)
    places = dict(enumerate(machine.card_interfaces))
    return (
        machine.has_ena
        and n_efa_only <= machine.efas
        and all(count <= places.get(card, 0) for card, count in on_card.items())
        and all(card.device_index < places.get(card.network_card_index, 0) for card in interfaces)
    )
