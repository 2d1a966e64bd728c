"""What must be so, whatever happened to the controller: at rest, and all the way there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from dovetail import api, labels
from dovetail.controllers.cache import NODE, NODE_CLAIM, NODE_POOL, POD
from dovetail.decide.lifecycle.conditions import DISRUPTION_REASON, DRIFTED
from dovetail.decide.lifecycle.draining import DISRUPTED
from dovetail.decide.lifecycle.timing import GARBAGE_PERIOD, ORPHAN_GRACE
from dovetail.kube.seam import Scope
from dovetail.model.pod import TERMINAL_PHASES
from dovetail.providers.kwok.store import recorded_machine
from dovetail.sim import wire
from dovetail.sim.controller_manager.replicas import REPLICA_SET
from tests.kills.world import World

_LONGEST_ORPHANED = GARBAGE_PERIOD + ORPHAN_GRACE


class AtRest:
    """The cluster as it is once nothing happens any more; with so many nodes, if that is said.
    Where it is stuck, nodes may be of an earlier form.
    """

    def __init__(self, world: World, n_nodes: int | None = None, *, is_stuck: bool = False) -> None:
        self._world = world
        self._n_nodes = n_nodes
        self._is_stuck = is_stuck
        self.pods: list[api.Pod] = []
        self.nodes: list[api.Node] = []
        self.claims: list[api.NodeClaim] = []
        self.pools: set[str] = set()
        self.machines: dict[str, str] = {}  # the uid of the claim, by provider id

    async def look(self) -> None:
        """See what is there now."""
        kube = self._world.api
        self.pods = [api.decode(api.Pod, raw) for raw in (await kube.list(Scope(POD))).items]
        self.nodes = [api.decode(api.Node, raw) for raw in (await kube.list(Scope(NODE))).items]
        page = await kube.list(Scope(NODE_CLAIM))
        self.claims = [api.decode(api.NodeClaim, raw) for raw in page.items]
        self.pools = set(await self._world.names(NODE_POOL))
        self.machines = await self._world.machines()

    async def complaints(self) -> list[str]:
        """Everything that is not as it must be."""
        await self.look()
        found = [*self._pods(), *self._halves(), *self._leftovers(), *self._outdated()]
        if self._n_nodes not in (None, len(self.nodes)):
            found.append(f"there are {len(self.nodes)} nodes, not {self._n_nodes}")
        return [*found, *(await self._workloads())]

    def _pods(self) -> Iterator[str]:
        names = {node.metadata.name for node in self.nodes}
        for pod in self.pods:
            name, word = pod.metadata.name, pod.status.nominated_node_name
            if not pod.spec.node_name or pod.status.phase != "Running":
                yield f"pod {name} waits"
            if pod.metadata.deletion_timestamp is not None:
                yield f"pod {name} never goes"
            if word and word not in names:
                yield f"pod {name} is nominated to {word}, which is not there"

    async def _workloads(self) -> list[str]:
        page = await self._world.api.list(Scope(REPLICA_SET))
        wanted = {
            one.metadata.name: one.spec.replicas
            for one in (api.decode(api.ReplicaSet, raw) for raw in page.items)
        }
        return [
            f"{n_pods} pods of {name} are wanted"
            for name, n_pods in wanted.items()
            if sum(is_active(pod) and _app(pod) == name for pod in self.pods) != n_pods
        ]

    def _halves(self) -> Iterator[str]:
        """Claim, machine and Node belong together, all three or none."""
        held = {claim.status.provider_id: claim for claim in self.claims}
        nodes = {node.spec.provider_id: node for node in self.nodes}
        for place, claim_uid in self.machines.items():
            claim = held.get(place)
            if claim is None or claim.metadata.uid != claim_uid:
                yield f"instance {place} has no claim"
            if place not in nodes:
                yield f"instance {place} has no node"
        for claim in self.claims:
            if claim.metadata.labels[labels.NODE_POOL] not in self.pools:
                yield f"claim {claim.metadata.name} outlives its pool"
            if claim.status.provider_id not in self.machines:
                yield f"claim {claim.metadata.name} has no instance"
        for place in nodes.keys() - self.machines.keys():
            yield f"node {place} has no instance"

    def _leftovers(self) -> Iterator[str]:
        for one in (*self.claims, *self.nodes):
            if one.metadata.deletion_timestamp is not None:
                yield f"{one.kind} {one.metadata.name} never goes: {one.metadata.finalizers}"
        for node in self.nodes:
            if any(one.key == DISRUPTED.key for one in node.spec.taints):
                yield f"node {node.metadata.name} is fenced"
            if node.metadata.labels.get(labels.INITIALIZED) != "true":
                yield f"node {node.metadata.name} never starts"
        for claim in self.claims:
            if wire.is_true(claim.status.conditions, DISRUPTION_REASON):
                yield f"claim {claim.metadata.name} says it is being disrupted"

    def _outdated(self) -> Iterator[str]:
        for node in self.nodes:
            if not wire.is_true(node.status.conditions, "Ready"):
                yield f"node {node.metadata.name} is not well"
        for claim in () if self._is_stuck else self.claims:
            if wire.is_true(claim.status.conditions, DRIFTED):
                yield f"claim {claim.metadata.name} has drifted"

    def idle_nodes(self) -> list[str]:
        """Nodes that no pod of ours is on."""
        used = {pod.spec.node_name for pod in self.pods}
        return [one.metadata.name for one in self.nodes if one.metadata.name not in used]


def is_active(pod: api.Pod) -> bool:
    """Whether a pod counts as one of its owner's."""
    return pod.metadata.deletion_timestamp is None and pod.status.phase not in TERMINAL_PHASES


def _app(pod: api.Pod) -> str:
    return pod.metadata.labels.get("app", "")


# ---- all the way


def breaches(world: World, excused_after: datetime | None = None) -> list[str]:
    """What was not right on the way; budgets do not bind once `excused_after` has come."""
    found = [
        f"{len(made)} instances were launched for claim {uid}"
        for uid, made in world.machines_made().items()
        if len(made) > 1
    ]
    return [
        *found,
        *_unasked(world),
        *_against_budgets(world, excused_after),
        *_orphaned(world),
    ]


def _unasked(world: World) -> Iterator[str]:
    """Pods that were sent away though their node was to stay, and nobody wanted them gone."""
    leaving: set[str] = set()
    there: set[str] = set()
    told: set[str] = set()
    for one in world.history:
        match one.object:
            case api.Node(metadata=meta):
                there.discard(meta.name) if one.is_gone else there.add(meta.name)
                leaving.add(meta.name) if meta.deletion_timestamp else leaving.discard(meta.name)
            case api.Pod(metadata=meta) as pod if meta.deletion_timestamp or one.is_gone:
                node = pod.spec.node_name
                is_asked = node in leaving or node not in there or _app(pod) in world.dismissed
                if meta.uid not in told and not is_asked:
                    yield f"pod {meta.name} was sent away from {node}, which stays"
                told.add(meta.uid)
            case _:
                continue


def _against_budgets(world: World, excused_after: datetime | None) -> Iterator[str]:
    """Whenever fewer pods were available than a budget wants, though it had been met before."""
    pods: dict[str, api.Pod] = {}
    budgets: dict[str, api.PodDisruptionBudget] = {}
    met: set[str] = set()
    is_excused = False  # for good: the clock may be set back
    for one in world.history:
        match one.object:
            case api.Pod(metadata=meta) as pod:
                pods[meta.uid] = pod
            case api.PodDisruptionBudget(metadata=meta) as budget if meta.name not in (
                world.dismissed
            ):
                budgets[meta.name] = budget
        if one.is_gone:
            pods.pop(one.object.metadata.uid, None)
        short = {name for name, budget in budgets.items() if _is_short(budget, pods.values())}
        is_excused = is_excused or (excused_after is not None and one.at >= excused_after)
        if not is_excused:
            yield from (f"too few pods of {name} at {one.at}" for name in sorted(short & met))
        met |= budgets.keys() - short


def _is_short(budget: api.PodDisruptionBudget, pods: Iterable[api.Pod]) -> bool:
    wanted = budget.spec.selector.match_labels if budget.spec.selector else {}
    n_available = sum(
        is_active(pod) and wire.is_true(pod.status.conditions, "Ready")
        for pod in pods
        if wanted.items() <= pod.metadata.labels.items()
    )
    return n_available < int(budget.spec.min_available or 0)


def _orphaned(world: World) -> Iterator[str]:
    """Instances that were without a claim for longer than it takes to notice."""
    claims: set[str] = set()
    orphans: dict[str, float] = {}
    machines: dict[str, str] = {}
    for one in world.history:
        meta = one.object.metadata
        held = recorded_machine(meta.annotations)
        if isinstance(one.object, api.NodeClaim):
            claims.discard(meta.uid) if one.is_gone else claims.add(meta.uid)
        elif isinstance(one.object, api.Node):
            machines.pop(meta.name, None)
            if held is not None and not one.is_gone:
                machines[meta.name] = held.claim_uid
        else:
            continue
        orphaned = {name for name, uid in machines.items() if uid not in claims}
        for name in orphans.keys() - orphaned:
            span = one.at_seconds - orphans.pop(name)
            if span > _LONGEST_ORPHANED.total_seconds():
                yield f"instance {name} had no claim for {timedelta(seconds=span)}"
        for name in orphaned - orphans.keys():
            orphans[name] = one.at_seconds
