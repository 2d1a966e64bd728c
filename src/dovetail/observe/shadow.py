"""Reports what a dry run would have done and saved so far, at each decision and at the end.

A decision that cannot be carried out is made again and again. What is proposed again is the same
proposal: a node that would go counts once for as long as it is there, a pod that a node would be
launched for once for as long as it waits. Money runs with time: as long as a move stands proposed,
what it would save an hour is being paid in vain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge

from dovetail.decide.nodes import census
from dovetail.model.plan import Disrupt, Launch, Plan
from dovetail.model.snapshot import Snapshot
from dovetail.observe.logs import Log
from dovetail.units import money

_HOUR: Final = timedelta(hours=1)
_MOST_SHOWN: Final = 50  # of each kind, in one line of the log


class ShadowTally(msgspec.Struct, frozen=True):
    """What would have been done so far. `saving_nanousd` is what the moves that stand proposed
    would save an hour, `saved_nanousd` what all moves would have saved since each was proposed.
    """

    n_launches: int = 0
    n_disruptions: int = 0
    n_removed: int = 0
    saving_nanousd: int = 0
    saved_nanousd: int = 0
    at: datetime | None = None
    known: frozenset[str] = frozenset()  # what was proposed before and could be again


class Fresh(msgspec.Struct, frozen=True):
    """What a decision proposes that none did before."""

    launches: tuple[Launch, ...] = ()
    disruptions: tuple[Disrupt, ...] = ()


def after_time(tally: ShadowTally, now: datetime) -> ShadowTally:
    """The tally once time has gone by with the same moves proposed."""
    gone_by = timedelta(0) if tally.at is None else max(timedelta(0), now - tally.at)
    saved = tally.saving_nanousd * (gone_by // timedelta(microseconds=1))
    per_hour = _HOUR // timedelta(microseconds=1)
    return msgspec.structs.replace(
        tally, saved_nanousd=tally.saved_nanousd + saved // per_hour, at=now
    )


def reckon(
    tally: ShadowTally, snapshot: Snapshot, plan: Plan, now: datetime
) -> tuple[ShadowTally, Fresh]:
    """The tally after a decision, and what is new in it."""
    marks = _marks_of_launches(plan.launches)
    fresh = Fresh(
        tuple(launch for launch in plan.launches if not marks[launch.name] <= tally.known),
        tuple(item for item in plan.disruptions if not _marks(item) <= tally.known),
    )
    removed = frozenset[str]().union(*map(_marks, fresh.disruptions)) - tally.known
    proposed = frozenset[str]().union(*marks.values(), *map(_marks, plan.disruptions))
    before = after_time(tally, now)
    after = msgspec.structs.replace(
        before,
        n_launches=tally.n_launches + len(fresh.launches),
        n_disruptions=tally.n_disruptions + len(fresh.disruptions),
        n_removed=tally.n_removed + len(removed),
        saving_nanousd=sum(disruption.saving_nanousd for disruption in plan.disruptions),
        known=(tally.known & _present_names(snapshot)) | proposed,
    )
    return after, fresh


def _marks(disrupt: Disrupt) -> frozenset[str]:
    return frozenset(f"node {name}" for name in disrupt.nodes)


def _marks_of_launches(launches: Iterable[Launch]) -> Mapping[str, frozenset[str]]:
    """By what a launch is known again: its pods, or where it is for none, its place among those of
    its pool. Its name is another one each time.
    """
    marks: dict[str, frozenset[str]] = {}
    n_by_pool: dict[str, int] = {}
    for item in launches:
        marks[item.name] = frozenset(f"pod {pod}" for pod in item.pods)
        if not item.pods:
            n_by_pool[item.node_pool] = n_by_pool.get(item.node_pool, 0) + 1
            marks[item.name] = frozenset({f"{n_by_pool[item.node_pool]} for {item.node_pool}"})
    return marks


def _present_names(snapshot: Snapshot) -> frozenset[str]:
    """Everything that could be proposed again: nodes, and pods that wait."""
    waiting = census(snapshot.pods).unbound
    return frozenset(
        (*(f"node {node.name}" for node in snapshot.nodes), *(f"pod {pod.key}" for pod in waiting))
    )


# ------------------------------------------------------------------ telling


class ShadowMeters:
    """What Prometheus reads of a dry run."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.launches = Counter(
            "dovetail_shadow_launches_total",
            "Nodes that a dry run would have launched.",
            ("nodepool",),
            registry=registry,
        )
        self.disruptions = Counter(
            "dovetail_shadow_disruptions_total",
            "Moves that a dry run would have made.",
            ("reason",),
            registry=registry,
        )
        self.saving = Gauge(
            "dovetail_shadow_saving_dollars_per_hour",
            "Hourly saving of the moves that are currently proposed.",
            registry=registry,
        )
        self.saved = Gauge(
            "dovetail_shadow_saved_dollars",
            "Total saving of all moves, each counted since it was proposed.",
            registry=registry,
        )


class Shadow:
    """Hears every decision of a dry run, and tells what is new."""

    def __init__(self, log: Log, registry: CollectorRegistry) -> None:
        self._log = log.named("shadow")
        self._meters = ShadowMeters(registry)
        self._cost = Plan().cost
        self.tally = ShadowTally()

    def note_plan(self, snapshot: Snapshot, plan: Plan, now: datetime, _seconds: float) -> None:
        """A decision was made, which nobody carries out."""
        self.tally, fresh = reckon(self.tally, snapshot, plan, now)
        self._cost = plan.cost
        self._count(fresh)
        if fresh.launches or fresh.disruptions:
            self._log.info("would act", **_fresh_fields(fresh), **self._totals())
        elif plan.launches or plan.disruptions:
            self._log.debug("would act as before", **self._totals())

    def end(self, now: datetime) -> None:
        """It is over: say what it came to."""
        self.tally = after_time(self.tally, now)
        self._count(Fresh())
        self._log.info("dry run ended", **self._totals())

    def _count(self, fresh: Fresh) -> None:
        for launch in fresh.launches:
            self._meters.launches.labels(launch.node_pool).inc()
        for disruption in fresh.disruptions:
            self._meters.disruptions.labels(disruption.reason).inc()
        self._meters.saving.set(money.dollars(self.tally.saving_nanousd))
        self._meters.saved.set(money.dollars(self.tally.saved_nanousd))

    def _totals(self) -> dict[str, object]:
        tally, cost = self.tally, self._cost
        return {
            "total_launches": tally.n_launches,
            "total_disruptions": tally.n_disruptions,
            "total_nodes_removed": tally.n_removed,
            "proposed_saving_per_hour": money.dollars(tally.saving_nanousd),
            "saved_so_far": money.dollars(tally.saved_nanousd),
            "cluster_per_hour": money.dollars(cost.cluster_before_nanousd),
            "cluster_target_per_hour": money.dollars(cost.cluster_target_nanousd),
        }


def _fresh_fields(fresh: Fresh) -> dict[str, object]:
    """What is new, in fields."""
    return {
        "launches": [_launch_fields(launch) for launch in fresh.launches[:_MOST_SHOWN]],
        "n_launches": len(fresh.launches),
        "launches_per_hour": money.dollars(sum(launch.price_nanousd for launch in fresh.launches)),
        "disruptions": [
            {
                "reason": disruption.reason,
                "nodes": list(disruption.nodes),
                "replacements": [_launch_fields(new) for new in disruption.replacements],
                "pods": len(disruption.pods),
                "saving_per_hour": money.dollars(disruption.saving_nanousd),
            }
            for disruption in fresh.disruptions[:_MOST_SHOWN]
        ],
        "n_disruptions": len(fresh.disruptions),
        "saving_per_hour": money.dollars(sum(item.saving_nanousd for item in fresh.disruptions)),
    }


def _launch_fields(launch: Launch) -> dict[str, object]:
    return {
        "node_pool": launch.node_pool,
        "instance_type": launch.instance_type,
        "zone": launch.zone,
        "capacity_type": launch.capacity_type,
        "price_per_hour": money.dollars(launch.price_nanousd),
        "pods": len(launch.pods),
    }
