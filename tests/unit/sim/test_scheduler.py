"""A stand-in for kube-scheduler: what it binds where, in which order, and what it says else."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import msgspec
import pytest

from dovetail import api, labels
from dovetail.apiserver import MemoryKube
from dovetail.kube.errors import UnavailableError
from dovetail.kube.seam import Body, Scope
from dovetail.sim.scheduler import Scheduler
from dovetail.state.freeze import snapshot
from dovetail.testing.virtual_time import VirtualTime
from tests.conformance.kube.objects import NAMESPACE, NODE, POD, PRIORITY_CLASS, named
from tests.oracle.scheduler import refusal
from tests.oracle.world import Host, World
from tests.unit.sim.clusters import Cluster, Tree, no_chance

CLAIM = api.KINDS["", "PersistentVolumeClaim"]
CLASS = api.KINDS["storage.k8s.io", "StorageClass"]
CSI_NODE = api.KINDS["storage.k8s.io", "CSINode"]
APP = {"app": "a"}
SELECTOR = {"matchLabels": APP}


class NotedKube(MemoryKube):
    """Remembers who was bound, in order."""

    def __init__(self, time: VirtualTime) -> None:
        super().__init__(time)
        self.bound: list[tuple[str, str]] = []
        self.n_refusals = 0

    async def create(self, kind: api.Kind, body: Body, namespace: str = "") -> msgspec.Raw:
        """As the server."""
        if kind.name == "Binding":
            if self.n_refusals:
                self.n_refusals -= 1
                raise UnavailableError(503, "", "not now")
            tree: Any = body
            self.bound.append((f"{namespace}/{tree['metadata']['name']}", tree["target"]["name"]))
        return await super().create(kind, body, namespace)


class Scheduled(Cluster):
    """A cluster with a scheduler."""

    def __init__(self) -> None:
        super().__init__()
        self.noted = NotedKube(self.time)
        self.memory = self.noted
        self.kube = self.noted

    def scheduler(self) -> Scheduler:
        """The scheduler of this cluster."""
        return Scheduler(self.kube, self.time, self.time, chance=no_chance)

    async def node(self, name: str, *, taints: Any = (), **more: Any) -> None:
        """A node of 4 cpu in zone a, ready for pods."""
        held = {labels.HOSTNAME: name, labels.ZONE: more.pop("zone", "a"), **more.pop("labels", {})}
        room = {"cpu": "4", "memory": "8Gi", "pods": "20", **more.pop("room", {})}
        status = {"allocatable": room, "capacity": room}
        ref = await self.make(NODE, {**named(name, labels=held), "status": status})
        await self.patch(ref, {"spec": {"taints": list(taints), **more}})


def message(pod: Tree) -> tuple[str, str]:
    """What a pod is told about its scheduling."""
    (said,) = [one for one in pod["status"]["conditions"] if one["type"] == "PodScheduled"]
    return said.get("reason", ""), said.get("message", "")


async def test_a_pod_goes_where_most_is_left() -> None:
    """Pods of one kind fill nodes evenly."""
    cluster = Scheduled()
    for name in ("n1", "n2"):
        await cluster.node(name)
    async with cluster.living(cluster.scheduler().run()):
        for number in range(4):
            await cluster.pod(f"p{number}")
        await cluster.settle()
        assert Counter((await cluster.places()).values()) == {"n1": 2, "n2": 2}


async def test_a_pod_that_fits_nowhere_is_told_why_and_bound_when_it_fits() -> None:
    """Without being asked about it again, whatever frees the room."""
    cluster = Scheduled()
    await cluster.node("n")
    async with cluster.living(cluster.scheduler().run()):
        first = await cluster.pod("first", requests={"cpu": "3"})
        await cluster.settle()
        late = await cluster.pod("late", requests={"cpu": "3"})
        await cluster.settle()
        assert message(await cluster.get(late)) == (
            "Unschedulable",
            "0/1 nodes are available: 1 Insufficient cpu.",
        )
        await cluster.delete(first, grace_seconds=0)
        await cluster.settle(2)
        assert await cluster.places() == {"late": "n"}


async def test_the_wait_doubles_up_to_ten_seconds() -> None:
    """A cluster that changes all the time does not make a hopeless pod cost all the time."""
    cluster = Scheduled()
    pod = await cluster.pod("p")
    async with cluster.living(cluster.scheduler().run()):
        told = [message(await cluster.get(pod))[1]]
        for number in range(40):
            await cluster.node(f"n{number:02}", room={"cpu": "0"})
            await cluster.settle(1)
            said = message(await cluster.get(pod))[1]
            if said != told[-1]:
                told.append(said)
        counted = [int(one.partition("/")[2].partition(" ")[0]) for one in told]
        assert counted == [0, 1, 3, 7, 15, 25, 35]


async def test_those_of_higher_priority_come_first() -> None:
    """Though they were made later; of equals, the older."""
    cluster = Scheduled()
    await cluster.make(PRIORITY_CLASS, {**named("high"), "value": 1000})
    await cluster.node("n", room={"cpu": "2"})
    await cluster.pod("low-1")
    await cluster.settle(1)
    await cluster.pod("a-low-2")
    await cluster.settle(1)
    await cluster.pod("urgent", priorityClassName="high")
    async with cluster.living(cluster.scheduler().run()):
        assert [pod for pod, _ in cluster.noted.bound] == ["default/urgent", "default/low-1"]


async def test_a_promise_is_kept_and_keeps_room() -> None:
    """The promised node is tried first, and equals find no room there meanwhile."""
    cluster = Scheduled()
    await cluster.make(PRIORITY_CLASS, {**named("high"), "value": 1000})
    await cluster.node("full", room={"cpu": "4"})
    await cluster.node("roomy", room={"cpu": "64"})
    promised = await cluster.pod("promised", requests={"cpu": "3"}, schedulingGates=[{"name": "x"}])
    await cluster.patch(promised, {"status": {"nominatedNodeName": "full"}}, "status")
    pinned = {"nodeSelector": {labels.HOSTNAME: "full"}, "requests": {"cpu": "2"}}
    async with cluster.living(cluster.scheduler().run()):
        await cluster.pod("equal", **pinned)
        await cluster.settle()
        assert (await cluster.places())["equal"] == ""
        await cluster.patch(promised, {"spec": {"schedulingGates": []}})
        await cluster.settle(2)
        assert await cluster.places() == {"equal": "", "promised": "full"}


async def test_a_promise_keeps_no_room_from_those_of_higher_priority() -> None:
    """They go first in any case."""
    cluster = Scheduled()
    await cluster.make(PRIORITY_CLASS, {**named("high"), "value": 1000})
    await cluster.node("n")
    promised = await cluster.pod("promised", requests={"cpu": "3"}, schedulingGates=[{"name": "x"}])
    await cluster.patch(promised, {"status": {"nominatedNodeName": "n"}}, "status")
    async with cluster.living(cluster.scheduler().run()):
        await cluster.pod("urgent", priorityClassName="high", requests={"cpu": "2"})
        await cluster.settle()
        assert (await cluster.places())["urgent"] == "n"


async def test_a_gated_pod_waits_for_its_gates() -> None:
    """And says so."""
    cluster = Scheduled()
    await cluster.node("n")
    pod = await cluster.pod("p", schedulingGates=[{"name": "example.com/wait"}])
    async with cluster.living(cluster.scheduler().run()):
        assert message(await cluster.get(pod))[0] == "SchedulingGated"
        await cluster.patch(pod, {"spec": {"schedulingGates": []}})
        await cluster.settle()
        assert await cluster.places() == {"p": "n"}


async def test_pods_of_other_schedulers_are_left_alone() -> None:
    """Bound by whom they ask for."""
    cluster = Scheduled()
    await cluster.node("n")
    pod = await cluster.pod("p", schedulerName="another")
    before = await cluster.get(pod)
    async with cluster.living(cluster.scheduler().run()):
        await cluster.settle(60)
        assert await cluster.get(pod) == before


async def test_a_binding_that_fails_is_tried_again() -> None:
    """The room is free meanwhile, and taken once."""
    cluster = Scheduled()
    await cluster.node("n")
    cluster.noted.n_refusals = 2
    await cluster.pod("p")
    async with cluster.living(cluster.scheduler().run()):
        assert await cluster.places() == {"p": ""}
        await cluster.settle(5)
        assert await cluster.places() == {"p": "n"}


async def test_a_claim_gets_its_volume_where_its_first_pod_goes() -> None:
    """And the next pod follows it there, if its slots allow."""
    cluster = Scheduled()
    for zone in ("a", "b"):
        await cluster.node(f"in-{zone}", zone=zone)
    mode = {"provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer"}
    await cluster.make(CLASS, {**named("disk"), **mode})
    spec = {"storageClassName": "disk", "accessModes": ["ReadWriteOnce"]}
    spec["resources"] = {"requests": {"storage": "1Gi"}}  # type: ignore[assignment]  # a tree
    claim = await cluster.make(CLAIM, {**named("data"), "spec": spec})
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    async with cluster.living(cluster.scheduler().run()):
        pinned = {labels.ZONE: "b"}
        first = await cluster.pod("first", volumes=volumes, nodeSelector=pinned)
        await cluster.settle()
        assert (await cluster.get(claim))["status"]["phase"] == "Bound"
        await cluster.delete(first, grace_seconds=0)
        await cluster.pod("second", volumes=volumes)
        await cluster.pod(
            "lost", volumes=[{"name": "x", "persistentVolumeClaim": {"claimName": "x"}}]
        )
        await cluster.settle()
        assert await cluster.places() == {"second": "in-b", "lost": ""}


WISHES = [
    pytest.param(
        {"tolerations": []}, [{"key": "k", "effect": "PreferNoSchedule"}], id="soft taint"
    ),
    pytest.param(
        {
            "affinity": {
                "nodeAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 1,
                            "preference": {
                                "matchExpressions": [
                                    {"key": labels.ZONE, "operator": "In", "values": ["b"]}
                                ]
                            },
                        }
                    ]
                }
            }
        },
        [],
        id="preferred zone",
    ),
]


def near(**weighed: Any) -> Tree:
    """A preference about the company of pods with the label app=a in the same zone."""
    term = {"topologyKey": labels.ZONE, "labelSelector": SELECTOR}
    wish = [{"weight": 10, "podAffinityTerm": term}]
    return {field: {"preferredDuringSchedulingIgnoredDuringExecution": wish} for field in weighed}


SPREAD = {
    "maxSkew": 1,
    "topologyKey": labels.ZONE,
    "whenUnsatisfiable": "ScheduleAnyway",
    "labelSelector": SELECTOR,
}
COMPANY = [
    pytest.param({"affinity": near(podAffinity=1)}, "a", id="near"),
    pytest.param({"affinity": near(podAntiAffinity=1)}, "b", id="apart"),
    pytest.param({"topologySpreadConstraints": [SPREAD]}, "b", id="spread"),
]


@pytest.mark.parametrize(("spec", "want"), COMPANY)
async def test_wishes_about_company_choose_too(spec: Tree, want: str) -> None:
    """Near the pod that is there, or away from it, though there is more room elsewhere."""
    cluster = Scheduled()
    small, large = {"cpu": "8"}, {"cpu": "10"}
    rooms = {"a": small, "b": large} if want == "a" else {"a": large, "b": small}
    for name, room in rooms.items():
        await cluster.node(name, zone=name, room=room)
    first = await cluster.pod("first", labels=APP, requests={"cpu": "1m"})
    await cluster.bind(first, "a")
    async with cluster.living(cluster.scheduler().run()):
        await cluster.pod("p", labels=APP, **spec)
        await cluster.settle()
        assert (await cluster.places())["p"] == want


@pytest.mark.parametrize(("spec", "taints"), WISHES)
async def test_wishes_choose_among_nodes_that_would_do(spec: Tree, taints: list[Tree]) -> None:
    """More room does not outweigh them."""
    cluster = Scheduled()
    await cluster.node("a", zone="a", taints=taints)
    await cluster.node("b", zone="b", room={"cpu": "3"})
    async with cluster.living(cluster.scheduler().run()):
        await cluster.pod("p", **spec)
        await cluster.settle()
        assert await cluster.places() == {"p": "b"}


# ------------------------------------------------------------------ against the oracle


def random_node(chance: random.Random, number: int) -> Tree:
    """A small node with a few labels and perhaps a taint."""
    taint = {"key": chance.choice("xy"), "value": "1", "effect": chance.choice(EFFECTS)}
    return {
        "zone": chance.choice("abc"),
        "labels": {"team": chance.choice("xy"), "rank": str(number)},
        "room": {"cpu": str(chance.choice((2, 4))), "pods": str(chance.choice((3, 20)))},
        "taints": [taint] if chance.random() < 0.6 else [],
        "unschedulable": chance.random() < 0.1,
    }


EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
KEYS = (labels.HOSTNAME, labels.ZONE, "team", "absent")


def random_term(chance: random.Random) -> Tree:
    """A term of an affinity between pods."""
    term: Tree = {
        "topologyKey": chance.choice(KEYS[:3] if chance.random() < 0.9 else KEYS),
        "labelSelector": {"matchLabels": {"app": chance.choice("ab")}},
    }
    if chance.random() < 0.4:
        term["namespaceSelector"] = {"matchLabels": {"env": "prod"}}
    return term


def random_pod(chance: random.Random) -> Tree:
    """A pod with constraints of several kinds."""
    spec: Tree = {
        "namespace": chance.choice(("default", "default", "other")),
        "labels": {"app": chance.choice("ab")},
        "requests": {"cpu": chance.choice(("500m", "1"))},
    }
    if chance.random() < 0.3:
        spec["tolerations"] = [{"key": chance.choice("xy"), "operator": "Exists"}]
    if chance.random() < 0.2:
        spec["nodeSelector"] = {labels.ZONE: chance.choice("abc")}
    if chance.random() < 0.15:
        port = {"containerPort": 80, "hostPort": chance.choice((80, 81))}
        spec["ports"] = [port]
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity: Tree = {}
    for field, share in (("podAffinity", 0.4), ("podAntiAffinity", 0.25)):
        if chance.random() < share:
            affinity[field] = {required: [random_term(chance)]}
    if chance.random() < 0.15:
        rank = {"key": "rank", "operator": "Gt", "values": ["1"]}
        affinity["nodeAffinity"] = {required: {"nodeSelectorTerms": [{"matchExpressions": [rank]}]}}
    spec["affinity"] = affinity
    if chance.random() < 0.4:
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": chance.choice((1, 2)),
                "topologyKey": chance.choice(KEYS[:3]),
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": spec["labels"]["app"]}},
                "nodeTaintsPolicy": chance.choice(("Honor", "Ignore")),
                **({"minDomains": 3} if chance.random() < 0.2 else {}),
            }
        ]
    return spec


async def seen(cluster: Cluster) -> Any:
    """The cluster in nouns."""
    objects: list[api.Object] = []
    for kind in (NODE, POD, NAMESPACE):
        page = await cluster.kube.list(Scope(kind))
        objects += [api.read(kind, raw) for raw in page.items]
    return snapshot(objects, instance_types=lambda _: ())


@pytest.mark.parametrize("seed", range(60))
async def test_every_binding_is_legal_and_no_pod_waits_that_need_not(seed: int) -> None:
    """Judged by rules that were written apart, binding by binding."""
    chance = random.Random(seed)  # noqa: S311  a seeded generator is the point
    cluster = Scheduled()
    await cluster.make(NAMESPACE, named("other", labels={"env": "prod"}))
    for number in range(chance.randint(1, 6)):
        await cluster.node(f"n{number}", **random_node(chance, number))
    async with cluster.living(cluster.scheduler().run()):
        for number in range(chance.randint(2, 25)):
            await cluster.pod(f"p{number:02}", **random_pod(chance))
        await cluster.settle(30)
        known = await seen(cluster)
    world = World(known)
    for node in known.nodes:
        world.add(
            Host(
                name=node.name,
                labels=node.labels,
                taints=node.taints,
                allocatable=node.allocatable,
                is_unschedulable=node.is_unschedulable,
            )
        )
    pods = {pod.key: pod for pod in known.pods}
    for key, name in cluster.noted.bound:
        assert refusal(world, pods[key], world.hosts[name]) is None
        world.bind(pods[key], name)
    bound = {key for key, _ in cluster.noted.bound}
    assert bound == {key for key, pod in pods.items() if pod.node_name}
    for key in sorted(set(pods) - bound):
        for host in world.hosts.values():
            assert refusal(world, pods[key], host) is not None, (key, host.name)
