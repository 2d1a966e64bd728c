"""Defines what the conformance suite needs of a cloud."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Final, Protocol

from dovetail import labels
from dovetail.cloud.errors import NodeClaimNotFoundError, SoldOut
from dovetail.cloud.provider import CloudProvider, Instance
from dovetail.model.claim import ClaimObject
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirement

_MOST_CALLS: Final = 20  # of delete, until an instance is gone


class CloudUnderTest(Protocol):
    """A cloud with nothing in it, and a hand on what is behind it."""

    @property
    def provider(self) -> CloudProvider:
        """The provider that is judged; if it has work to do (`CloudWorker`), that goes on."""
        ...

    @property
    def pool(self) -> NodePool:
        """A pool with a node class that is ready."""
        ...

    def restarted(self) -> CloudProvider:
        """Another provider of the same cloud, as after a restart or in a second replica."""
        ...

    async def claim(self, name: str, *requirements: Requirement) -> ClaimObject:
        """A claim of that pool, made wherever the cloud expects to find it."""
        ...

    async def sell_out(self, offering: SoldOut) -> None:
        """From now on, that offering cannot be had."""
        ...

    async def settle(self) -> None:
        """Let happen whatever was begun: machines start, or end."""
        ...

    async def moment(self) -> None:
        """Let a call get just a little further: one step of the event loop where nothing waits
        for the outside, else the shortest while between two things that a cloud can notice.
        """
        ...


def identity(instance: Instance) -> tuple[str, str, str, SoldOut]:
    """What may not change in an instance's life."""
    return (instance.provider_id, instance.node_claim, instance.node_claim_uid, taken(instance))


def taken(instance: Instance) -> SoldOut:
    """The offering that an instance came from."""
    keys = (labels.INSTANCE_TYPE, labels.ZONE, labels.CAPACITY_TYPE)
    return SoldOut(*[instance.labels[key] for key in keys])


def sold_out(instance_type: InstanceType, at: Offering) -> SoldOut:
    """What this offering is called once it cannot be had."""
    return SoldOut(instance_type.name, at.zone, at.capacity_type)


async def ids(provider: CloudProvider) -> list[str]:
    """The provider ids of all that it lists."""
    return [instance.provider_id for instance in await provider.list()]


async def offered(
    cloud: CloudUnderTest, wanted: Iterable[Requirement]
) -> list[tuple[InstanceType, Offering]]:
    """All that is available and meets these requirements, worked out the slow way."""
    types = await cloud.provider.instance_types(cloud.pool)
    asked = tuple(wanted)
    return [
        (instance_type, at)
        for instance_type in types
        for at in instance_type.offerings
        if at.is_available and all(_meets(instance_type, at, want) for want in asked)
    ]


def _meets(instance_type: InstanceType, at: Offering, want: Requirement) -> bool:
    stated = at.requirements.get(want.key) or instance_type.requirements.get(want.key)
    if stated is None or not stated.values:
        return want.tolerates_absence
    return any(want.has(value) for value in stated.values)


async def breaks_off(
    cloud: CloudUnderTest, work: Coroutine[None, None, object], n_moments: int
) -> bool:
    """Begin, and die after so many moments; False if it was done by then."""
    async with asyncio.TaskGroup() as group:
        working = group.create_task(work)
        for _ in range(n_moments):
            await cloud.moment()
        working.cancel()
    return working.cancelled()


async def until_gone(cloud: CloudUnderTest, provider_id: str) -> None:
    """Delete until there is nothing left to delete."""
    for _ in range(_MOST_CALLS):
        try:
            await cloud.provider.delete(provider_id)
        except NodeClaimNotFoundError:
            await must_not_be_found(cloud.provider, provider_id)
            assert provider_id not in await ids(cloud.provider)
            return
        await cloud.settle()
    msg = f"{provider_id} is still there after {_MOST_CALLS} deletions"
    raise AssertionError(msg)


async def must_not_be_found(provider: CloudProvider, provider_id: str) -> None:
    """Fail if the provider knows of such an instance."""
    for call in (provider.get, provider.delete):
        try:
            await call(provider_id)
        except NodeClaimNotFoundError:
            continue
        msg = f"{call.__name__} finds {provider_id!r}"
        raise AssertionError(msg)
