"""Launches machines of the meadow, lets them join, and announces their interruption."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.cloud.context import ProviderContext
from dovetail.cloud.errors import (
    InsufficientCapacityError,
    NodeClaimNotFoundError,
    NodeClassNotReadyError,
    SoldOut,
)
from dovetail.cloud.price_list import Priced, PriceList, labels_of
from dovetail.cloud.provider import Instance, NamedWorker, NodeClassKind
from dovetail.kube.errors import AlreadyExistsError, NotFoundError
from dovetail.kube.seam import Json, Kube, Ref
from dovetail.model.claim import ClaimObject
from dovetail.model.ending import InstanceEnding
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node, RepairPolicy
from dovetail.model.pool import NodeClassRef, NodePool
from dovetail.units import quantity
from meadow_cloud.catalogue import CPUS, SIZES, instance_types
from meadow_cloud.node_class import KIND, MeadowNodeClass
from meadow_cloud.region import Machine, Region

_NODE: Final = api.KINDS["", "Node"]
_POLL_SECONDS: Final = 1.0
INTERRUPTED: Final = "MeadowFlooded"


class MeadowProvider:
    """The provider. Machines are kept by the region, so it has nothing to remember."""

    def __init__(self, context: ProviderContext[Kube], region: Region) -> None:
        self._context = context
        self._region = region

    @property
    def name(self) -> str:
        """How metrics and messages name it."""
        return "meadow"

    @property
    def supported_node_classes(self) -> tuple[NodeClassKind, ...]:
        """MeadowNodeClass alone."""
        return (NodeClassKind(KIND.group, KIND.name),)

    @property
    def repair_policies(self) -> tuple[RepairPolicy, ...]:
        """A node that is not ready for long is broken."""
        return (RepairPolicy("Ready", "False", timedelta(minutes=30)),)

    @property
    def workers(self) -> tuple[NamedWorker, ...]:
        """Machines join, and the region is asked for interruptions."""
        return (
            NamedWorker("meadow.joining", self._join_all),
            NamedWorker("meadow.interruption", self._announce_all),
        )

    async def create(self, claim: ClaimObject) -> Instance:
        """Launch the cheapest machine, once for each claim."""
        held = self._region.machines.get(_provider_id(claim))
        if held is not None:
            return held.instance
        node_class = await self._node_class(claim.node_class)
        sold_out: list[SoldOut] = []
        for choice in PriceList(instance_types(node_class.spec.cpus)).serving(claim):
            if choice.sold_out not in self._region.sold_out:
                machine = Machine(self._instance(claim, choice), node_class.spec.image)
                kept = self._region.machines.setdefault(machine.instance.provider_id, machine)
                return msgspec.structs.replace(kept.instance, sold_out=tuple(sold_out))
            sold_out.append(choice.sold_out)
        msg = f"launching node claim {claim.name}: the meadow is full"
        raise InsufficientCapacityError(msg, sold_out=tuple(sold_out))

    def _instance(self, claim: ClaimObject, choice: Priced) -> Instance:
        return Instance(
            provider_id=_provider_id(claim),
            node_claim=claim.name,
            node_claim_uid=claim.uid,
            node_pool=claim.node_pool,
            labels=labels_of(choice, claim),
            capacity=choice.instance_type.capacity,
            allocatable=choice.instance_type.allocatable,
            created_at=self._context.clock.now(),
        )

    async def delete(self, provider_id: str) -> None:
        """End the machine; its Node goes with it."""
        await self.get(provider_id)
        del self._region.machines[provider_id]
        self._region.interruptions.pop(provider_id, None)

    async def get(self, provider_id: str) -> Instance:
        """The machine. Raises NodeClaimNotFoundError."""
        held = self._region.machines.get(provider_id)
        if held is None:
            msg = f"no machine {provider_id!r} in the meadow"
            raise NodeClaimNotFoundError(msg)
        return held.instance

    async def list(self) -> tuple[Instance, ...]:
        """Every machine."""
        return tuple(one.instance for _, one in sorted(self._region.machines.items()))

    async def instance_types(self, pool: NodePool) -> tuple[InstanceType, ...]:
        """The sizes that the node class allows."""
        sizes = (await self._node_class(pool.node_class)).spec.cpus or SIZES
        return tuple(self._as_available(one) for one in instance_types(sizes))

    def _as_available(self, held: InstanceType) -> InstanceType:
        gone = {(one.instance_type, one.zone) for one in self._region.sold_out}
        offerings = tuple(
            msgspec.structs.replace(at, is_available=(held.name, at.zone) not in gone)
            for at in held.offerings
        )
        return msgspec.structs.replace(held, offerings=offerings)

    async def drift_reason(self, node: Node) -> str:
        """The node class has another image by now."""
        held = self._region.machines.get(node.provider_id)
        ref = NodeClassRef(KIND.group, KIND.name, node.labels.get(_CLASS_LABEL, "default"))
        node_class = await self._node_class(ref)
        return "ImageDrifted" if held and held.image != node_class.spec.image else ""

    async def _node_class(self, ref: NodeClassRef) -> MeadowNodeClass:
        try:
            raw = await self._context.kube.get(Ref(KIND, ref.name))
        except NotFoundError:
            msg = f"no MeadowNodeClass {ref.name}"
            raise NodeClassNotReadyError(msg) from None
        return api.decode(MeadowNodeClass, raw)

    # ---- controllers

    async def _join_all(self) -> None:
        """Let machines join the cluster, and take away the Nodes of those that ended."""
        joined: set[str] = set()
        while True:
            for provider_id, machine in list(self._region.machines.items()):
                if provider_id not in joined:
                    await self._join(machine.instance)
                    joined.add(provider_id)
            await self._context.timer.sleep(_POLL_SECONDS)

    async def _join(self, instance: Instance) -> None:
        try:
            await self._context.kube.create(_NODE, _node(instance))
        except AlreadyExistsError:
            return

    async def _announce_all(self) -> None:
        """Say which machines will be interrupted, again and again: it is remembered once."""
        while True:
            for provider_id, at in sorted(self._region.interruptions.items()):
                message = f"the meadow will be flooded at {at.isoformat()}"
                self._context.announce(InstanceEnding(provider_id, INTERRUPTED, message, at))
            await self._context.timer.sleep(_POLL_SECONDS)


_CLASS_LABEL: Final = f"{KIND.group}/{KIND.name.lower()}"
LABEL_KEYS: Final = (CPUS,)


def _provider_id(claim: ClaimObject) -> str:
    return f"meadow://{claim.name}/{claim.uid}"


def _node(instance: Instance) -> Mapping[str, Json]:
    amounts: dict[str, Json] = {
        name: quantity.render(name, amount) for name, amount in instance.allocatable.items()
    }
    ready: Json = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": instance.node_claim, "labels": dict(instance.labels)},
        "spec": {
            "providerID": instance.provider_id,
            "taints": [{"key": labels.UNREGISTERED_TAINT, "effect": "NoExecute"}],
        },
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [ready]},
    }


__all__ = ["INTERRUPTED", "LABEL_KEYS", "MeadowProvider"]
