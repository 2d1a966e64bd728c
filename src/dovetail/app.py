"""Which parts make up the program? The only place that knows which clock, which files, which cloud.

Each function imports the parts it puts together, so that a command pays only for what it uses.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from time import perf_counter
from typing import BinaryIO, Final

import msgspec

from dovetail.model.instance import InstanceType
from dovetail.model.plan import Plan
from dovetail.model.policy import Policy
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.present.plan import Timings, buys_spot
from dovetail.present.table import SYNTHETIC_SPOT, counted

GENERIC: Final = "generic"
AWS: Final = "aws"


def instance_types(catalogue: str) -> tuple[InstanceType, ...]:
    """The instance types of a catalogue: a built-in one by name, or a file in kwok format."""
    from dovetail.providers.choose import by_name

    return by_name(catalogue)


def catalogue_text(types: Iterable[InstanceType]) -> str:
    """Instance types in the kwok format, which reads back as the same types."""
    from dovetail.cloud import catalogue_file

    return catalogue_file.render(types)


def price_notes(catalogues: Iterable[str]) -> tuple[str, ...]:
    """What must be said about the prices of these catalogues wherever they are shown."""
    return (SYNTHETIC_SPOT,) if AWS in catalogues else ()
