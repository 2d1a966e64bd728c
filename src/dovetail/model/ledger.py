"""Defines everything that a decision remembers of earlier ones; there is no other memory."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from dovetail.model.ending import InstanceEnding


class Nomination(msgspec.Struct, frozen=True, gc=False):
    """A pod that an earlier plan has given a node, until when that is believed."""

    pod_uid: str
    node: str
    until: datetime


class Refusal(msgspec.Struct, frozen=True, gc=False):
    """An offering that a provider could not deliver, and until when it is not asked again: for one
    pool, or for any where none is named.
    """

    instance_type: str
    zone: str
    capacity_type: str
    until: datetime
    node_pool: str = ""


class Proposal(msgspec.Struct, frozen=True, gc=False):
    """A node that could go, why, and since when that has been so: it is waited a while before
    anything is done about it.
    """

    reason: str
    node: str
    since: datetime


class Departure(msgspec.Struct, frozen=True, gc=False):
    """A node that is being taken away, why, and since when. It counts as leaving."""

    node: str
    reason: str
    since: datetime


class EvictionCount(msgspec.Struct, frozen=True, gc=False):
    """How many pods of a workload were evicted in the hour that begins then."""

    workload: str
    hour: datetime
    n_evictions: int


class Setback(msgspec.Struct, frozen=True, gc=False):
    """A node that could not be taken away, and until when that is not tried again."""

    node: str
    until: datetime


class Ledger(msgspec.Struct, frozen=True, gc=False):
    """The memory between decisions. Launches under way are nodes of the snapshot."""

    nominations: tuple[Nomination, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    reserved_by_id: Mapping[str, int] = {}
    proposals: tuple[Proposal, ...] = ()
    disrupting: tuple[Departure, ...] = ()
    evictions: tuple[EvictionCount, ...] = ()
    setbacks: tuple[Setback, ...] = ()
    # By provider id: those that are due, whose nodes count as leaving, and those that are known.
    endings: tuple[InstanceEnding, ...] = ()
    later_endings: tuple[InstanceEnding, ...] = ()
