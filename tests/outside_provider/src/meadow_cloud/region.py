"""Stands for the cloud itself: what would be reached over the network."""

from __future__ import annotations

from datetime import datetime

import msgspec

from dovetail.cloud.errors import SoldOut
from dovetail.cloud.provider import Instance


class Machine(msgspec.Struct, frozen=True):
    """A machine with the image that it booted."""

    instance: Instance
    image: str


class Region:
    """Every machine of a region, what is sold out, and which machines are to be interrupted."""

    def __init__(self) -> None:
        self.machines: dict[str, Machine] = {}  # by provider id
        self.sold_out: set[SoldOut] = set()
        self.interruptions: dict[str, datetime] = {}  # by provider id


_REGIONS: dict[str, Region] = {}


def region(name: str) -> Region:
    """The region of this name."""
    return _REGIONS.setdefault(name, Region())
