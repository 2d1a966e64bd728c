"""Keeps claims and instances in step after a launch: tags, capacity types, ends of reservations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from dovetail import api, labels
from dovetail.clock import Timer
from dovetail.cloud.context import ProviderContext
from dovetail.kube.errors import NotFoundError
from dovetail.kube.seam import Json, Kube, Patch, Ref
from dovetail.model.ending import InstanceEnding
from dovetail.providers.aws.calls import calling
from dovetail.providers.aws.instances.described import Ec2Instance, instance_id
from dovetail.providers.aws.launching import keys
from dovetail.providers.aws.launching.marks import NODE_CLAIM, ClaimRecord
from dovetail.providers.aws.node_class.types import CapacityReservation
from dovetail.providers.aws.status.capacity_reservations import BLOCK_ENDS_EARLY_BY

if TYPE_CHECKING:
    from types_aiobotocore_ec2 import EC2Client

NODE: Final = api.KINDS["", "Node"]
_TRUE: Final = "true"
_RECLAIMED_BEFORE: Final = timedelta(minutes=30)  # the end of a capacity block
_BETWEEN_TAGGINGS: Final = 1.0  # seconds: EC2 allows few of these calls
CAPACITY_BLOCK_EXPIRING: Final = "CapacityBlockExpiring"


def missing_tags(claim: ClaimRecord, instance: Ec2Instance, cluster_name: str) -> dict[str, str]:
    """The tags that the instance of a registered claim lacks; those that it has stay."""
    wanted = {
        keys.NAME_TAG: claim.node_name,
        keys.NODE_CLAIM_TAG: claim.name,
        keys.CLUSTER_TAG: cluster_name,
    }
    return {key: value for key, value in wanted.items() if key not in instance.tags}


def claims_without_tag(claims: Iterable[ClaimRecord]) -> list[ClaimRecord]:
    """Claims that have a Node, and whose instance does not carry their name yet."""
    return [
        claim
        for claim in claims
        if claim.node_name and claim.provider_id and not claim.is_tagged and not claim.is_deleting
    ]


def outlived_claims(
    claims: Iterable[ClaimRecord], instances: Mapping[str, Ec2Instance]
) -> list[ClaimRecord]:
    """Claims that say `reserved`, and whose instance has lost its reservation: it is on-demand now.

    `instances` are by provider id.
    """
    return [
        claim
        for claim in claims
        if claim.labels.get(labels.CAPACITY_TYPE) == labels.RESERVED
        and (instance := instances.get(claim.provider_id)) is not None
        and instance.state == "running"
        and not instance.reservation_id
    ]


def endings(
    claims: Iterable[ClaimRecord], reservations: Iterable[CapacityReservation], now: datetime
) -> list[InstanceEnding]:
    """Instances of capacity blocks: EC2 begins to take them half an hour before a block ends, and
    their nodes are drained ten minutes before that.
    """
    blocks = {
        reservation.id: reservation.end_time
        for reservation in reservations
        if reservation.reservation_type == keys.CAPACITY_BLOCK and reservation.end_time is not None
    }
    endings = []
    for claim in claims:
        end = blocks.get(claim.labels.get(labels.RESERVATION_ID, ""))
        if end is None or end <= now or not claim.provider_id:
            continue
        message = f"its capacity block ends at {end.isoformat()}"
        endings.append(
            InstanceEnding(
                provider_id=claim.provider_id,
                reason=CAPACITY_BLOCK_EXPIRING,
                message=message,
                at=end - _RECLAIMED_BEFORE,
                drains_for=BLOCK_ENDS_EARLY_BY - _RECLAIMED_BEFORE,
                metric_reason="capacity_block_expiring",
            )
        )
    return endings


class ClaimUpkeep:
    """Writes what the functions above find."""

    def __init__(self, context: ProviderContext[Kube], ec2: EC2Client, cluster_name: str) -> None:
        self._kube = context.kube
        self._timer: Timer = context.timer
        self._ec2 = ec2
        self._cluster_name = cluster_name

    async def tag(self, claim: ClaimRecord, instance: Ec2Instance) -> None:
        """Tag the instance and note that on its claim, which no longer needs its fleet request.

        Raises CallFailedError, ApiError.
        """
        tags = missing_tags(claim, instance, self._cluster_name)
        if tags:
            with calling("ec2:CreateTags"):
                await self._ec2.create_tags(
                    Resources=[instance_id(claim.provider_id)],
                    Tags=[{"Key": key, "Value": tags[key]} for key in sorted(tags)],
                )
            await self._timer.sleep(_BETWEEN_TAGGINGS)
        annotations: dict[str, Json] = {
            keys.TAGGED: _TRUE,
            keys.CLUSTER_NAME_TAGGED: _TRUE,
            keys.FLEET_REQUEST: None,
        }
        await self._patch(Ref(NODE_CLAIM, claim.name), {"annotations": annotations})
        if claim.node_name:  # it got a copy when it joined
            copied: dict[str, Json] = {keys.FLEET_REQUEST: None}
            await self._patch(Ref(NODE, claim.node_name), {"annotations": copied})

    async def relabel(self, claim: ClaimRecord) -> None:
        """Say of a claim and its Node that they are on-demand. Raises ApiError."""
        changed: dict[str, Json] = {
            labels.CAPACITY_TYPE: labels.ON_DEMAND,
            labels.RESERVATION_ID: None,
            keys.RESERVATION_TYPE: None,
            keys.RESERVATION_INTERRUPTIBLE: None,
        }
        await self.label(claim.name, claim.node_name, changed)

    async def label(self, claim: str, node: str, changed: Mapping[str, Json]) -> None:
        """Change labels of a Node and its claim, the Node first. Raises ApiError."""
        if node:
            await self._patch(Ref(NODE, node), {"labels": dict(changed)})
        if claim:
            await self._patch(Ref(NODE_CLAIM, claim), {"labels": dict(changed)})

    async def _patch(self, ref: Ref, metadata: dict[str, Json]) -> None:
        try:
            await self._kube.patch(ref, Patch({"metadata": metadata}))
        except NotFoundError:
            return  # it is gone, and needs nothing any more
