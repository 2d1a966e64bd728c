"""Asks EC2 which instances fail their status checks, and for which it has scheduled events.

That needs no queue. A failed check must last for a while before it counts; then the instance is
terminated without a drain, since nothing on it answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from dovetail.cloud.context import ProviderContext
from dovetail.kube.errors import ApiError
from dovetail.kube.seam import Kube
from dovetail.providers.aws.calls import CallFailedError, calling, required
from dovetail.providers.aws.interruption.claims import ENDING, InstanceClaim
from dovetail.providers.aws.interruption.endings import from_text
from dovetail.providers.aws.interruption.fault_log import FaultLog
from dovetail.providers.aws.interruption.handler import InterruptionHandler
from dovetail.providers.aws.interruption.messages import Interruption, InterruptionKind
from dovetail.providers.aws.interruption.metrics import UNHEALTHY_STATUSES

if TYPE_CHECKING:
    from types_aiobotocore_ec2 import EC2Client
    from types_aiobotocore_ec2.type_defs import (
        FilterTypeDef,
        InstanceStatusSummaryTypeDef,
        InstanceStatusTypeDef,
    )

EVERY: Final = timedelta(minutes=1)
EVENTS_EVERY: Final = 5  # checks: EC2 schedules events days ahead
TOLERATED_FOR: Final = timedelta(seconds=120)
_ACTION: Final = "ec2:DescribeInstanceStatus"
_EVENT_CODES: Final = (
    "instance-reboot",
    "instance-retirement",
    "instance-stop",
    "system-maintenance",
    "system-reboot",
)
_OVER: Final = ("[Completed]", "[Canceled]")
_IMPAIRED: Final = ("instance-status.status", "system-status.status")


def interruptions_of(status: InstanceStatusTypeDef, now: datetime) -> Iterator[Interruption]:
    """What the status of an instance says, if that has been so for long enough."""
    ids = (status.get("InstanceId", ""),)
    for kind, summary in (
        (InterruptionKind.INSTANCE_STATUS, status.get("InstanceStatus", {})),
        (InterruptionKind.SYSTEM_STATUS, status.get("SystemStatus", {})),
    ):
        since = _impaired_since(summary)
        if since is not None and now - since >= TOLERATED_FOR:
            yield Interruption(kind, ids, detail=f"since {since.isoformat(timespec='seconds')}")
    events = [
        event
        for event in status.get("Events", [])
        if not event.get("Description", "").startswith(_OVER)
        and event.get("Code", "") in _EVENT_CODES
    ]
    if events:
        first = min(events, key=lambda event: event.get("NotBefore", now))
        at = first.get("NotBefore")
        yield Interruption(
            InterruptionKind.SCHEDULED_EVENT, ids, at=at, detail=first.get("Code", "")
        )


def _impaired_since(summary: InstanceStatusSummaryTypeDef) -> datetime | None:
    if summary.get("Status") != "impaired":
        return None
    moments = [
        detail["ImpairedSince"]
        for detail in summary.get("Details", [])
        if "ImpairedSince" in detail
    ]
    return min(moments, default=None)


class InstanceStatusChecks:
    """The checks, again and again."""

    def __init__(
        self, context: ProviderContext[Kube], ec2: EC2Client, handler: InterruptionHandler
    ) -> None:
        self._context = context
        self._ec2 = ec2
        self._handler = handler
        self._faults = FaultLog(context.log, context.timer)
        self._unhealthy: frozenset[tuple[str, InterruptionKind]] = frozenset()
        self._events: dict[str, InstanceStatusTypeDef] = {}  # scheduled, as last asked for
        self._n_checks = 0

    async def run(self) -> None:
        """Check every minute until cancelled."""
        while True:
            try:
                await self.check()
            except (CallFailedError, ApiError) as error:
                self._faults.warn("cannot check the status of instances", error=error)
            await self._context.timer.sleep(EVERY.total_seconds())

    async def check(self) -> None:
        """Announce every end that EC2 tells of, and those that claims keep. Ends that claims keep
        are announced first: EC2 may know better by now. Raises CallFailedError, ApiError.
        """
        claims = await self._handler.claims.by_instance()
        if not claims:
            return
        await self._recall(claims)
        statuses = await self._statuses()
        now = self._context.clock.now()
        interruptions = [
            item for status in statuses.values() for item in interruptions_of(status, now)
        ]
        ours = [item for item in interruptions if item.instance_ids[0] in claims]
        self._count(ours)
        for interruption in ours:
            await self._handler.act(interruption, claims)

    async def _recall(self, claims: Mapping[str, InstanceClaim]) -> None:
        """Announce again what a message said: nobody else remembers it after a restart."""
        for claim in claims.values():
            text = claim.annotations.get(ENDING, "")
            interruption = from_text(text) if text and not claim.is_deleting else None
            if interruption is not None:
                self._handler.recall(interruption, claim)

    async def _statuses(self) -> dict[str, InstanceStatusTypeDef]:
        """Those of instances that fail a check now or had an event when last asked for, by id."""
        if self._n_checks % EVENTS_EVERY == 0:
            scheduled = await self._describe("event.code", _EVENT_CODES)
            # Nothing but the events, since checks may have passed again until they are read.
            self._events = {
                name: {"InstanceId": name, "Events": status.get("Events", [])}
                for name, status in scheduled.items()
            }
        statuses = dict(self._events)
        for name in _IMPAIRED:
            statuses |= await self._describe(name, ("impaired",))
        self._n_checks += 1
        return statuses

    async def _describe(self, name: str, values: Sequence[str]) -> dict[str, InstanceStatusTypeDef]:
        """The statuses of instances that one filter finds, by id."""
        statuses: dict[str, InstanceStatusTypeDef] = {}
        filters: list[FilterTypeDef] = [{"Name": name, "Values": list(values)}]
        with calling(_ACTION):
            pages = self._ec2.get_paginator("describe_instance_status")
            async for page in pages.paginate(Filters=filters):
                for status in required(page.get("InstanceStatuses"), _ACTION):
                    statuses[status.get("InstanceId", "")] = status
        return statuses

    def _count(self, interruptions: Sequence[Interruption]) -> None:
        """Each instance and check once, until it passes again."""
        unhealthy = frozenset((item.instance_ids[0], item.kind) for item in interruptions)
        for _, kind in sorted(unhealthy - self._unhealthy):
            self._context.meters.count(UNHEALTHY_STATUSES, category=kind.value)
        self._unhealthy = unhealthy
