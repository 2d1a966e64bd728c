"""Keeps pretended machines in the API: on NodeClaims until they register, then on Nodes.

A machine moves in this order: record on its claim, Node, record off the claim. So whoever looks at
the claim first and at the Node second sees every machine at least once, whatever happens meanwhile.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final, TypeVar

import msgspec

from dovetail import api, labels
from dovetail.cloud.errors import CreateError, SoldOut
from dovetail.cloud.price_list import Priced, labels_of
from dovetail.cloud.provider import Instance
from dovetail.kube.errors import AlreadyExistsError, ConflictError, NotFoundError
from dovetail.kube.seam import Body, Deletion, Json, Kube, Patch, Ref, Scope
from dovetail.model.claim import ClaimObject
from dovetail.model.taints import Effect
from dovetail.units import quantity

_NODE: Final = api.KINDS["", "Node"]
_CLAIM: Final = api.KINDS["karpenter.sh", "NodeClaim"]
_PAGE: Final = 500
_TRIES: Final = 10
_ObjectT = TypeVar("_ObjectT", bound=api.Object)
RECORD: Final = f"{labels.KWOK_GROUP}/instance"  # the annotation
FAKE: Final = "kwok.x-k8s.io/node"
_PREFIX: Final = "kwok://"
_PRICE: Final = "eks-node-viewer/instance-price"
_PARTITION: Final = "kwok-partition"


class Machine(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A machine that only pretends. Its name is its claim's, and its Node's.

    `appears_at` is when its Node is there; `lost_at`, if set, when it is lost again.
    """

    name: str
    claim_uid: str
    labels: dict[str, str]
    capacity: dict[str, int]
    allocatable: dict[str, int]
    price_nanousd: int
    launched_at: datetime
    appears_at: datetime
    lost_at: datetime | None = None
    node_pool: str = ""
    reservation_id: str = ""

    @property
    def provider_id(self) -> str:
        """What claims and nodes call it."""
        return _PREFIX + self.name

    def record(self) -> str:
        """As the API keeps it."""
        return msgspec.json.encode(self, order="sorted").decode()

    def instance(
        self, *, is_terminating: bool = False, sold_out: tuple[SoldOut, ...] = ()
    ) -> Instance:
        """As the provider reports it."""
        return Instance(
            provider_id=self.provider_id,
            node_claim=self.name,
            node_claim_uid=self.claim_uid,
            node_pool=self.node_pool,
            labels=self.labels,
            capacity=self.capacity,
            allocatable=self.allocatable,
            created_at=self.launched_at,
            is_terminating=is_terminating,
            sold_out=sold_out,
        )


def new_machine(claim: ClaimObject, choice: Priced, *, now: datetime, delay: timedelta) -> Machine:
    """The machine that a claim gets of this choice.

    It has what its type has. What the claim asks for beyond that, an overlay has promised.
    """
    return Machine(
        name=claim.name,
        claim_uid=claim.uid,
        labels=labels_of(choice, claim),
        capacity={**claim.requests, **choice.instance_type.capacity},
        allocatable={**claim.requests, **choice.instance_type.allocatable},
        price_nanousd=choice.offering.price_nanousd,
        launched_at=now,
        appears_at=now + delay,
        node_pool=claim.node_pool,
        reservation_id=choice.offering.reservation_id,
    )


def recorded_machine(annotations: Mapping[str, str]) -> Machine | None:
    """The machine that an object keeps the record of, if it keeps one."""
    record = annotations.get(RECORD)
    if record is None:
        return None
    try:
        return msgspec.json.decode(record, type=Machine)
    except msgspec.DecodeError:
        return None  # somebody else's writing is not a machine of ours


def name_of(provider_id: str) -> str:
    """The name of the machine; empty if this is no machine of ours."""
    return provider_id.removeprefix(_PREFIX) if provider_id.startswith(_PREFIX) else ""


def node(
    machine: Machine, claim_labels: Mapping[str, str], claim_annotations: Mapping[str, str]
) -> dict[str, Json]:
    """The Node object with which the machine registers."""
    own_labels: dict[str, Json] = {
        **claim_labels,
        **machine.labels,
        labels.HOSTNAME: machine.name,
        FAKE: "fake",
        _PRICE: f"{machine.price_nanousd / 10**9:f}",
        _PARTITION: "a",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": machine.name,
            "labels": own_labels,
            "annotations": {**claim_annotations, FAKE: "fake", RECORD: machine.record()},
        },
        "spec": {
            "providerID": machine.provider_id,
            "taints": [{"key": labels.UNREGISTERED_TAINT, "effect": str(Effect.NO_EXECUTE)}],
        },
        "status": {
            "phase": "Pending",
            "capacity": {**quantity.render_all(machine.capacity)},
            "allocatable": {**quantity.render_all(machine.allocatable)},
        },
    }


class Bare(api.Object, frozen=True):
    """An object of which only the metadata is read."""


class Kept(msgspec.Struct, frozen=True, gc=False):
    """A machine, and the Node it has registered as; no `node_uid`: it has yet to.

    `is_noted` says that its claim still has the record.
    """

    machine: Machine
    node_uid: str = ""
    is_terminating: bool = False
    is_noted: bool = False


class Store:
    """The machines that the API keeps."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    async def find(self, name: str) -> Kept | None:
        """The machine of this name."""
        pending = _pending_machine(await self._bare(_CLAIM, name))
        registered = _registered_machine(await self._bare(_NODE, name))
        return registered or pending

    async def all(self) -> tuple[Kept, ...]:
        """Every machine, by name."""
        kept_by_name: dict[str, Kept] = {}
        async for wire in self._each(Scope(_CLAIM)):
            if pending := _pending_machine(wire):
                kept_by_name[pending.machine.name] = pending
        async for wire in self._each(Scope(_NODE, labels=f"{FAKE}=fake")):
            if registered := _registered_machine(wire):
                is_noted = registered.machine.name in kept_by_name
                registered = msgspec.structs.replace(registered, is_noted=is_noted)
                kept_by_name[registered.machine.name] = registered
        return tuple(kept_by_name[name] for name in sorted(kept_by_name))

    async def register(self, machine: Machine, claim: ClaimObject) -> Machine:
        """Make its Node; the machine that the claim already has, if it has one."""
        body = node(machine, claim.labels, claim.annotations)
        for _ in range(_TRIES):
            try:
                await self._kube.create(_NODE, body)
            except AlreadyExistsError:
                existing = await self._bare(_NODE, machine.name)
            else:
                return machine
            if existing is not None:
                return _same(machine, _registered_machine(existing))
        raise _conflict_error(machine.name)

    async def note(self, machine: Machine) -> Machine:
        """Keep a machine that has yet to register; the one that its claim has, if it has one."""
        for _ in range(_TRIES):
            claim = await self._bare(_CLAIM, machine.name)
            if claim is None or claim.metadata.uid != machine.claim_uid:
                msg = f"launching node claim {machine.name}: the claim is gone"
                raise CreateError(msg, condition_reason="NodeClaimNotFound")
            kept = _pending_machine(claim) or _registered_machine(
                await self._bare(_NODE, machine.name)
            )
            if kept is not None:
                return _same(machine, kept)
            try:
                await self._write_record(claim, machine.record())
            except (ConflictError, NotFoundError):
                continue  # somebody changed the claim: look again
            return machine
        raise _conflict_error(machine.name)

    async def appear(self, machine: Machine) -> None:
        """Register a machine whose time has come, unless its claim no longer wants it."""
        wire = await self._read(_CLAIM, machine.name, api.NodeClaim)
        if wire is None or wire.metadata.deletion_timestamp is not None:
            return
        kept = _pending_machine(wire)
        if kept is None or kept.machine.claim_uid != machine.claim_uid:
            return
        claim = ClaimObject(
            wire.metadata.name,
            wire.metadata.uid,
            labels=wire.metadata.labels,
            annotations=wire.metadata.annotations,
        )
        await self.register(kept.machine, claim)
        await self._strike(machine.name)

    async def remove(self, kept: Kept) -> None:
        """Take a machine away. Its Node stays, without it, as long as finalizers hold it."""
        await self._strike(kept.machine.name)
        if kept.node_uid:
            ref = Ref(_NODE, kept.machine.name)
            await self._kube.delete(ref, Deletion(uid=kept.node_uid))
            # In this order: a machine that is gone must not leave a Node that nobody deletes.
            body: Body = {"metadata": {"uid": kept.node_uid, "annotations": {RECORD: None}}}
            with suppress(NotFoundError, ConflictError):
                await self._kube.patch(ref, Patch(body))

    async def lose(self, machine: Machine) -> None:
        """Let a machine vanish with its Node at once, whatever finalizers say."""
        kept = await self.find(machine.name)
        if kept is None or kept.machine.claim_uid != machine.claim_uid:
            return
        try:
            if kept.node_uid:
                ref = Ref(_NODE, machine.name)
                await self._kube.patch(ref, Patch({"metadata": {"finalizers": []}}))
            await self.remove(kept)
        except NotFoundError:
            return  # it is gone already

    async def _strike(self, name: str) -> None:
        """Take the record off the claim, if there is one."""
        claim = await self._bare(_CLAIM, name)
        for _ in range(_TRIES):
            if claim is None or RECORD not in claim.metadata.annotations:
                return
            try:
                await self._write_record(claim, None)
            except (ConflictError, NotFoundError):
                claim = await self._bare(_CLAIM, name)
            else:
                return

    async def _write_record(self, claim: api.Object, record: str | None) -> None:
        """Write it only if nobody has touched the claim since it was read."""
        meta = claim.metadata
        body: Body = {
            "metadata": {
                "uid": meta.uid,
                "resourceVersion": meta.resource_version,
                "annotations": {RECORD: record},
            }
        }
        await self._kube.patch(Ref(_CLAIM, meta.name), Patch(body))

    async def _bare(self, kind: api.Kind, name: str) -> Bare | None:
        return await self._read(kind, name, Bare)

    async def _read(self, kind: api.Kind, name: str, wire_type: type[_ObjectT]) -> _ObjectT | None:
        try:
            return api.decode(wire_type, await self._kube.get(Ref(kind, name)))
        except NotFoundError:
            return None

    async def _each(self, scope: Scope) -> AsyncIterator[Bare]:
        page = await self._kube.list(scope, limit=_PAGE)
        while True:
            for raw in page.items:
                yield api.decode(Bare, raw)
            if not page.token:
                return
            page = await self._kube.list(scope, limit=_PAGE, token=page.token)


def _pending_machine(claim: api.Object | None) -> Kept | None:
    machine = recorded_machine(claim.metadata.annotations) if claim else None
    # A record is the claim's only if it says so: annotations are copied about.
    is_its_own = (
        machine is not None and claim is not None and machine.claim_uid == claim.metadata.uid
    )
    return Kept(machine, is_noted=True) if machine is not None and is_its_own else None


def _registered_machine(node: api.Object | None) -> Kept | None:
    machine = recorded_machine(node.metadata.annotations) if node else None
    if node is None or machine is None or machine.name != node.metadata.name:
        return None
    return Kept(machine, node.metadata.uid, node.metadata.deletion_timestamp is not None)


def _same(wanted: Machine, kept: Kept | None) -> Machine:
    """What is held, if it is the same claim's."""
    if kept is not None and kept.machine.claim_uid == wanted.claim_uid:
        return kept.machine
    msg = f"launching node claim {wanted.name}: there is another Node of that name"
    raise CreateError(msg, condition_reason="NodeNameTaken")


def _conflict_error(name: str) -> CreateError:
    msg = f"launching node claim {name}: its objects keep changing"
    return CreateError(msg, condition_reason="LaunchFailed")
