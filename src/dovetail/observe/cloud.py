"""Times every call to the cloud, and counts its errors by kind (`Measured`).

Method names are the reference's, for dashboards that filter by them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import Final, TypeVar

from dovetail.clock import Timer
from dovetail.cloud.errors import (
    CloudError,
    InsufficientCapacityError,
    NodeClaimNotFoundError,
    NodeClassNotReadyError,
)
from dovetail.cloud.provider import CloudProvider, Instance, NodeClassKind, NodeLifecycleHook
from dovetail.model.claim import ClaimObject
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node, RepairPolicy
from dovetail.model.pool import NodePool
from dovetail.observe.meters import Meters

_T = TypeVar("_T")
_NAMED: Final = (InsufficientCapacityError, NodeClaimNotFoundError, NodeClassNotReadyError)

_controller: Final[ContextVar[str]] = ContextVar("controller", default="")


@contextmanager
def on_behalf_of(controller: str) -> Iterator[None]:
    """Calls to the cloud within are this controller's."""
    token = _controller.set(controller)
    try:
        yield
    finally:
        _controller.reset(token)


class Measured:
    """A cloud, each call to which is timed."""

    def __init__(self, cloud: CloudProvider, meters: Meters, timer: Timer) -> None:
        self._cloud = cloud
        self._meters = meters
        self._timer = timer

    @property
    def name(self) -> str:
        """How metrics and messages name it."""
        return self._cloud.name

    @property
    def supported_node_classes(self) -> tuple[NodeClassKind, ...]:
        """Which node classes it launches with; the first is the default."""
        return self._cloud.supported_node_classes

    @property
    def repair_policies(self) -> tuple[RepairPolicy, ...]:
        """Which node conditions call for a replacement."""
        return self._cloud.repair_policies

    async def create(self, claim: ClaimObject) -> Instance:
        """Launch an instance for this claim."""
        return await self._time_call("Create", self._cloud.create(claim))

    async def delete(self, provider_id: str) -> None:
        """Begin to terminate, or go on with it."""
        await self._time_call("Delete", self._cloud.delete(provider_id))

    async def get(self, provider_id: str) -> Instance:
        """The instance as it is now."""
        return await self._time_call("Get", self._cloud.get(provider_id))

    async def list(self) -> tuple[Instance, ...]:
        """Every instance of this cluster."""
        return await self._time_call("List", self._cloud.list())

    async def instance_types(self, pool: NodePool) -> tuple[InstanceType, ...]:
        """Everything that the pool's node class could launch."""
        return await self._time_call("GetInstanceTypes", self._cloud.instance_types(pool))

    async def drift_reason(self, node: Node) -> str:
        """Why the instance is no longer what its node class asks for."""
        return await self._time_call("IsDrifted", self._cloud.drift_reason(node))

    async def _time_call(self, method: str, call: Awaitable[_T]) -> _T:
        called = {"controller": _controller.get(), "method": method, "provider": self.name}
        began = self._timer.elapsed_seconds()
        try:
            return await call
        except CloudError as error:
            self._meters.cloudprovider_errors_total.labels(**called, error=error_label(error)).inc()
            raise
        finally:
            spent = self._timer.elapsed_seconds() - began
            self._meters.cloudprovider_duration_seconds.labels(**called).observe(spent)


class _Hooked(Measured):
    """A cloud that wants a step taken before a node counts as registered."""

    def __init__(
        self, cloud: CloudProvider, hook: NodeLifecycleHook, meters: Meters, timer: Timer
    ) -> None:
        super().__init__(cloud, meters, timer)
        self._hook = hook

    async def registered(self, node: Node) -> timedelta | None:
        """When to ask again; None when this step is done."""
        return await self._hook.registered(node)


def measure(cloud: CloudProvider, meters: Meters, timer: Timer) -> Measured:
    """The cloud, each call timed; where it has a hook, with that. Its workers are not calls."""
    if isinstance(cloud, NodeLifecycleHook):
        return _Hooked(cloud, cloud, meters, timer)
    return Measured(cloud, meters, timer)


def error_label(error: CloudError) -> str:
    """The kind of error, for those that are counted apart."""
    return next((kind.__name__ for kind in _NAMED if isinstance(error, kind)), "")
