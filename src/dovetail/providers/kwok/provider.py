"""How does a cloud behave whose machines are only Node objects? Like a real one, but for free.

Where this differs from the reference: a Node has the capacity of its type, not of the claim's
requests; a claim need not name instance types; a machine whose Node goes is still there until it is
deleted itself, for `get` as for `list`; and nothing is lost in a restart.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final, TypeVar

import msgspec

from dovetail import api, labels
from dovetail.clock import Clock, Timer
from dovetail.cloud.context import ProviderContext
from dovetail.cloud.errors import (
    CloudError,
    CreateError,
    InsufficientCapacityError,
    NodeClaimNotFoundError,
    NodeClassNotReadyError,
    SoldOut,
)
from dovetail.cloud.price_list import PriceList
from dovetail.cloud.provider import Instance, NodeClassKind
from dovetail.kube.errors import ApiError, ConflictError, NotFoundError
from dovetail.kube.seam import Kube, Ref
from dovetail.model.claim import ClaimObject
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.node import Node, RepairPolicy
from dovetail.model.pool import NodeClassRef, NodePool
from dovetail.providers.kwok import store
from dovetail.providers.kwok.faults import Call, Faults
from dovetail.providers.kwok.node_class import KIND, KWOKNodeClass
from dovetail.providers.kwok.store import Kept, Machine, Store
from dovetail.units import duration

_RETRY_SECONDS: Final = 1.0
_SHOWN: Final = 5
_UNHEALTHY_FOR: Final = timedelta(minutes=10)
_T = TypeVar("_T")
_BELIEVED_FOR: Final = timedelta(seconds=1)  # a thousand launches at once ask once


class KwokProvider:
    """A cloud of pretended machines."""

    def __init__(
        self, surroundings: ProviderContext[Kube], *, types: Sequence[InstanceType], ordered: Faults
    ) -> None:
        self.faults = ordered
        self._clock: Clock = surroundings.clock
        self._timer: Timer = surroundings.timer
        self._store = Store(surroundings.kube)
        self._node_classes = NodeClasses(surroundings.kube, surroundings.clock)
        self._types = tuple(types)
        self._prices = PriceList(types)
        self._has_reservations = any(
            at.capacity_type == labels.RESERVED for kind in types for at in kind.offerings
        )
        self._reserving = asyncio.Lock()
        self._to_attend: asyncio.Queue[Machine] = asyncio.Queue()

    @property
    def name(self) -> str:
        """How metrics and messages name it."""
        return "kwok"

    @property
    def supported_node_classes(self) -> tuple[NodeClassKind, ...]:
        """KWOKNodeClass alone."""
        return (NodeClassKind(KIND.group, KIND.name),)

    @property
    def repair_policies(self) -> tuple[RepairPolicy, ...]:
        """A node that is not ready for ten minutes is broken."""
        return (
            RepairPolicy("Ready", "False", _UNHEALTHY_FOR),
            RepairPolicy("Ready", "Unknown", _UNHEALTHY_FOR),
        )

    async def create(self, claim: ClaimObject) -> Instance:
        """Launch the cheapest machine that would do; its Node appears after the delay."""
        await self._meet_launch_faults(claim)
        with _cloud_errors(f"launching node claim {claim.name}", _create_error):
            if self._has_reservations:
                async with self._reserving:
                    return await self._create(claim)
            return await self._create(claim)

    async def _create(self, claim: ClaimObject) -> Instance:
        try:
            wanted, sold_out = await self._choose(claim)
        except CloudError:
            # Nothing more can be had, but what the claim has already, it keeps.
            own = await self._store.find(claim.name)
            if own is None or own.machine.claim_uid != claim.uid:
                raise
            return own.machine.instance(is_terminating=own.is_terminating)
        if wanted.appears_at > wanted.launched_at:
            kept = await self._store.note(wanted)
        else:
            kept = await self._store.register(wanted, claim)
        if kept.lost_at is not None or kept.appears_at > kept.launched_at:
            self._to_attend.put_nowait(kept)
        return kept.instance(sold_out=sold_out)

    async def _choose(self, claim: ClaimObject) -> tuple[Machine, tuple[SoldOut, ...]]:
        """The machine that the claim is to get, and what would have been cheaper."""
        delay = await self._node_classes.registration_delay(claim.node_class)
        now = self._clock.now()
        n_used = await self._n_used()
        sold_out: list[SoldOut] = []
        for choice in self._prices.serving(claim):
            if _has_left(choice.offering, n_used) and not self.faults.is_sold_out(
                choice.sold_out, now
            ):
                made = store.new_machine(claim, choice, now=now, delay=delay)
                return self._with_its_end(made, claim, now), tuple(sold_out)
            sold_out.append(choice.sold_out)
        raise _capacity_error(claim, sold_out)

    def _with_its_end(self, made: Machine, claim: ClaimObject, now: datetime) -> Machine:
        lost_after = self.faults.lost_after(claim, now)
        if lost_after is None:
            return made
        return msgspec.structs.replace(made, lost_at=made.appears_at + lost_after)

    async def delete(self, provider_id: str) -> None:
        """Take the machine away. Raises NodeClaimNotFoundError once it is gone."""
        self._meet_throttling(Call.DELETE)
        with _cloud_errors(f"deleting instance {provider_id}", CloudError):
            kept = await self._kept_of(provider_id)
            try:
                await self._store.remove(kept)
            except (NotFoundError, ConflictError):
                raise _gone_error(provider_id) from None  # somebody else was faster

    async def get(self, provider_id: str) -> Instance:
        """The machine. Raises NodeClaimNotFoundError."""
        self._meet_throttling(Call.GET)
        with _cloud_errors(f"reading instance {provider_id}", CloudError):
            return _instance_of(await self._kept_of(provider_id))

    async def list(self) -> tuple[Instance, ...]:
        """Every machine, also one that has yet to register."""
        self._meet_throttling(Call.LIST)
        with _cloud_errors("listing instances", CloudError):
            instances = [_instance_of(kept) for kept in await self._store.all()]
        return tuple(sorted(instances, key=lambda item: item.provider_id))

    async def instance_types(self, pool: NodePool) -> tuple[InstanceType, ...]:
        """The whole catalogue, whatever the pool; reservations with what is left of them."""
        self._meet_throttling(Call.INSTANCE_TYPES)
        with _cloud_errors(f"listing instance types of node pool {pool.name}", CloudError):
            n_used = await self._n_used()
        return tuple(_with_counts(kind, n_used) for kind in self._types) if n_used else self._types

    async def drift_reason(self, node: Node) -> str:  # noqa: ARG002  the protocol names it
        """Never: nothing about a pretended machine can go out of date."""
        return ""

    async def run(self) -> None:
        """Let machines register, and vanish, when their time comes; an earlier run's too."""
        async with asyncio.TaskGroup() as group:
            for kept in await self._retry(self._store.all):
                if kept.is_noted or kept.machine.lost_at is not None:
                    group.create_task(self._attend(kept.machine))
            while True:
                group.create_task(self._attend(await self._to_attend.get()))

    async def _attend(self, machine: Machine) -> None:
        await self._sleep_until(machine.appears_at)
        await self._retry(lambda: self._store.appear(machine))
        if machine.lost_at is not None:
            await self._sleep_until(machine.lost_at)
            await self._retry(lambda: self._store.lose(machine))

    async def _retry(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """Try until the API lets it be done."""
        while True:
            try:
                return await work()
            except (ApiError, CreateError):
                await self._timer.sleep(_RETRY_SECONDS)

    async def _sleep_until(self, moment: datetime) -> None:
        seconds = (moment - self._clock.now()).total_seconds()
        if seconds > 0:
            await self._timer.sleep(seconds)

    async def _kept_of(self, provider_id: str) -> Kept:
        name = store.name_of(provider_id)
        kept = await self._store.find(name) if name else None
        if kept is None:
            raise _gone_error(provider_id)
        return kept

    async def _n_used(self) -> Counter[str]:
        """How many machines each reservation holds."""
        if not self._has_reservations:
            return Counter()
        reserved = [kept.machine.reservation_id for kept in await self._store.all()]
        return Counter(name for name in reserved if name)

    async def _meet_launch_faults(self, claim: ClaimObject) -> None:
        now = self._clock.now()
        if self.faults.is_throttled(Call.CREATE, now):
            msg = f"launching node claim {claim.name}: too many requests"
            raise CreateError(msg, condition_reason="Throttled")
        if slowness := self.faults.slowness(claim, now):
            await self._timer.sleep(slowness.total_seconds())
        if failure := self.faults.failure(claim, now):
            raise failure

    def _meet_throttling(self, call: Call) -> None:
        if self.faults.is_throttled(call, self._clock.now()):
            msg = f"kwok: {call}: too many requests"
            raise CloudError(msg)


@contextmanager
def _cloud_errors(doing: str, failure: Callable[[str], CloudError]) -> Iterator[None]:
    """What the API refuses, told as a cloud tells it."""
    try:
        yield
    except ApiError as error:
        msg = f"{doing}: {error}"
        raise failure(msg) from error


def _create_error(message: str) -> CreateError:
    return CreateError(message, condition_reason="LaunchFailed")


def _instance_of(kept: Kept) -> Instance:
    return kept.machine.instance(is_terminating=kept.is_terminating)


def _gone_error(provider_id: str) -> NodeClaimNotFoundError:
    return NodeClaimNotFoundError(f"there is no instance {provider_id}")


def _capacity_error(claim: ClaimObject, sold_out: Sequence[SoldOut]) -> InsufficientCapacityError:
    texts = ", ".join(str(offering) for offering in sold_out[:_SHOWN])
    if len(sold_out) > _SHOWN:
        texts += f" and {len(sold_out) - _SHOWN} more"
    why = f"sold out: {texts}" if texts else "no offering would do"
    msg = f"launching node claim {claim.name}: {why}"
    return InsufficientCapacityError(msg, sold_out=tuple(sold_out))


def _has_left(offering: Offering, n_used: Counter[str]) -> bool:
    """Whether there is any left of it; only reservations end."""
    if offering.capacity_type != labels.RESERVED:
        return True
    return n_used[offering.reservation_id] < offering.reservation_capacity


def _with_counts(kind: InstanceType, n_used: Counter[str]) -> InstanceType:
    """The type with what is left of its reservations."""
    if not any(at.reservation_id in n_used for at in kind.offerings):
        return kind
    offerings = tuple(
        msgspec.structs.replace(
            at, reservation_capacity=max(at.reservation_capacity - n_used[at.reservation_id], 0)
        )
        if at.reservation_id in n_used
        else at
        for at in kind.offerings
    )
    return msgspec.structs.replace(kind, offerings=offerings)


class NodeClasses:
    """The node classes, read at most once a second each."""

    def __init__(self, kube: Kube, clock: Clock) -> None:
        self._kube = kube
        self._clock = clock
        self._reading = asyncio.Lock()
        self._held: dict[str, tuple[datetime, KWOKNodeClass | None]] = {}

    async def registration_delay(self, ref: NodeClassRef) -> timedelta:
        """How long after its launch a node appears. Raises CloudError if there must be none."""
        node_class = await self._read(ref.name) if _is_ours(ref) else None
        if node_class is None or node_class.metadata.deletion_timestamp is not None:
            msg = f"node class {ref.name} does not exist"
            raise InsufficientCapacityError(msg)
        _check_ready(node_class)
        return _delay(node_class)

    async def _read(self, name: str) -> KWOKNodeClass | None:
        async with self._reading:
            until, node_class = self._held.get(name, (None, None))
            if until is not None and self._clock.now() < until:
                return node_class
            try:
                node_class = api.decode(KWOKNodeClass, await self._kube.get(Ref(KIND, name)))
            except NotFoundError:
                node_class = None
            self._held[name] = (self._clock.now() + _BELIEVED_FOR, node_class)
            return node_class


def _is_ours(ref: NodeClassRef) -> bool:
    return (ref.group, ref.kind) == (KIND.group, KIND.name)


def _check_ready(node_class: KWOKNodeClass) -> None:
    for condition in node_class.status.conditions:
        if condition.type != "Ready" or condition.status == "True":
            continue
        why = condition.message or condition.reason
        msg = f"node class {node_class.metadata.name} is not ready: {why}"
        if condition.status == "False":
            raise NodeClassNotReadyError(msg)
        raise CreateError(msg, condition_reason="NodeClassReadinessUnknown")


def _delay(node_class: KWOKNodeClass) -> timedelta:
    text = node_class.spec.node_registration_delay
    try:
        return max(duration.parse(text), timedelta(0)) if text else timedelta(0)
    except ValueError as error:
        msg = f"node class {node_class.metadata.name}: spec.nodeRegistrationDelay: {error}"
        raise CreateError(msg, condition_reason="NodeClassInvalid") from None
