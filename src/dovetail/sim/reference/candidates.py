"""Finds the nodes that may be disrupted, and what each is worth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from fractions import Fraction

import msgspec

from dovetail import labels
from dovetail.decide.candidates import is_movable
from dovetail.decide.disrupt.candidates import Scene
from dovetail.decide.disrupt.cost import moving_cost
from dovetail.decide.disrupt.emptiness import is_quiet, is_reschedulable
from dovetail.decide.lifecycle.draining import is_evictable
from dovetail.decide.lifecycle.protection import protection
from dovetail.decide.pools import price_of, prices
from dovetail.model.node import Node
from dovetail.model.pod import Pod
from dovetail.model.pool import ConsolidationPolicy, NodePool
from dovetail.model.snapshot import DisruptionBudget
from dovetail.sim.reference.places import HostPlace
from dovetail.sim.reference.standing import Occupancy
from dovetail.sim.reference.tallies import Kind

_Name = tuple[str, str]  # namespace and name


class Removable(msgspec.Struct, frozen=True):
    """A node that may go: its price, its pods that would move, and what that costs the cluster."""

    place: HostPlace
    pods: tuple[Pod, ...]
    price_nanousd: int
    cost: int

    @property
    def node(self) -> Node:
        """The node."""
        return self.place.node

    @property
    def is_empty(self) -> bool:
        """Whether nobody would move."""
        return not self.pods

    @property
    def turn(self) -> tuple[Fraction, str]:
        """Dearest first for what it costs to move its pods."""
        return (-Fraction(self.price_nanousd, self.cost), self.node.name)


class Eligibility:
    """Tells which nodes may go, with what it found out for one cluster kept for the next."""

    def __init__(self) -> None:
        self._budgets: tuple[DisruptionBudget, ...] = ()
        self._by_name: dict[_Name, DisruptionBudget] = {}
        self._selecting: dict[Kind, tuple[_Name, ...]] = {}

    def quiet_nodes(self, standing: Occupancy, scene: Scene) -> list[Removable]:
        """Every node that nothing keeps and that has been quiet for as long as its pool wants."""
        places = [place for place in standing.places.values() if is_quiet(place.node)]
        return self.among(places, standing, scene)

    def among(
        self,
        places: Iterable[HostPlace],
        standing: Occupancy,
        scene: Scene,
        *,
        are_pods_ignored: bool = False,
    ) -> list[Removable]:
        """Those that nothing keeps. Where draining ends in any case, pods keep none."""
        snapshot = scene.snapshot
        self._look(snapshot.disruption_budgets)
        pools = {pool.name: pool for pool in snapshot.node_pools if not pool.problems}
        known = prices(snapshot)
        removables = []
        for place in places:
            node = place.node
            pool = pools.get(node.node_pool)
            if pool is None or pool.replicas is not None or not _may_go(node, scene):
                continue
            is_drained_anyway = are_pods_ignored and node.termination_grace_period is not None
            if not is_drained_anyway and self._is_kept(place, standing, scene.now):
                continue
            pods = tuple(
                pod
                for pod in place.pods.values()
                if is_reschedulable(pod)
                and is_movable(pod, self._guards(standing.tallies.kind(pod)), scene.now)
            )
            cost = moving_cost(pods)
            removables.append(Removable(place, pods, price_of(node, known), cost))
        return removables

    def _is_kept(self, place: HostPlace, standing: Occupancy, now: datetime) -> bool:
        """Whether a pod forbids it: protected, or held by a budget that allows nothing now."""
        for pod in place.pods.values():
            if pod.annotations and protection(pod, now).is_active:
                return True
            guards = self._guards(standing.tallies.kind(pod))
            if guards and is_evictable(pod, now) and _forbid(guards, pod):
                return True
        return False

    def _look(self, budgets: tuple[DisruptionBudget, ...]) -> None:
        """Take in what budgets allow now; whom they select is only asked when that may change."""
        if budgets is self._budgets:
            return
        fresh = {(budget.namespace, budget.name): budget for budget in budgets}
        by_name = self._by_name
        is_same = fresh.keys() == by_name.keys() and all(
            fresh[name].selector == by_name[name].selector for name in fresh
        )
        if not is_same:
            self._selecting.clear()
        self._budgets, self._by_name = budgets, fresh

    def _guards(self, kind: Kind) -> tuple[DisruptionBudget, ...]:
        known = self._selecting.get(kind)
        if known is None:
            sample = kind.sample
            known = self._selecting[kind] = tuple(
                name
                for name, budget in self._by_name.items()
                if budget.namespace == sample.namespace and budget.selector.matches(sample.labels)
            )
        return tuple(self._by_name[name] for name in known) if known else ()


def _may_go(node: Node, scene: Scene) -> bool:
    return (
        bool(node.node_claim)
        and node.is_initialized
        and node.name not in scene.leaving
        and node.name not in scene.disrupting
        and node.name not in scene.nominated
        and node.annotations.get(labels.DO_NOT_DISRUPT) != "true"
    )


def _forbid(guards: Iterable[DisruptionBudget], pod: Pod) -> bool:
    budgets = tuple(guards)
    if len(budgets) > 1:
        return True
    return any(
        budget.disruptions_allowed <= 0
        and not (budget.always_allows_unhealthy and not pod.is_ready)
        for budget in budgets
    )


def is_consolidatable(item: Removable, pools: Mapping[str, NodePool]) -> bool:
    """Whether the node may be consolidated though pods run on it (6.7)."""
    disruption = pools[item.node.node_pool].disruption
    return (
        not item.is_empty
        and is_quiet(item.node)
        and disruption.consolidate_after is not None
        and disruption.consolidation_policy != ConsolidationPolicy.WHEN_EMPTY
        and bool(item.node.zone and item.node.capacity_type and item.node.instance_type)
    )


def is_idle(item: Removable, pools: Mapping[str, NodePool]) -> bool:
    """Whether the node goes because nobody needs it (6.5)."""
    disruption = pools[item.node.node_pool].disruption
    return item.is_empty and is_quiet(item.node) and disruption.consolidate_after is not None
