"""Collects metrics of objects: follows them as they change, and renders them at each scrape.

    feed.subscribe(onlooker.hear_pods)      from the start: nobody else knows the limits of pods
    feed.subscribe(onlooker.hear)           every change that a mirror tells, once it is to be told
    onlooker.meet(pods)                     and those that wait already
    onlooker.note_plan(plan)                after each decision
    onlooker.text(snapshot)                 at each scrape, in parts

Switched off (disable-cluster-state-observability), it remembers nothing and shows only what does
not grow with the cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Final

import msgspec

from dovetail import api
from dovetail.clock import Clock
from dovetail.decide.lifecycle.conditions import conditions_of_claim
from dovetail.decide.lifecycle.pool import PoolView, conditions_of_pool
from dovetail.decide.lifecycle.step import Event
from dovetail.errors import InputError
from dovetail.kube.mirror import Absent, Notice, Present
from dovetail.model.claim import ClaimObject
from dovetail.model.plan import Plan
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot
from dovetail.observe.cluster_metrics import (
    cluster_text,
    gauge,
    label_text,
    node_count_text,
    series,
)
from dovetail.observe.condition_metrics import ConditionMetrics
from dovetail.observe.meters import Meters
from dovetail.observe.pod_limits import PodLimits, pod_key
from dovetail.observe.pod_times import PodTimes
from dovetail.observe.steps import count_unpriced, tell_budgets
from dovetail.observe.zones import zones_of_waiting
from dovetail.state.conversions import instant
from dovetail.state.objects import claim_object, node_object, pool_view

PROVISIONER: Final = "provisioner"
_ZONES: Final = "karpenter_scheduler_pending_pods_by_effective_zone_count"


class Onlooker:
    """Sees everything. `tell` takes the events about conditions."""

    def __init__(
        self,
        meters: Meters,
        tell: Callable[[Event], None],
        clock: Clock,
        *,
        is_enabled: bool = True,
    ) -> None:
        self._meters = meters
        self._clock = clock
        self._is_enabled = is_enabled
        self._times = PodTimes(meters)
        self._limits = PodLimits()
        self._conditions = ConditionMetrics(meters, tell)
        self._unpriced: frozenset[str] = frozenset()

    def hear_pods(self, notice: Notice) -> None:
        """Take in what pods may take at most. Never raises."""
        if not self._is_enabled:
            return
        match notice:
            case Present(object=api.Pod() as pod):
                self._limits.see(pod)
            case Absent(object=api.Pod() as gone):
                self._limits.forget(pod_key(gone))
            case _:
                pass

    def meet(self, pods: Iterable[Pod]) -> None:
        """Pods that waited before anything was heard of them."""
        if self._is_enabled:
            self._times.meet(pods, self._clock.now())

    def hear(self, notice: Notice) -> None:
        """Take in what a mirror tells. Never raises."""
        if not self._is_enabled:
            return
        match notice:
            case Present(object=item):
                self._present(item)
            case Absent(object=gone):
                self._absent(gone)
            case _:
                pass

    def note_plan(self, plan: Plan) -> None:
        """A decision about waiting pods was made."""
        placed = [pod for launch in plan.launches for pod in launch.pods]
        placed += [pod for nomination in plan.nominations for pod in nomination.pods]
        refused = [verdict.pod for verdict in plan.unschedulable]
        self._times.note_plan(placed, refused, self._clock.now())

    def text(self, snapshot: Snapshot) -> Iterator[str]:
        """Every gauge that follows from the cluster, in parts between which others may run."""
        now = self._clock.now()
        yield from node_count_text(snapshot)
        lines = (
            series(_ZONES, label_text({"controller": PROVISIONER, "zone": zone}), count)
            for zone, count in zones_of_waiting(snapshot).items()
        )
        yield from gauge(_ZONES, "Pending pods by the zone that they require.", lines)
        if self._is_enabled:
            yield from cluster_text(snapshot, self._limits, now)
            yield from self._times.text(now)
            yield from self._conditions.text(now)

    def scrape(self, snapshot: Snapshot) -> Iterator[bytes]:
        """Everything that is counted, timed or shown, as Prometheus reads it, in parts."""
        tell_budgets(self._meters, snapshot, self._clock.now())
        self._unpriced = count_unpriced(self._meters, snapshot, self._unpriced)
        yield self._meters.text()
        for part in self.text(snapshot):
            yield part.encode()

    def _present(self, item: api.Object) -> None:
        try:
            match item:
                case api.Pod():
                    self._times.see(item, self._clock.now())
                case api.NodeClaim():
                    self._see_claim(claim_object(item))
                case api.Node():
                    self._conditions.see_node(node_object(item))
                case api.NodePool():
                    going = instant(item.metadata.deletion_timestamp)
                    self._see_pool(pool_view(item), going)
                case _:
                    pass
        except InputError:
            return  # whoever acts on it says what is wrong with it

    # What nobody has said yet of a claim or a pool is Unknown: it turns when it is first said.

    def _see_claim(self, claim: ClaimObject) -> None:
        conditions = conditions_of_claim(claim, self._clock.now()).held
        self._conditions.see_claim(msgspec.structs.replace(claim, conditions=conditions))

    def _see_pool(self, view: PoolView, deleting_at: datetime | None) -> None:
        conditions = conditions_of_pool(view, self._clock.now()).held
        self._conditions.see_pool(msgspec.structs.replace(view, conditions=conditions), deleting_at)

    def _absent(self, gone: api.Object) -> None:
        match gone:
            case api.Pod():
                self._times.forget(pod_key(gone))
            case api.NodeClaim() | api.Node() | api.NodePool():
                self._conditions.forget(gone.kind, gone.metadata.name, self._clock.now())
            case _:
                pass
