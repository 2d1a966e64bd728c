"""A cloud that keeps its machines to itself: whoever forgets one there has lost it.

Machines have names of their own, register by themselves, take a while to end, and leave their Nodes
behind. kwok, whose machines are kept in the API, would take many a leak away by itself.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

import msgspec

from dovetail import labels
from dovetail.apiserver import MemoryKube
from dovetail.cloud.errors import InsufficientCapacityError, NodeClaimNotFoundError
from dovetail.cloud.price_list import PriceList
from dovetail.cloud.provider import Instance, NodeClassKind
from dovetail.controllers.cache import NODE
from dovetail.kube.errors import NotFoundError
from dovetail.kube.seam import Body, Deletion, Patch, Ref
from dovetail.model.claim import ClaimObject
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node, RepairPolicy
from dovetail.model.pool import NodePool
from dovetail.providers.kwok import store as machines
from dovetail.providers.kwok.faults import Faults
from dovetail.providers.kwok.store import RECORD, Machine
from dovetail.testing.virtual_time import VirtualTime
from tests.doubles.troubled_kube import ApiCall, Trouble, When
from tests.kills.mortal import Mortal

_STARTS_SECONDS = 5.0
_ENDS_SECONDS = 12.0
_MISSED_SECONDS = 60.0
_LOOKS_SECONDS = 1.0


class _Held(msgspec.Struct):
    machine: Machine
    claim: ClaimObject
    appears_at: float  # in seconds of the timer, as all that a cloud does by itself
    has_node: bool = False
    gone_at: float | None = None


class AloofCloud:
    """The machines, whoever asks for them."""

    def __init__(
        self, kube: MemoryKube, time: VirtualTime, faults: Faults, types: tuple[InstanceType, ...]
    ) -> None:
        self._kube = kube
        self._time = time
        self._faults = faults
        self._prices = PriceList(types)
        self.types = types
        self.held: dict[str, _Held] = {}
        self._silent: list[tuple[float, str]] = []  # Nodes without machines, and when they go
        self.made: dict[str, set[tuple[str, datetime]]] = {}  # by the claim's uid

    async def run(self) -> None:
        """Let machines come up and end, until cancelled."""
        while True:
            await self._time.sleep(_LOOKS_SECONDS)
            now = self._time.elapsed_seconds()
            for place, one in list(self.held.items()):
                if one.gone_at is not None and one.gone_at <= now:
                    del self.held[place]
                    await self._fall_silent(one)
                    self._silent.append((now + _MISSED_SECONDS, one.machine.name))
                elif not one.has_node and one.appears_at <= now:
                    one.has_node = True
                    body = machines.node(one.machine, one.claim.labels, one.claim.annotations)
                    await self._kube.create(NODE, body)

            await self._take_down(now)

    async def _take_down(self, now: float) -> None:
        """Delete Nodes whose machines are gone for a while, as a cloud's own controller does."""
        due = [one for one in self._silent if one[0] <= now]
        for one in due:
            self._silent.remove(one)
            with suppress(NotFoundError):
                await self._kube.delete(Ref(NODE, one[1]), Deletion())

    async def _fall_silent(self, one: _Held) -> None:
        """The kubelet has gone with its machine: nobody tends the Node any more."""
        ref = Ref(NODE, one.machine.name)
        status: Body = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
        try:
            await self._kube.patch(ref, Patch({"metadata": {"annotations": {RECORD: None}}}))
            await self._kube.patch(ref, Patch(status, subresource="status"))
        except NotFoundError:
            return

    def create(self, claim: ClaimObject) -> Instance:
        """The claim's machine, launched if it has none. Raises InsufficientCapacityError."""
        for one in self.held.values():
            if one.machine.claim_uid == claim.uid:
                return _reported(one)
        now = self._time.now()
        failure = self._faults.failure(claim, now)
        if failure is not None:
            raise failure
        sold_out = []
        for choice in self._prices.serving(claim):
            if not self._faults.is_sold_out(choice.sold_out, now):
                name = f"ip-{sum(map(len, self.made.values())) + 1}"
                made = machines.new_machine(claim, choice, now=now, delay=timedelta(0))
                made = msgspec.structs.replace(made, name=name)
                appears_at = self._time.elapsed_seconds() + _STARTS_SECONDS
                self.held[made.provider_id] = _Held(made, claim, appears_at)
                self.made.setdefault(claim.uid, set()).add((name, now))
                return _reported(self.held[made.provider_id])
            sold_out.append(choice.sold_out)
        msg = f"nothing left for {claim.name}"
        raise InsufficientCapacityError(msg, sold_out=tuple(sold_out))

    def delete(self, provider_id: str) -> None:
        """Begin to end a machine. Raises NodeClaimNotFoundError."""
        held = self._found(provider_id)
        held.gone_at = held.gone_at or self._time.elapsed_seconds() + _ENDS_SECONDS

    async def lose(self, provider_id: str) -> None:
        """A machine goes, though nobody has asked for that."""
        held = self.held.pop(provider_id, None)
        if held is not None:
            await self._fall_silent(held)
            self._silent.append((self._time.elapsed_seconds() + _MISSED_SECONDS, held.machine.name))

    def get(self, provider_id: str) -> Instance:
        """A machine. Raises NodeClaimNotFoundError."""
        return _reported(self._found(provider_id))

    def list(self) -> tuple[Instance, ...]:
        """Every machine."""
        return tuple(_reported(self.held[place]) for place in sorted(self.held))

    def _found(self, provider_id: str) -> _Held:
        held = self.held.get(provider_id)
        if held is None:
            msg = f"there is no instance {provider_id}"
            raise NodeClaimNotFoundError(msg)
        return held


class CloudOfAProcess:
    """The cloud as one process reaches it, for as long as that lives."""

    def __init__(self, cloud: AloofCloud, mortal: Mortal) -> None:
        self._cloud = cloud
        self._mortal = mortal
        self.name = "aloof"
        self.supported_node_classes = (NodeClassKind(labels.KWOK_GROUP, "KWOKNodeClass"),)
        self.repair_policies: tuple[RepairPolicy, ...] = ()

    async def create(self, claim: ClaimObject) -> Instance:
        """Launch."""
        late = self._meet("create", claim.name)
        made = self._cloud.create(claim)
        _fail(late)
        return made

    async def delete(self, provider_id: str) -> None:
        """End."""
        late = self._meet("delete", provider_id)
        self._cloud.delete(provider_id)
        _fail(late)

    async def get(self, provider_id: str) -> Instance:
        """Look at one."""
        self._meet("get", provider_id)
        return self._cloud.get(provider_id)

    async def list(self) -> tuple[Instance, ...]:
        """Look at all."""
        self._meet("list")
        return self._cloud.list()

    async def instance_types(self, pool: NodePool) -> tuple[InstanceType, ...]:
        """What can be had."""
        self._meet("instance_types", pool.name)
        return self._cloud.types

    async def drift_reason(self, node: Node) -> str:  # noqa: ARG002  the protocol names it
        """Never."""
        return ""

    def _meet(self, verb: str, name: str = "") -> Trouble | None:
        found = self._mortal.meet(ApiCall(0, verb, "Instance", name))
        if found is not None and found.when is When.BEFORE:
            raise found.error
        return found


def _fail(late: Trouble | None) -> None:
    if late is not None:
        raise late.error


def _reported(held: _Held) -> Instance:
    made = held.machine.instance(is_terminating=held.gone_at is not None)
    return msgspec.structs.replace(made, node_claim=held.claim.name)
