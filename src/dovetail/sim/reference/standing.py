"""Holds the cluster as first fit sees it, from one decision to the next.

A look costs what has changed: nodes and pods that are the very same objects are not read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from dovetail import labels
from dovetail.decide.nodes import effective_taints
from dovetail.decide.pools import eligible_pools, remaining_limits
from dovetail.decide.provision import obtainable
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node
from dovetail.model.pod import DaemonSet, Pod
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirement, Requirements
from dovetail.model.resources import total
from dovetail.model.snapshot import Snapshot
from dovetail.model.taints import tolerates
from dovetail.sim.filters import wants
from dovetail.sim.reference.menus import Menu
from dovetail.sim.reference.places import HostPlace
from dovetail.sim.reference.tallies import Domains, Tallies, Topology

_Pair = tuple[Requirements, Requirements | None]


class Joined:
    """Requirements joined with others. What is equal is one object, so that menus know it again."""

    def __init__(self) -> None:
        self._interned: dict[Requirements, Requirements] = {}
        self._both: dict[tuple[int, int], tuple[Requirements, _Pair]] = {}
        self._narrowed: dict[tuple[int, str, frozenset[str]], _Pair] = {}

    def both(self, ours: Requirements, theirs: Requirements) -> Requirements | None:
        """What satisfies both; None if nothing does."""
        if not theirs:
            return ours
        key = (id(ours), id(theirs))
        known = self._both.get(key)
        if known is None:
            requirements = None
            if ours.compatible(theirs, allow_undefined=True):
                requirements = self._intern(ours & theirs)
            known = self._both[key] = (ours, (theirs, requirements))
        return known[1][1]

    def narrow(self, ours: Requirements, key: str, values: frozenset[str]) -> Requirements | None:
        """With only these values for a key; None if none is left."""
        where = (id(ours), key, values)
        known = self._narrowed.get(where)
        if known is None:
            both = ours & (Requirement(key, False, values),)
            known = self._narrowed[where] = (ours, self._intern(both) if both[key] else None)
        return known[1]

    def _intern(self, requirements: Requirements) -> Requirements:
        return self._interned.setdefault(requirements, requirements)


_Types = tuple[InstanceType, ...]


class Occupancy:
    """All nodes with what is free there, all pods by kind, and what every pool can buy."""

    def __init__(self) -> None:
        self.places: dict[str, HostPlace] = {}
        self.menus: tuple[Menu, ...] = ()
        self.limits: dict[str, dict[str, int]] = {}
        self.tallies = Tallies({})
        self.joined = Joined()
        self.n_changes = 0  # of what consolidation depends on
        self._pods: dict[str, Pod] = {}
        self._menus: dict[str, tuple[NodePool, _Types, tuple[DaemonSet, ...], Menu]] = {}
        self._snapshot = Snapshot()
        self._universe: dict[str, Domains] = {}

    @property
    def topology(self) -> Topology:
        """Who may be where, as things stand."""
        return Topology(self.tallies, self._universe)

    def look(self, snapshot: Snapshot, now: datetime) -> None:
        """Learn what has changed."""
        before, self._snapshot = self._snapshot, snapshot
        if snapshot.namespaces is not before.namespaces:
            self._forget(snapshot.namespaces)
            before = Snapshot()
        if snapshot.nodes is not before.nodes:
            self._look_at_nodes(snapshot)
        if snapshot.pods is not before.pods or snapshot.nodes is not before.nodes:
            self._look_at_pods(snapshot.pods)
        pools, _ = eligible_pools(snapshot)
        types = obtainable(snapshot, now)
        # The reference takes pools of equal weight from the last name to the first.
        turn = sorted(pools, key=lambda pool: pool.name, reverse=True)
        turn.sort(key=lambda pool: -pool.weight)
        self.menus = tuple(self._menu(item, types[item.name]) for item in turn)
        self.limits = {item.name: remaining_limits(item, snapshot.nodes) for item in pools}
        if snapshot.nodes is not before.nodes or types is not before.instance_types:
            self._universe = _universe(self.menus, self.places.values())

    def _forget(self, namespaces: Mapping[str, Mapping[str, str]]) -> None:
        self.places = {}
        self._pods = {}
        self.tallies = Tallies(namespaces)

    def _menu(self, pool: NodePool, types: _Types) -> Menu:
        menu = self._menus.get(pool.name)
        daemons = self._snapshot.daemon_sets
        if menu is None or not (menu[0] is pool and menu[1] is types and menu[2] is daemons):
            menu = (pool, types, daemons, Menu(pool, types, daemons))
            self._menus[pool.name] = menu
        return menu[3]

    # ---- nodes and pods

    def _look_at_nodes(self, snapshot: Snapshot) -> None:
        fresh = {node.name: node for node in snapshot.nodes}
        for name in [name for name in self.places if name not in fresh]:
            self._drop_place(name)
        for name, node in fresh.items():
            host_place = self.places.get(name)
            if host_place is None or not _is_same_place(host_place, node):
                self._drop_place(name)
                self.places[name] = self._place(node)
                self.n_changes += 1
            else:
                host_place.node = node

    def _place(self, node: Node) -> HostPlace:
        """A node with room for every daemon pod that belongs there, come or yet to come."""
        taints = effective_taints(node)
        running = [
            daemon_set.spec.requests
            for daemon_set in self._snapshot.daemon_sets
            if tolerates(taints, daemon_set.spec.tolerations) and wants(daemon_set.spec, node)
        ]
        free = dict(node.allocatable)
        for name, amount in total(running).items():
            free[name] = free.get(name, 0) - amount
        return HostPlace(node, taints, free)

    def _drop_place(self, name: str) -> None:
        place = self.places.pop(name, None)
        for pod in list(place.pods.values()) if place is not None else ():
            self._leave(pod, place)
            self._pods.pop(pod.key, None)

    def _look_at_pods(self, pods: Iterable[Pod]) -> None:
        known = self._pods
        fresh = {pod.key: pod for pod in pods if pod.node_name}
        for key, pod in list(known.items()):
            now = fresh.get(key)
            if now is pod:
                continue
            if now is not None and _stays(pod, now):
                known[key] = self.places[pod.node_name].pods[key] = now
            else:
                self._leave(pod, self.places.get(pod.node_name))
                del known[key]
        for key, pod in fresh.items():
            place = self.places.get(pod.node_name)
            if key not in known and place is not None and not pod.is_terminal:
                known[key] = pod
                self._add_pod(pod, place)

    def _add_pod(self, pod: Pod, place: HostPlace) -> None:
        self.n_changes += 1
        place.pods[pod.key] = pod
        if not pod.is_daemon:
            place.take(pod.spec.requests)
        if pod.deleting_at is None:
            self.tallies.put(self.tallies.kind(pod), place)

    def _leave(self, pod: Pod, place: HostPlace | None) -> None:
        if place is None or place.pods.pop(pod.key, None) is None:
            return
        self.n_changes += 1
        if not pod.is_daemon:
            place.take(pod.spec.requests, -1)
        if pod.deleting_at is None:
            self.tallies.put(self.tallies.kind(pod), place, -1)


def _stays(before: Pod, now: Pod) -> bool:
    """Whether nothing has changed that scheduling sees, such as when a pod becomes ready."""
    return (
        before.uid == now.uid
        and before.node_name == now.node_name
        and before.deleting_at == now.deleting_at
        and before.phase == now.phase
        and before.spec is now.spec
        and before.labels is now.labels
    )


def _is_same_place(host_place: HostPlace, node: Node) -> bool:
    known = host_place.node
    return known is node or (
        (known.labels is node.labels or known.labels == node.labels)
        and known.taints == node.taints
        and known.allocatable == node.allocatable
        and known.is_initialized == node.is_initialized
        and known.is_unschedulable == node.is_unschedulable
    )


def _universe(menus: Iterable[Menu], places: Iterable[HostPlace]) -> dict[str, Domains]:
    """The zones that there are: those of nodes, and those where one could be bought."""
    zones = {place.labels[labels.ZONE] for place in places if labels.ZONE in place.labels}
    for menu in menus:
        for _, _, item in menu.offers(menu.requirements):
            zones.add(item.zone)
    return {labels.ZONE: frozenset(zones)}
