"""Defines what a cloud must be able to do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable

import msgspec

from dovetail.cloud.errors import SoldOut
from dovetail.model.claim import ClaimObject
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node, RepairPolicy
from dovetail.model.pool import NodePool


class Instance(msgspec.Struct, frozen=True, gc=False):
    """A machine as its cloud reports it. `labels` are all that the cloud has fixed.

    `sold_out` is said once, by the launch: what would have been cheaper and could not be had.
    """

    provider_id: str
    node_claim: str = ""  # empty: the cloud does not say for which claim it runs
    node_claim_uid: str = ""
    node_pool: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    capacity: Mapping[str, int] = {}
    allocatable: Mapping[str, int] = {}
    image_id: str = ""
    created_at: datetime | None = None
    is_terminating: bool = False
    sold_out: tuple[SoldOut, ...] = ()


class NodeClassKind(msgspec.Struct, frozen=True, gc=False):
    """A kind of node class that a cloud understands."""

    group: str
    kind: str


@runtime_checkable
class CloudProvider(Protocol):
    """A cloud. Every call may raise `CloudError` (see `cloud/errors.py`)."""

    @property
    def name(self) -> str:
        """How metrics and messages name it."""
        ...

    @property
    def supported_node_classes(self) -> tuple[NodeClassKind, ...]:
        """Which node classes it launches with; the first is the default."""
        ...

    @property
    def repair_policies(self) -> tuple[RepairPolicy, ...]:
        """Which node conditions call for a replacement."""
        ...

    async def create(self, claim: ClaimObject) -> Instance:
        """Launch an instance for this claim: the cheapest that would do and can be had.

        A claim, told by its UID, has one instance: calling again gives the same one, also while
        another call is under way, and after a crash in the middle of one.
        """
        ...

    async def delete(self, provider_id: str) -> None:
        """Begin to terminate, or go on with it: called until the instance is gone, which is said
        by NodeClaimNotFoundError.
        """
        ...

    async def get(self, provider_id: str) -> Instance:
        """The instance as it is now. Raises NodeClaimNotFoundError when there is none."""
        ...

    async def list(self) -> tuple[Instance, ...]:
        """Every instance of this cluster, also one that is terminating, by provider id."""
        ...

    async def instance_types(self, pool: NodePool) -> tuple[InstanceType, ...]:
        """Everything that the pool's node class could launch, unavailable types included."""
        ...

    async def drift_reason(self, node: Node) -> str:
        """Why the instance is no longer what its node class asks for; empty if it still is."""
        ...


@runtime_checkable
class NodeLifecycleHook(Protocol):
    """A step that a cloud wants taken before a node counts as registered."""

    @property
    def name(self) -> str:
        """How messages name it."""
        ...

    async def registered(self, node: Node) -> timedelta | None:
        """When to ask again; None when this step is done."""
        ...


@runtime_checkable
class CloudWorker(Protocol):
    """A cloud that has work of its own to do for as long as it is in use."""

    async def run(self) -> None:
        """Work until cancelled. One replica does it at a time."""
        ...


class NamedWorker(msgspec.Struct, frozen=True):
    """A controller of a provider: `run` works until cancelled, and is started again if it fails."""

    name: str
    run: Callable[[], Awaitable[None]]


@runtime_checkable
class CloudWorkers(Protocol):
    """A cloud with several controllers of its own."""

    @property
    def workers(self) -> tuple[NamedWorker, ...]:
        """Each runs for as long as this replica leads."""
        ...


def workers_of(cloud: CloudProvider) -> tuple[NamedWorker, ...]:
    """All controllers of a cloud, one or several."""
    own = (NamedWorker("cloud", cloud.run),) if isinstance(cloud, CloudWorker) else ()
    return (*own, *cloud.workers) if isinstance(cloud, CloudWorkers) else own
