"""Follows zonal shifts of the cluster: nothing is launched in a zone that traffic leaves.

Each answer of ARC has all shifts of the cluster, so that the zones are replaced as a whole: a zone
whose shift has ended is used again although another one is still shifted.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol, TypedDict

import msgspec

from dovetail import api, labels
from dovetail.cloud.context import ProviderContext
from dovetail.decide.lifecycle.step import Event, EventType
from dovetail.kube.errors import ApiError
from dovetail.kube.seam import Kube, Scope
from dovetail.providers.aws.calls import CallFailedError, calling
from dovetail.providers.aws.catalogue.source import CatalogueSource
from dovetail.providers.aws.interruption.fault_log import FaultLog

if TYPE_CHECKING:
    from types_aiobotocore_eks import EKSClient

EVERY: Final = timedelta(seconds=30)
ACTIVE_EVENT: Final = "ZonalShiftActive"
CLEARED_EVENT: Final = "ZonalShiftCleared"
_NODE_POOL: Final = api.KINDS[labels.GROUP, "NodePool"]
_APPLIED: Final = "APPLIED"


class _Shift(TypedDict, total=False):
    appliedStatus: str
    awayFrom: str
    expiryTime: datetime


class ManagedResource(TypedDict, total=False):
    """What ARC says of a cluster."""

    zonalShifts: list[_Shift]
    autoshifts: list[_Shift]


class ZonalShiftClient(Protocol):
    """The one call of ARC that is made."""

    async def get_managed_resource(self, *, resourceIdentifier: str) -> ManagedResource:  # noqa: N803  the name of AWS
        """The shifts of a resource."""
        ...


def shifted_zones(resource: ManagedResource, now: datetime) -> frozenset[str]:
    """The ids of zones that traffic is shifted away from now."""
    shifts = (*resource.get("zonalShifts", []), *resource.get("autoshifts", []))
    return frozenset(
        shift.get("awayFrom", "")
        for shift in shifts
        if shift.get("appliedStatus") == _APPLIED and shift.get("expiryTime", now) >= now
    )


class ZonalShifts:
    """The zones that the cluster leaves, asked for again and again."""

    def __init__(
        self,
        context: ProviderContext[Kube],
        arc: ZonalShiftClient,
        eks: EKSClient,
        *,
        cluster_name: str,
        source: CatalogueSource,
    ) -> None:
        self._context = context
        self._arc = arc
        self._eks = eks
        self._cluster_name = cluster_name
        self._source = source
        self._faults = FaultLog(context.log, context.timer)
        self._arn = ""
        self._shifted: frozenset[str] = frozenset()

    async def run(self) -> None:
        """Ask every 30 seconds until cancelled."""
        while True:
            await self.attempt()
            await self._context.timer.sleep(EVERY.total_seconds())

    async def attempt(self) -> None:
        """Ask once. What was known stays in use if ARC cannot be asked."""
        try:
            await self.ask()
        except CallFailedError as error:
            self._faults.warn("cannot ask for zonal shifts of the cluster", error=error)
        except ApiError as error:
            self._faults.warn("cannot tell NodePools of a zonal shift", error=error)

    async def ask(self) -> None:
        """Ask, and take over the zones. Raises CallFailedError, ApiError."""
        arn = await self._cluster_arn()
        with calling("arc-zonal-shift:GetManagedResource"):
            resource = await self._arc.get_managed_resource(resourceIdentifier=arn)
        shifted = shifted_zones(resource, self._context.clock.now())
        begun, ended = shifted - self._shifted, self._shifted - shifted
        self._shifted = shifted
        self._source.set_shifted_zones(shifted)
        if not begun and not ended:
            return
        self._context.log.info("zonal shift", begun=sorted(begun), ended=sorted(ended))
        pools = await self._pools()
        for zone in sorted(begun):
            message = f"Nothing is launched in zone {zone}: traffic is shifted away from it"
            self._tell(pools, ACTIVE_EVENT, message, EventType.WARNING)
        for zone in sorted(ended):
            message = f"Zone {zone} is used again: its zonal shift has ended"
            self._tell(pools, CLEARED_EVENT, message, EventType.NORMAL)

    async def _cluster_arn(self) -> str:
        if not self._arn:
            with calling("eks:DescribeCluster"):
                answer = await self._eks.describe_cluster(name=self._cluster_name)
            self._arn = answer["cluster"].get("arn", "")
        return self._arn

    async def _pools(self) -> list[api.ObjectMeta]:
        page = await self._context.kube.list(Scope(_NODE_POOL))
        return [msgspec.json.decode(raw, type=_Pool).metadata for raw in page.items]

    def _tell(
        self, pools: list[api.ObjectMeta], reason: str, message: str, kind: EventType
    ) -> None:
        for pool in pools:
            event = Event(
                "NodePool", pool.name, reason, message, type=kind, uid=pool.uid, dedupe=(message,)
            )
            self._context.tell(event)


class _Pool(msgspec.Struct):
    metadata: api.ObjectMeta
