"""Reads NodeClaims by the instances that they have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.kube.errors import NotFoundError
from dovetail.kube.seam import Json, Kube, Patch, Ref, Scope
from dovetail.model.ending import ReclaimedOffering
from dovetail.providers.aws.instances.described import instance_id

NODE_CLAIM: Final = api.KINDS[labels.GROUP, "NodeClaim"]
# Annotations of NodeClaims.
ENDING: Final = "aws.dovetail.sh/instance-ending"  # an end that is far away, as JSON
REBALANCE: Final = "aws.dovetail.sh/rebalance-recommended-at"
_PAGE: Final = 500


class InstanceClaim(msgspec.Struct, frozen=True):
    """A NodeClaim, as far as the end of its instance is concerned."""

    name: str
    uid: str
    provider_id: str
    node_name: str = ""
    is_deleting: bool = False
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}

    @property
    def offering(self) -> ReclaimedOffering:
        """What its instance was launched as."""
        return ReclaimedOffering(
            self.labels.get(labels.INSTANCE_TYPE, ""),
            self.labels.get(labels.ZONE, ""),
            self.labels.get(labels.CAPACITY_TYPE, ""),
        )


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    uid: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class _Status(msgspec.Struct, rename="camel"):
    provider_id: str = msgspec.field(default="", name="providerID")
    node_name: str = ""


class _Claim(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    status: _Status = msgspec.field(default_factory=_Status)


_reader: Final = msgspec.json.Decoder(_Claim)


class InstanceClaims:
    """NodeClaims of the cluster, as the API has them."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    async def by_instance(self) -> dict[str, InstanceClaim]:
        """Every claim that has an instance of EC2, by the instance's id. Raises ApiError."""
        claims: dict[str, InstanceClaim] = {}
        token = ""
        while True:
            page = await self._kube.list(Scope(NODE_CLAIM), limit=_PAGE, token=token)
            for raw in page.items:
                claim = _claim(_reader.decode(raw))
                name = instance_id(claim.provider_id)
                if name:
                    claims[name] = claim
            token = page.token
            if not token:
                return claims

    async def annotate(self, claim: InstanceClaim, key: str, value: str) -> None:
        """Write an annotation, unless the claim has it or is gone. Raises ApiError."""
        if claim.annotations.get(key) == value:
            return
        metadata: dict[str, Json] = {"annotations": {key: value}}
        try:
            await self._kube.patch(Ref(NODE_CLAIM, claim.name), Patch({"metadata": metadata}))
        except NotFoundError:
            return


def _claim(claim: _Claim) -> InstanceClaim:
    meta = claim.metadata
    return InstanceClaim(
        meta.name,
        meta.uid,
        claim.status.provider_id,
        claim.status.node_name,
        meta.deletion_timestamp is not None,
        meta.labels,
        meta.annotations,
    )
