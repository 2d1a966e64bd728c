"""Defines nodes, and claims whose node has yet to appear."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from dovetail import labels as well_known
from dovetail.model.taints import Taint


class Condition(msgspec.Struct, frozen=True, gc=False):
    """One status condition."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    changed_at: datetime | None = None
    observed_generation: int = 0  # of the object, when this was said of it


class RepairPolicy(msgspec.Struct, frozen=True, gc=False):
    """A node condition that means broken, and for how long it is put up with."""

    condition_type: str
    condition_status: str
    tolerated_for: timedelta


class Node(msgspec.Struct, frozen=True, gc=False):
    """A node and its claim as one thing: what is known of either, the node's word first.

    A claim in flight is a Node whose `name` is the claim's. `taints` are as observed; what still
    counts while the node starts is worked out by `decide/nodes.py`. Our own word to the scheduler
    that pods should rather go elsewhere is not among them, but `is_discouraged`.
    """

    name: str
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    capacity: Mapping[str, int] = {}
    allocatable: Mapping[str, int] = {}
    node_pool: str = ""  # empty: not ours
    node_claim: str = ""  # empty: no claim
    provider_id: str = ""
    is_registered: bool = True
    is_initialized: bool = True
    is_ready: bool = True
    is_unschedulable: bool = False  # cordoned
    is_discouraged: bool = False
    attach_limits: Mapping[str, int] = {}
    conditions: tuple[Condition, ...] = ()
    created_at: datetime | None = None
    deleting_at: datetime | None = None
    last_pod_event_at: datetime | None = None
    termination_grace_period: timedelta | None = None  # None: draining takes as long as it takes

    @property
    def instance_type(self) -> str:
        """Its instance type, by label."""
        return self.labels.get(well_known.INSTANCE_TYPE, "")

    @property
    def zone(self) -> str:
        """Its zone, by label."""
        return self.labels.get(well_known.ZONE, "")

    @property
    def capacity_type(self) -> str:
        """Its capacity type, by label."""
        return self.labels.get(well_known.CAPACITY_TYPE, "")
