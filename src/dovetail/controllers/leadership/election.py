"""Elects the replica that works: the one that holds a Lease and goes on renewing it.

The fields of the Lease are those of client-go, so that other programs may take part. Clocks of
replicas may differ: how old a lease is counts from when we saw it change, by our own timer. The
holder stops by itself before another replica may take it, even when the API cannot be reached: a
leader leads for `renew_seconds` after it began its last renewal that succeeded, others wait for
`lease_seconds` after they saw that renewal. Every write names the version of the Lease that it
changes, so that of two takers one fails.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from dovetail import api
from dovetail.clock import Clock, Timer, ends_within, happens_within
from dovetail.errors import DovetailError
from dovetail.kube.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from dovetail.kube.http import in_cluster
from dovetail.kube.seam import Body, Json, Kube, Patch, Ref
from dovetail.model.backoff import Chance
from dovetail.observe.logs import Log

LEASE: Final = api.Kind("coordination.k8s.io", "v1", "Lease", "leases", api.Object)
_JITTER: Final = 0.2  # of a retry, so that replicas that began together do not stay together
_SHORTEST_WAIT_SECONDS: Final = 0.01  # a timer may not tell smaller spans apart
Job = Callable[[], Coroutine[object, object, None]]
_RELEASED_SECONDS: Final = 1  # the shortest span that a Lease may state


class LeadershipLostError(DovetailError):
    """The lease could not be renewed in time, or somebody else holds it."""


class Terms(msgspec.Struct, frozen=True, gc=False):
    """How long a lease lasts, until when it must be renewed, and how often that is tried."""

    lease_seconds: float = 15.0
    renew_seconds: float = 10.0
    retry_seconds: float = 2.0


class LeaseSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What a Lease says. Absent and null fields are the same."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: int | None = None


class _Meta(msgspec.Struct, frozen=True, rename="camel", gc=False):
    resource_version: str = ""


class _Lease(msgspec.Struct, frozen=True, gc=False):
    metadata: _Meta = _Meta()
    spec: LeaseSpec = LeaseSpec()


_leases: Final = msgspec.json.Decoder(_Lease)


class ElectionDependencies(msgspec.Struct, frozen=True):
    """What a candidate works with. `kube` should be a client of its own, which nothing holds up."""

    kube: Kube
    clock: Clock
    timer: Timer
    chance: Chance
    log: Log


class _Try(StrEnum):
    """How an attempt at the lease went."""

    HELD = "held"  # it is ours, for now
    TAKEN = "taken"  # it is somebody else's
    FAILED = "failed"  # who knows


def namespace(environment: Mapping[str, str], mount: str = in_cluster.MOUNT) -> str:
    """Where the lease lies when nobody says: with the pod, outside of one in `default`."""
    return environment.get("POD_NAMESPACE", "") or in_cluster.namespace(mount)


class LeaderCandidate:
    """A replica that would lead. `identity` must be its own alone, and new after a restart."""

    def __init__(
        self,
        lease: Ref,
        identity: str,
        dependencies: ElectionDependencies,
        terms: Terms | None = None,
    ) -> None:
        self._lease = lease
        self._identity = identity
        self._terms = terms or Terms()
        self._kube = dependencies.kube
        self._clock = dependencies.clock
        self._timer = dependencies.timer
        self._chance = dependencies.chance
        self._log = dependencies.log
        self._seen: LeaseSpec | None = None  # as it last changed
        self._seen_at = 0.0
        self._version = ""  # of what was seen
        self._leads_until = -math.inf

    @property
    def is_leading(self) -> bool:
        """Whether this replica may act at this very moment."""
        return self._timer.elapsed_seconds() < self._leads_until

    @property
    def leader(self) -> str:
        """Who held the lease when it was last seen; empty for nobody."""
        return (self._seen and self._seen.holder_identity) or ""

    async def lead(self, work: Job, stopping: asyncio.Event) -> None:
        """Wait to be elected, then work for as long as the lease is renewed; at the end let it go.

        When `stopping` is set there is no more waiting; ending the work is the work's own affair,
        and until then the lease is renewed. Raises LeadershipLostError after the work was
        cancelled.
        """
        if not await self._wait_for_election(stopping):
            return
        self._log.info("became leader", lease=self._lease.name, identity=self._identity)
        try:
            await self._work_while_renewing(work)
        finally:
            await self._let_go()

    async def _wait_for_election(self, stopping: asyncio.Event) -> bool:
        while not stopping.is_set():
            leader = self.leader
            if await self._tried_within(self._terms.renew_seconds) is _Try.HELD:
                return True
            if self.leader and self.leader != leader:
                self._log.info("another replica leads", leader=self.leader)
            await happens_within(stopping, self._retry_seconds(), self._timer)
        return False

    async def _work_while_renewing(self, work: Job) -> None:
        async with asyncio.TaskGroup() as group:
            working = group.create_task(work())
            renewing = group.create_task(self._keep_renewing())
            await asyncio.wait({working, renewing}, return_when=asyncio.FIRST_COMPLETED)
            working.cancel()
            renewing.cancel()
        if not renewing.cancelled():
            raise LeadershipLostError(renewing.result())

    async def _keep_renewing(self) -> str:
        """Renew again and again; why it came to an end."""
        while True:
            left = self._leads_until - self._timer.elapsed_seconds()
            await self._timer.sleep(min(self._retry_seconds(), max(left, _SHORTEST_WAIT_SECONDS)))
            left = self._leads_until - self._timer.elapsed_seconds()
            if left <= 0:
                return f"lease {self._lease.name} was not renewed for {self._terms.renew_seconds} s"
            if await self._tried_within(left) is _Try.TAKEN:
                self._leads_until = -math.inf
                return f"lease {self._lease.name} was taken by {self.leader}"

    def _retry_seconds(self) -> float:
        return self._terms.retry_seconds * (1 + _JITTER * self._chance())

    async def _tried_within(self, seconds: float) -> _Try:
        """One attempt, given up after so long."""
        return await ends_within(self._try_once(), seconds, self._timer) or _Try.FAILED

    async def _try_once(self) -> _Try:
        began_at = self._timer.elapsed_seconds()
        try:
            outcome = await self._attempt_on_known()
        except (ApiError, msgspec.DecodeError) as error:
            self._log.warning("lease could not be renewed or read", problem=str(error))
            return _Try.FAILED
        if outcome is _Try.HELD:
            # From the beginning of the attempt: later, others might count from before we do.
            self._leads_until = began_at + self._terms.renew_seconds
        return outcome

    async def _attempt_on_known(self) -> _Try:
        """One attempt; who holds the lease does not read it again first, as long as it stands."""
        try:
            if self.is_leading and self._version:
                return await self._write_lease()
        except (ConflictError, NotFoundError):
            self._version = ""  # somebody wrote in between, or our own write was answered too late
        try:
            return await self._attempt()
        except (ConflictError, NotFoundError, AlreadyExistsError):
            self._version = ""
            return _Try.FAILED  # another candidate was faster

    async def _attempt(self) -> _Try:
        try:
            self._see(await self._kube.get(self._lease))
        except NotFoundError:
            body: Body = {"metadata": {"name": self._lease.name}, "spec": self._spec(LeaseSpec())}
            self._see(await self._kube.create(LEASE, body, self._lease.namespace))
            return _Try.HELD
        return _Try.TAKEN if self._is_taken() else await self._write_lease()

    async def _write_lease(self) -> _Try:
        await self._write(self._spec(self._seen or LeaseSpec()))
        return _Try.HELD

    def _is_taken(self) -> bool:
        """Whether somebody else holds it, and has renewed it since we could have missed it."""
        seen = self._seen or LeaseSpec()
        if not seen.holder_identity or seen.holder_identity == self._identity:
            return False
        lasts = seen.lease_duration_seconds or self._terms.lease_seconds
        return self._timer.elapsed_seconds() < self._seen_at + lasts

    def _see(self, data: msgspec.Raw) -> None:
        lease = _leases.decode(data)
        self._version = lease.metadata.resource_version
        if lease.spec != self._seen:
            self._seen, self._seen_at = lease.spec, self._timer.elapsed_seconds()

    def _spec(self, before: LeaseSpec) -> dict[str, Json]:
        """The lease in our hands, after what it was before."""
        now = _moment(self._clock.now())
        is_ours = before.holder_identity == self._identity
        transitions = before.lease_transitions or 0
        is_first = before == LeaseSpec()
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": max(1, math.ceil(self._terms.lease_seconds)),
            "acquireTime": _moment(before.acquire_time) if is_ours and before.acquire_time else now,
            "renewTime": now,
            "leaseTransitions": transitions if is_ours or is_first else transitions + 1,
        }

    async def _write(self, spec: dict[str, Json]) -> None:
        body: Body = {"metadata": {"resourceVersion": self._version}, "spec": spec}
        self._see(await self._kube.patch(self._lease, Patch(body)))

    async def _let_go(self) -> None:
        """Let another replica take over at once; if that fails, it waits until the lease ends."""
        if not self.is_leading:
            return
        self._leads_until = -math.inf  # whatever becomes of the write
        await ends_within(self._release(), self._terms.retry_seconds, self._timer)

    async def _release(self) -> None:
        now = _moment(self._clock.now())
        spec: dict[str, Json] = {
            "holderIdentity": "",
            "leaseDurationSeconds": _RELEASED_SECONDS,
            "acquireTime": now,
            "renewTime": now,
        }
        try:
            await self._write_if_ours(spec)
        except (ApiError, msgspec.DecodeError) as error:
            self._log.warning("lease could not be released", problem=str(error))
            return
        self._log.info("released lease", lease=self._lease.name)

    async def _write_if_ours(self, spec: dict[str, Json]) -> None:
        try:
            if self._version:
                return await self._write(spec)
        except ConflictError:
            pass  # a renewal that was cut short may have come through
        self._see(await self._kube.get(self._lease))
        if self.leader == self._identity:
            await self._write(spec)
        return None


def _moment(at: datetime) -> str:
    """As Kubernetes writes moments to the microsecond."""
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")
