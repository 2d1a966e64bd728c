"""Keeps everything known of a live cluster, with one synchronous writer.

`apply` takes in one change and says what it could matter to. `snapshot` freezes what is known: it
costs about what has changed since the last one, and parts that nothing touched are the very same
objects, so that a solver may recognise them. `freeze.snapshot` is its slow twin.

Nothing is memory but this: what decisions need to know of earlier ones is in the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail import api
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node
from dovetail.model.pod import Pod, PodKey
from dovetail.model.policy import Policy
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.state.buffers import Buffer
from dovetail.state.changes import (
    NOTHING,
    Catalogued,
    Change,
    Evicted,
    LaunchDone,
    LaunchRefused,
    LaunchStarted,
    Nominated,
    Observed,
    Outcome,
    Touched,
    Vanished,
    Withdrawn,
)
from dovetail.state.fleet import Fleet
from dovetail.state.ledger import Book, nominated_for
from dovetail.state.objects import node_pool
from dovetail.state.pods import in_order, live_pod
from dovetail.state.shelf import DEFAULT_NAMESPACE, Keeper, Key, Shelf, namespace_of
from dovetail.state.surroundings import Surroundings

_BATCH_MAX: Final = timedelta(seconds=10)
_DEFAULT_POLICY: Final = Policy()
_SPARE: Final = 1000  # so many parts may be remembered in vain before a sweep

Types = tuple[InstanceType, ...]


class Conversions(msgspec.Struct, frozen=True):
    """How much work was done so far: what a change costs, without a stopwatch."""

    pods: int = 0
    pod_specs: int = 0
    nodes: int = 0


class Cluster:
    """Everything known of a cluster. `batch_max` is the longest batch window, `book` the ledger."""

    def __init__(
        self, *, policy: Policy = _DEFAULT_POLICY, batch_max: timedelta = _BATCH_MAX
    ) -> None:
        self._policy = policy
        self._around = Surroundings()
        self._fleet = Fleet()
        self.book = Book(nominated_for(batch_max))
        self.evictions = self.book.evictions
        self._pods: Shelf[api.Pod, Pod] = Shelf(api.Pod, self._pod)
        self._pools: Shelf[api.NodePool, NodePool] = Shelf(api.NodePool, node_pool)
        fleet = (self._fleet.seen, self._fleet.claims, self._fleet.limits)
        self._keepers: dict[type[api.Object], Keeper] = {
            shelf.wire_type: shelf for shelf in (self._pods, self._pools, *fleet)
        }
        self._types: dict[str, Types] = {}
        self._types_by_pool: Mapping[str, Types] = {}
        self._n_swept = 0
        self._n_specs = 0
        self._with_buffers: tuple[tuple[Pod, ...], ...] = ((), (), ())
        self._revision = 0
        self._keys_by_node: dict[str, dict[Key, None]] = {}

    # ------------------------------------------------------------------ writing

    def apply(self, change: Change) -> Touched:
        """Take in a change; what it could matter to."""
        match change:
            case Observed():
                return self._observe(change.object)
            case Vanished():
                key = (change.namespace or DEFAULT_NAMESPACE, change.name)
                return self._vanish(change.kind.wire_type, key)
            case Catalogued():
                if self._types.get(change.node_pool) == change.instance_types:
                    return NOTHING
                self._types[change.node_pool] = change.instance_types
                return Touched.POOLS
            case _:
                return self._settle(change)

    def adopt(self, now: datetime) -> Touched:
        """Take every nomination that pods carry for our own, made now.

        For when a controller begins to lead: an earlier one of ours may have made them, or
        kube-scheduler, and nobody can tell. They are believed for the usual time, so that no pod
        is planned for twice at once, and none waits for ever for a promise that nobody keeps.
        """
        touched = NOTHING
        for key, pod in list(self._pods.items()):
            ours = self.book.adopt(key, pod, now)
            if ours is not pod:
                self._pods.replace(key, ours)
                touched = Touched.PENDING
        return touched

    def _observe(self, wire: api.Object) -> Touched:
        match wire:
            case api.Pod():
                return self._put_pod(wire)
            case api.Node():
                return _nodes_if(self._fleet.seen.put(wire))
            case api.NodeClaim():
                return _nodes_if(self._fleet.put_claim(wire))
            case api.CSINode():
                return _nodes_if(self._fleet.limits.put(wire))
            case api.NodePool():
                return Touched.POOLS if self._pools.put(wire) else NOTHING
            case _:
                return self._around.put(wire)

    def _vanish(self, kind: type[api.Object], key: Key) -> Touched:
        if kind is api.Pod:
            before = self._pods.get(key)
            self._pods.drop(key)
            return self._follow(key, before)
        if kind is api.NodeClaim:
            return _nodes_if(self._fleet.drop_claim(key))
        if kind is api.NodePool:
            self._types.pop(key[1], None)
            return Touched.POOLS if self._pools.drop(key) else NOTHING
        if kind in self._keepers:
            return _nodes_if(self._keepers[kind].drop(key))
        return self._around.drop(kind, key)

    def _settle(self, outcome: Outcome) -> Touched:
        match outcome:
            case LaunchStarted():
                return self._begin(outcome)
            case LaunchDone():
                self._fleet.note_launch(outcome.node_claim, outcome.at)
                return NOTHING
            case LaunchRefused():
                self._fleet.fail(outcome.node_claim, outcome.at)
                self.book.withdraw_all(outcome.node_claim)
                return Touched.NODES | Touched.PENDING
            case Nominated() | Withdrawn():
                return self._promise(outcome)
            case Evicted():
                return self._evict(outcome)
            case _:
                return self.book.apply(outcome)

    def _begin(self, outcome: LaunchStarted) -> Touched:
        launch = outcome.launch
        self._fleet.begin(launch, self._types.get(launch.node_pool, ()))
        self._promise(Nominated(launch.name, launch.pods, outcome.at))
        return Touched.NODES

    def _promise(self, outcome: Nominated | Withdrawn) -> Touched:
        for pod_key in outcome.pods:
            key = _key(pod_key)
            pod = self._pods.get(key) or self._around.buffer_pod(pod_key)
            if isinstance(outcome, Withdrawn):
                self.book.withdraw(key)
            elif pod is not None:
                self.book.nominate(key, pod, outcome.node, outcome.at)
        return Touched.PENDING if isinstance(outcome, Withdrawn) else NOTHING

    def _evict(self, outcome: Evicted) -> Touched:
        self.evictions.add(outcome.workload, outcome.uid, outcome.at)
        key = _key(outcome.pod)
        pod = self._pods.get(key)
        if pod is None or pod.uid != outcome.uid or pod.deleting_at is not None:
            return NOTHING
        until = outcome.at + timedelta(seconds=pod.spec.termination_grace_seconds)
        self._pods.replace(key, msgspec.structs.replace(pod, deleting_at=until))
        return Touched.NODES

    def _pod(self, wire: api.Pod) -> Pod | None:
        pod = live_pod(wire, self._around.templates)
        key = (namespace_of(wire), wire.metadata.name)
        return None if pod is None else self.book.read(key, pod)

    def _put_pod(self, wire: api.Pod) -> Touched:
        key = (namespace_of(wire), wire.metadata.name)
        before = self._pods.get(key)
        self._pods.put(wire)
        self._sweep()  # here too: whoever does not lead takes no snapshots
        return self._follow(key, before)

    def _follow(self, key: Key, before: Pod | None) -> Touched:
        """What became of a pod."""
        after = self._pods.get(key)
        if after is before:
            return NOTHING
        self._move(key, "" if before is None else before.node_name, after)
        self.book.follow(key, before, after)
        either = after or before
        is_bound = either is not None and bool(either.node_name)
        return Touched.NODES if is_bound else Touched.PENDING

    def _move(self, key: Key, earlier: str, pod: Pod | None) -> None:
        """Keep track of who is where."""
        node = "" if pod is None else pod.node_name
        if node == earlier:
            return
        left = self._keys_by_node.get(earlier)
        if left is not None:
            left.pop(key, None)
            if not left:
                del self._keys_by_node[earlier]
        if node:
            self._keys_by_node.setdefault(node, {})[key] = None

    # ------------------------------------------------------------------ reading

    def pod(self, key: PodKey) -> Pod | None:
        """The pod of that name, bound or waiting."""
        return self._pods.get(_key(key))

    def buffers(self) -> tuple[Buffer, ...]:
        """Every capacity buffer, and what it comes to."""
        return self._around.buffers()

    def pods_on(self, node: str) -> tuple[Pod, ...]:
        """The pods that are bound to a node, in no order."""
        pods = (self._pods.get(key) for key in self._keys_by_node.get(node, ()))
        return tuple(pod for pod in pods if pod is not None)

    def nodes(self, now: datetime) -> tuple[Node, ...]:
        """Every node and every claim in flight; the same tuple while nothing changes."""
        return self._fleet.nodes(self._instance_types(), now)

    def instance_types(self, node_pool: str) -> Types:
        """What a pool could launch; nothing as long as that is not known."""
        return self._types.get(node_pool, ())

    def volumes_of(self, pod: Pod) -> tuple[str, ...]:
        """The PersistentVolumes behind a pod's claims, as far as they are bound."""
        claims = self._around.volume_claims()
        bound = (claims.get(f"{pod.namespace}/{name}") for name in pod.claim_names)
        return tuple(item.volume_name for item in bound if item is not None and item.volume_name)

    def snapshot(self, now: datetime) -> Snapshot:
        """Everything known, frozen, for a decision. Each snapshot has a revision of its own, also
        after a restart: it is the second at which it was taken, or the next number that is free.
        """
        self._revision = max(self._revision + 1, int(now.timestamp()))
        return self.view(now)

    def view(self, now: datetime) -> Snapshot:
        """The same for a reader, with the last revision: names of NodeClaims are made of those."""
        self._renew()
        self._sweep()
        types = self._instance_types()
        nodes = self._fleet.nodes(types, now)
        around = self._around
        return Snapshot(
            pods=self._all_pods(),
            nodes=nodes,
            node_pools=self._pools.all(),
            instance_types=types,
            daemon_sets=around.daemon_sets(),
            volume_claims=around.volume_claims(),
            volumes=around.volumes(),
            storage_classes=around.storage_classes(),
            namespaces=around.namespaces(),
            services=around.services(),
            owner_selectors=around.owner_selectors(),
            disruption_budgets=around.disruption_budgets(),
            ledger=self.book.ledger(nodes, self._fleet.reserved_by_id(), now),
            policy=self._policy,
            revision=self._revision,
        )

    def keys(self, kind: api.Kind) -> frozenset[Key]:
        """Namespace and name of all objects of a kind that are remembered: after a list, those
        that it does not show have vanished. Kinds without namespaces say "default".
        """
        keeper = self._keepers.get(kind.wire_type)
        return self._around.keys(kind.wire_type) if keeper is None else keeper.keys()

    def problems(self) -> tuple[tuple[str, Key, str], ...]:
        """Objects that make no sense and are left out: kind, namespace and name, and why."""
        keepers = (*self._keepers.values(), *self._around.keepers())
        return tuple(
            (keeper.wire_type.__name__, key, message)
            for keeper in keepers
            for key, message in sorted(keeper.problems.items())
        )

    def conversions(self) -> Conversions:
        """How much work was done so far."""
        n_specs = self._n_specs + self._around.templates.n_converted
        return Conversions(self._pods.n_converted, n_specs, self._fleet.n_made)

    @property
    def n_shared(self) -> int:
        """How many distinct parts of pods are remembered."""
        return self._around.templates.n_held

    def _all_pods(self) -> tuple[Pod, ...]:
        listed, virtual = self._pods.all(), self._around.buffer_pods()
        if not virtual:
            return listed
        if self._with_buffers[0] is not listed or self._with_buffers[1] is not virtual:
            self._with_buffers = (listed, virtual, in_order((*listed, *virtual)))
        return self._with_buffers[2]

    def _instance_types(self) -> Mapping[str, Types]:
        fresh = {pool.name: self._types.get(pool.name, ()) for pool in self._pools.all()}
        by_pool = self._types_by_pool
        is_same = fresh.keys() == by_pool.keys() and all(
            fresh[item] is by_pool[item] for item in fresh
        )
        self._types_by_pool = by_pool if is_same else fresh
        return self._types_by_pool

    def _renew(self) -> None:
        """Give pods the specs that the classes of today make of their templates."""
        earlier = self._around.templates
        changed = self._around.renew()
        if self._around.templates is not earlier:
            self._n_specs += earlier.n_converted
        for key, pod in list(self._pods.items()) if changed else ():
            judged = changed.get(id(pod.spec))
            if judged is not None:
                spec, problems = judged
                self._pods.replace(key, msgspec.structs.replace(pod, spec=spec, problems=problems))

    def _sweep(self) -> None:
        """Forget templates, labels and owners that no pod has any more, once they are many."""
        templates = self._around.templates
        if templates.n_held > 2 * self._n_swept + _SPARE:
            pods = self._pods.all()
            templates.sweep(pod.spec for pod in pods)
            templates.shared.sweep(pods)
            self._n_swept = templates.n_held


def _nodes_if(is_changed: bool) -> Touched:  # noqa: FBT001  the name says what it is
    return Touched.NODES if is_changed else NOTHING


def _key(pod: PodKey) -> Key:
    namespace, _, name = pod.partition("/")
    return namespace, name
