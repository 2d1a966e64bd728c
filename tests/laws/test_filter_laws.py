"""Every copy of kube-scheduler's filters agrees with the oracle, on generated clusters.

The simulated scheduler (`sim/filters`, `sim/company`), the steps that explain a pod
(`decide/sieve`) and the metric of zones (`observe/zones`) each have filters of their own, for speed
or for what they must say. The policy of the reference (`sim/reference`) is compared in
`tests/unit/sim/reference`: the oracle binds what it plans.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random
from typing import Final

import msgspec
import pytest

from dovetail import labels
from dovetail.decide.sieve import sift
from dovetail.decide.sieve.shelf import TypeShelf
from dovetail.decide.sieve.state import Bench, ask_of
from dovetail.decide.sieve.typesets import TypeTable
from dovetail.decide.volumes import pod_volumes
from dovetail.model.ledger import Ledger
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirement
from dovetail.model.snapshot import Snapshot
from dovetail.model.topology import NodeTerm, PodTerm, Spread, equality
from dovetail.model.verdict import Problem, Reason
from dovetail.observe.zones import FLEXIBLE, NONE, zones_of_waiting
from dovetail.sim.company import Company
from dovetail.sim.filters import Question, objection
from dovetail.sim.rooms import Rooms
from dovetail.testing import node, snapshot
from tests.laws.lively import lively
from tests.laws.strategies import seeded
from tests.oracle.launchable import all_offers
from tests.oracle.scheduler import ALONE, refusal
from tests.oracle.world import Host, World

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
# Named where nothing else keeps a pod from a pool, and the plan has no node for it all the same.
BY_THE_PLAN: Final = {
    Reason.TOPOLOGY_SPREAD,
    Reason.POD_AFFINITY,
    Reason.POD_ANTI_AFFINITY,
    Reason.RESERVATIONS,
}
ZONES: Final = ("a", "b", "c")


def scheduled(snapshot: Snapshot) -> Snapshot:
    """The cluster as kube-scheduler sees it: without pods that are ending, which a plan regards as
    gone, and without defaults for pods that have no spread.
    """
    policy = msgspec.structs.replace(snapshot.policy, default_spread=())
    pods = tuple(pod for pod in snapshot.pods if pod.deleting_at is None and not pod.is_terminal)
    return msgspec.structs.replace(snapshot, policy=policy, pods=pods)


def world_of(snapshot: Snapshot) -> World:
    """Its nodes and bound pods, for the oracle."""
    world = World(snapshot)
    for each in snapshot.nodes:
        world.add(
            Host(
                each.name,
                each.labels,
                each.taints,
                each.allocatable,
                each.attach_limits,
                is_unschedulable=each.is_unschedulable,
            )
        )
    for pod in snapshot.pods:
        if pod.node_name in world.hosts:
            world.bind(pod, pod.node_name)
    return world


def pending(snapshot: Snapshot) -> Iterator[Pod]:
    """Pods without a node, and without volumes: `sim/volumes` provisions those."""
    return (pod for pod in snapshot.pods if not pod.node_name and not pod.claim_names)


@pytest.mark.parametrize("seed", range(60))
def test_the_simulated_scheduler_filters_as_the_oracle_does(seed: int) -> None:
    """Each pending pod on each node, by the two alone and by where other pods run."""
    cluster = scheduled(lively(seed))
    world, rooms = world_of(cluster), Rooms()
    for each in cluster.nodes:
        rooms.put_node(each)
    for pod in cluster.pods:
        if pod.node_name in world.hosts:
            rooms.put_pod(pod, pod.node_name)
    for pod in pending(cluster):
        company = Company(pod, rooms, cluster.namespaces)
        for each, room in rooms.nodes():
            question = Question(pod, each, tuple(room.pods.values()), room.used)
            got = objection(question) or company.objection(each)
            want = refusal(world, pod, world.hosts[each.name])
            assert bool(got) == (want is not None), (pod.key, each.name, got, want)


def unlimited(pool: NodePool) -> NodePool:
    """The pool without limits and minValues, which are no matter of kube-scheduler."""
    wanted = (
        msgspec.structs.replace(requirement, min_values=None) for requirement in pool.requirements
    )
    return msgspec.structs.replace(pool, limits={}, requirements=tuple(wanted))


@pytest.mark.parametrize("seed", range(60))
def test_a_pod_is_explained_by_filters_that_the_oracle_has(seed: int) -> None:
    """A step of the sieve finds that a pool has no type for a pod exactly if the oracle can launch
    no empty node of the pool that takes the pod.
    """
    found = scheduled(seeded(seed))
    cluster = msgspec.structs.replace(
        found, ledger=Ledger(), node_pools=tuple(map(unlimited, found.node_pools))
    )
    offers = all_offers(cluster, NOW)
    for pool in cluster.node_pools:
        hosts = [fresh.host for fresh in offers if fresh.pool.name == pool.name]
        if not hosts:
            continue
        table = TypeTable(cluster.instance_types[pool.name])
        bench = Bench(TypeShelf(pool, table, cluster.daemon_sets), {})
        for pod in cluster.pods:
            volumes = pod_volumes(pod, cluster)
            if pod.node_name or isinstance(volumes, Problem):
                continue
            finding = sift(bench, ask_of(pod.spec, volumes, frozenset()))
            got = finding is None or finding.reason in BY_THE_PLAN
            want = any(takes_alone(cluster, pod, host) for host in hosts)
            assert got == want, (pod.key, pool.name, finding and finding.tell())


def takes_alone(cluster: Snapshot, pod: Pod, host: Host) -> bool:
    """Whether a node that has only its daemon pods takes the pod, whatever other pods say."""
    world = World(cluster)
    world.add(host)
    return all(each(world, pod, host, ()) is None for each in ALONE)


def bound_by_zone(chance: Random) -> Pod:
    """A pending pod with constraints over zones, and no others."""
    selector = equality({"app": chance.choice("xyz")})
    terms = (PodTerm(labels.ZONE, selector),)
    allowed = frozenset(chance.sample(ZONES, chance.randint(1, 3)))
    spec = PodSpec(
        {},
        required_terms=(NodeTerm((Requirement(labels.ZONE, values=allowed),)),)
        if chance.random() < 0.5
        else (),
        spread=(Spread(labels.ZONE, selector, max_skew=chance.randint(1, 2)),)
        if chance.random() < 0.5
        else (),
        affinity=terms if chance.random() < 0.3 else (),
        anti_affinity=terms if chance.random() < 0.3 else (),
    )
    return Pod("pending", "default", spec, uid="pending", labels={"app": chance.choice("xyz")})


@pytest.mark.parametrize("seed", range(200, 300))
def test_the_zone_of_a_pending_pod_is_that_where_the_oracle_would_bind_it(seed: int) -> None:
    """One zone by its name, several as `flexible`, no zone as `none`."""
    chance = Random(seed)
    nodes = tuple(node(f"n-{zone}", zone=zone) for zone in ZONES)
    others = tuple(
        Pod(
            f"p{number}",
            "default",
            PodSpec({}),
            uid=f"p{number}",
            labels={"app": app},
            node_name=at,
        )
        for number in range(chance.randint(0, 6))
        for app, at in [(chance.choice("xyz"), chance.choice(nodes).name)]
    )
    pod = bound_by_zone(chance)
    cluster = snapshot((*others, pod), nodes=nodes)
    world = world_of(cluster)
    open_zones = [
        each.zone for each in nodes if refusal(world, pod, world.hosts[each.name]) is None
    ]
    want = open_zones[0] if len(open_zones) == 1 else FLEXIBLE if open_zones else NONE
    assert zones_of_waiting(cluster) == {want: 1}
