"""Launches the instance of a claim, and keeps the outcome: success until it is written, or failure.

A launch goes on beside everything else that happens to its claim. Its outcome is kept by the
claim's UID, so that a status that could not be written costs neither the instance nor another.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

import msgspec

from dovetail.cloud.errors import (
    CloudError,
    CreateError,
    InsufficientCapacityError,
    NodeClassNotReadyError,
    SoldOut,
)
from dovetail.cloud.price_list import PriceList
from dovetail.cloud.provider import Instance
from dovetail.cloud.repeated_faults import RepeatedFaults
from dovetail.controllers.cache import WatchCache
from dovetail.controllers.dependencies import Dependencies
from dovetail.controllers.workqueue import WorkQueue
from dovetail.decide.lifecycle.launch import retry_launch_at
from dovetail.model.backoff import Backoff
from dovetail.model.claim import ClaimObject, Launched, LaunchFailed, LaunchFailure, Launching
from dovetail.state.changes import InstanceLaunchEnded, InstanceLaunchFailed, PoolRefused, Refused

N_AT_ONCE: Final = 100  # calls to the cloud

Outcome = Launching | Launched | LaunchFailed


class _Held(msgspec.Struct, frozen=True):
    outcome: Outcome
    claim: ClaimObject
    again_at: datetime | None = None  # when a launch that failed is worth another try


class InstanceLaunches:
    """Launches under way, and what came of those that are not written down yet. `ended` hears of
    every claim whose launch has come to an end.
    """

    def __init__(
        self, dependencies: Dependencies, cache: WatchCache, *, ended: Callable[[ClaimObject], None]
    ) -> None:
        self._dependencies = dependencies
        self._cache = cache
        self._ended = ended
        self._log = dependencies.log.named("nodeclaim.lifecycle")
        self._faults = RepeatedFaults(dependencies.clock)
        self._held: dict[str, _Held] = {}
        self._queue: WorkQueue[str] = WorkQueue(
            self._launch,
            failed=self._note_unexpected_failure,
            queue_settings=dependencies.queue_settings(Backoff(1.0, 60.0), N_AT_ONCE),
        )
        self.run, self.finish = self._queue.run, self._queue.finish

    def outcome(self, uid: str, now: datetime) -> Outcome | None:
        """What became of it; None when it is time to try, for the first time or again."""
        entry = self._held.get(uid)
        if entry is None or (entry.again_at is not None and entry.again_at <= now):
            return None
        return entry.outcome

    def again_at(self, uid: str) -> datetime | None:
        """When a launch that failed is worth another try."""
        entry = self._held.get(uid)
        return entry.again_at if entry is not None else None

    def begin(self, claim: ClaimObject) -> None:
        """Launch an instance for this claim."""
        self._held[claim.uid] = _Held(Launching(), claim)
        self._queue.add(claim.uid)

    def forget(self, uid: str) -> None:
        """It is written down, or its claim is gone."""
        entry = self._held.get(uid)
        if entry is not None and not isinstance(entry.outcome, Launching):
            del self._held[uid]
        self._cache.cluster.apply(InstanceLaunchEnded(uid))

    def unwritten_claims(self) -> tuple[str, ...]:
        """Names of claims that have an instance and do not know it yet."""
        entries = self._held.values()
        return tuple(item.claim.name for item in entries if isinstance(item.outcome, Launched))

    async def _launch(self, uid: str) -> None:
        entry = self._held.get(uid)
        if entry is None or not isinstance(entry.outcome, Launching):
            return
        claim = entry.claim
        try:
            instance = await self._dependencies.cloud.create(claim)
        except CloudError as error:
            self._note_failure(claim, error)
        else:
            self._refuse(instance.sold_out)
            self._log.info(
                "launched node claim",
                node_claim=claim.name,
                node_pool=claim.node_pool,
                provider_id=instance.provider_id,
            )
            self._held[uid] = _Held(_launched_outcome(instance), claim)
            self._ended(claim)

    def _note_unexpected_failure(self, uid: str, error: Exception) -> None:
        """Of a provider that raises what it must not: the launch has failed all the same."""
        entry = self._held.get(uid)
        if entry is not None:
            self._note_failure(entry.claim, error)

    def _note_failure(self, claim: ClaimObject, error: Exception) -> None:
        cluster, now = self._cache.cluster, self._dependencies.clock.now()
        cluster.apply(InstanceLaunchFailed(claim.uid))
        failed = failure_of(error, cluster.book.n_failed_launches(claim.uid))
        again_at = retry_launch_at(failed, now)
        if again_at is None:  # the claim is deleted, and its pods are planned for again
            self._note_shortage(claim, error, now)
        self._report(claim, error, is_tried_again=again_at is not None)
        self._held[claim.uid] = _Held(failed, claim, again_at)
        self._ended(claim)

    def _report(self, claim: ClaimObject, error: Exception, *, is_tried_again: bool) -> None:
        """What many claims suffer from again and again is reported once a minute."""
        n_times = 1
        if is_tried_again:
            n_times = self._faults.n_to_report(str(error).replace(claim.name, ""))
        if n_times:
            self._log.error(
                "could not launch node claim",
                node_claim=claim.name,
                node_pool=claim.node_pool,
                error=error,
                n_times=n_times,
            )

    def _note_shortage(self, claim: ClaimObject, error: Exception, now: datetime) -> None:
        """Remember what could not be had, so that the next plan asks for something else."""
        if isinstance(error, InsufficientCapacityError) and error.sold_out:
            self._refuse(error.sold_out)
            return
        pool, cluster = claim.node_pool, self._cache.cluster
        choices = PriceList(cluster.instance_types(pool)).serving(claim)
        offerings = tuple(
            (choice.sold_out.instance_type, choice.sold_out.zone, choice.sold_out.capacity_type)
            for choice in choices
        )
        cluster.apply(PoolRefused(pool, offerings, now))

    def _refuse(self, sold_out: tuple[SoldOut, ...]) -> None:
        now = self._dependencies.clock.now()
        for out in sold_out:
            refused = Refused(out.instance_type, out.zone, out.capacity_type, now)
            self._cache.cluster.apply(refused)


def failure_of(error: Exception, n_failures: int) -> LaunchFailed:
    """What a cloud's error means for the claim."""
    match error:
        case InsufficientCapacityError():
            failure, reason, message = LaunchFailure.INSUFFICIENT_CAPACITY, "", str(error)
        case NodeClassNotReadyError():
            failure, reason, message = LaunchFailure.NODE_CLASS_NOT_READY, "", str(error)
        case CreateError():
            failure, reason = LaunchFailure.CREATE_ERROR, error.condition_reason
            message = error.condition_message
        case _:
            failure, reason, message = LaunchFailure.OTHER, "", str(error) or type(error).__name__
    return LaunchFailed(failure, message, reason, n_failures)


def _launched_outcome(instance: Instance) -> Launched:
    return Launched(
        provider_id=instance.provider_id,
        image_id=instance.image_id,
        labels=instance.labels,
        annotations=instance.annotations,
        capacity=instance.capacity,
        allocatable=instance.allocatable,
    )
