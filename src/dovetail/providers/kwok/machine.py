"""What is a pretended machine? One record, which says all that its Node object will show.

The record is the cloud's own memory. It is kept in the API, so that a restart loses nothing: on
the NodeClaim until the machine registers, from then on on its Node.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail import labels
from dovetail.cloud.errors import SoldOut
from dovetail.cloud.price_list import Choice, labels_of
from dovetail.cloud.provider import Instance
from dovetail.kube.seam import Json
from dovetail.model.claim import ClaimObject
from dovetail.model.taints import Effect
from dovetail.units import quantity

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


def launched(claim: ClaimObject, choice: Choice, *, now: datetime, delay: timedelta) -> Machine:
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


def recorded(annotations: Mapping[str, str]) -> Machine | None:
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
    held: dict[str, Json] = {
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
            "labels": held,
            "annotations": {**claim_annotations, FAKE: "fake", RECORD: machine.record()},
        },
        "spec": {
            "providerID": machine.provider_id,
            "taints": [{"key": labels.UNREGISTERED_TAINT, "effect": str(Effect.NO_EXECUTE)}],
        },
        "status": {
            "phase": "Pending",
            "capacity": _quantities(machine.capacity),
            "allocatable": _quantities(machine.allocatable),
        },
    }


def _quantities(amounts: Mapping[str, int]) -> dict[str, Json]:
    return {name: quantity.render(name, amount) for name, amount in sorted(amounts.items())}
