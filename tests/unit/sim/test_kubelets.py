"""Stand-ins for kubelets: what they do to nodes and pods, and what they leave alone."""

from __future__ import annotations

from typing import Any

from dovetail.apiserver import MemoryKube
from dovetail.kube.errors import UnavailableError
from dovetail.kube.seam import Patch, PatchType, Ref
from dovetail.sim.kubelets import RUNS_FOR, Habits, Kubelets, OwnNodes
from dovetail.sim.wire import LEASE
from dovetail.testing.virtual_time import VirtualTime
from tests.conformance.kube.objects import NODE, POD, named
from tests.unit.sim.clusters import Cluster, conditions, no_chance

NOT_READY = "node.kubernetes.io/not-ready"


def kubelets(cluster: Cluster, **habits: Any) -> Kubelets:
    """Kubelets of a cluster."""
    return Kubelets(
        cluster.kube, cluster.time, cluster.time, chance=no_chance, habits=Habits(**habits)
    )


def taints(node: dict[str, Any]) -> list[str]:
    """The keys of a node's taints."""
    return [one["key"] for one in node["spec"].get("taints", [])]


async def test_a_node_of_the_provider_becomes_ready_and_loses_its_taint() -> None:
    """The other taints stay, and what the node has stays."""
    cluster = Cluster()
    ref = await cluster.machine("n1")
    before = await cluster.get(ref)
    assert taints(before) == ["karpenter.sh/unregistered", NOT_READY]
    async with cluster.living(kubelets(cluster).run()):
        node = await cluster.get(ref)
        assert taints(node) == ["karpenter.sh/unregistered"]
        assert conditions(node)["Ready"] == "True"
        assert conditions(node)["MemoryPressure"] == "False"
        assert node["status"]["allocatable"] == before["status"]["allocatable"]
        later = await cluster.machine("n2")
        await cluster.settle()
        assert conditions(await cluster.get(later))["Ready"] == "True"


async def test_nodes_of_others_are_left_alone() -> None:
    """Also one that says it is fake, and one that bears a copy of another's record."""
    cluster = Cluster()
    mine = await cluster.get(await cluster.machine("mine"))
    fake = {"kwok.x-k8s.io/node": "fake"}
    copied = mine["metadata"]["annotations"]
    bodies = (
        named("other"),
        named("fake", labels=fake),
        named("copy", labels=fake, annotations=copied),
    )
    others = [await cluster.make(NODE, body) for body in bodies]
    pod = await cluster.pod("p")
    await cluster.bind(pod, "copy")
    gone = await cluster.pod("gone")
    await cluster.bind(gone, "other")
    await cluster.delete(gone)
    before = [await cluster.get(ref) for ref in (*others, pod, gone)]
    async with cluster.living(kubelets(cluster).run()):
        await cluster.settle(60)
        assert [await cluster.get(ref) for ref in (*others, pod, gone)] == before
        assert await cluster.names(LEASE) == ["mine"]


async def test_kubelets_can_be_for_other_nodes_than_those_of_kwok() -> None:
    """A selector and a closer look say for which; then those of kwok are others'."""
    cluster = Cluster()
    mine = await cluster.make(NODE, {**named("mine"), "spec": {"providerID": "aws:///a/i-1"}})
    other = await cluster.make(NODE, {**named("other"), "spec": {"providerID": "aws:///a/i-2"}})
    of_kwok = await cluster.machine("kwok")
    own = OwnNodes(selector="", is_ours=lambda node: node.spec.provider_id.endswith("i-1"))
    async with cluster.living(kubelets(cluster, nodes=own).run()):
        await cluster.settle(30)
        assert conditions(await cluster.get(mine))["Ready"] == "True"
        assert "Ready" not in conditions(await cluster.get(other))
        assert "Ready" not in conditions(await cluster.get(of_kwok))
        assert await cluster.names(LEASE) == ["mine"]


async def test_a_bound_pod_runs_and_is_ready() -> None:
    """With an address of its own; that it was scheduled is still said."""
    cluster = Cluster()
    await cluster.machine("n")
    async with cluster.living(kubelets(cluster).run()):
        refs = [await cluster.pod(f"p{number}") for number in range(3)]
        for ref in refs:
            assert (await cluster.get(ref))["status"]["phase"] == "Pending"
            await cluster.bind(ref, "n")
        await cluster.settle()
        pods = [await cluster.get(ref) for ref in refs]
        for pod in pods:
            assert pod["status"]["phase"] == "Running"
            wanted = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
            assert [conditions(pod)[one] for one in wanted] == ["True"] * 4
            (container,) = pod["status"]["containerStatuses"]
            assert (container["name"], container["ready"]) == ("main", True)
            assert pod["status"]["startTime"] == "2026-01-01T00:00:00Z"
        assert len({pod["status"]["podIP"] for pod in pods}) == 3


async def test_a_pod_that_was_bound_before_its_node_was_seen_runs_too() -> None:
    """Whichever is heard of first."""
    cluster = Cluster()
    ref = await cluster.pod("p")
    async with cluster.living(kubelets(cluster).run()):
        await cluster.bind(ref, "late")
        await cluster.settle()
        assert (await cluster.get(ref))["status"]["phase"] == "Pending"
        await cluster.machine("late")
        await cluster.settle()
        assert (await cluster.get(ref))["status"]["phase"] == "Running"


async def test_a_deleted_pod_ends_at_once() -> None:
    """Whatever its grace period; one that a finalizer holds stays until that is off."""
    cluster = Cluster()
    await cluster.machine("n")
    async with cluster.living(kubelets(cluster).run()):
        plain = await cluster.pod("plain", terminationGracePeriodSeconds=3600)
        held = await cluster.pod("held")
        await cluster.patch(held, {"metadata": {"finalizers": ["example.com/hold"]}})
        for ref in (plain, held):
            await cluster.bind(ref, "n")
        await cluster.settle()
        for ref in (plain, held):
            await cluster.delete(ref)
        await cluster.settle()
        assert await cluster.names(POD) == ["held"]
        await cluster.patch(held, {"metadata": {"finalizers": []}})
        await cluster.settle()
        assert await cluster.names(POD) == []


async def test_leases_are_renewed() -> None:
    """Before they run out, and no lease outlives its node for long."""
    cluster = Cluster()
    node = await cluster.machine("n")
    lease = Ref(LEASE, "n", "kube-node-lease")
    async with cluster.living(kubelets(cluster).run()):
        first = (await cluster.get(lease))["spec"]
        assert (first["holderIdentity"], first["leaseDurationSeconds"]) == ("n", 40)
        await cluster.settle(30)
        assert (await cluster.get(lease))["spec"]["renewTime"] > first["renewTime"]
        await cluster.delete(node)
        await cluster.settle()
        cluster.memory.collect_garbage()
        await cluster.settle(60)
        assert await cluster.names(LEASE) == []


async def test_a_taint_that_comes_meanwhile_is_not_lost() -> None:
    """Though it pushes the not-ready taint to another place before that is taken off."""
    time = VirtualTime()
    kube = MeddledKube(time)
    cluster = Cluster(kube)
    cluster.time = time
    ref = await cluster.machine("n")
    async with cluster.living(kubelets(cluster).run()):
        await cluster.settle(5)
        assert taints(await cluster.get(ref)) == ["example.com/new", "karpenter.sh/unregistered"]


class MeddledKube(MemoryKube):
    """Somebody adds a taint just before the first one is taken off."""

    has_meddled = False

    async def patch(self, ref: Ref, patch: Patch) -> Any:
        """As the server, but late."""
        if patch.type is PatchType.JSON and not self.has_meddled:
            self.has_meddled = True
            taint = {"key": "example.com/new", "effect": "NoSchedule"}
            first: list[Any] = [{"op": "add", "path": "/spec/taints/0", "value": taint}]
            await super().patch(ref, Patch(first, PatchType.JSON))
        return await super().patch(ref, patch)


async def test_nodes_and_pods_may_take_their_time() -> None:
    """As habits say."""
    cluster = Cluster()
    node = await cluster.machine("n")
    pod = await cluster.pod("p")
    await cluster.bind(pod, "n")
    slow = kubelets(cluster, ready_after_seconds=20, start_pod_seconds=5)
    async with cluster.living(slow.run()):
        await cluster.settle(4)
        assert (await cluster.get(pod))["status"]["phase"] == "Pending"
        await cluster.settle(2)
        assert (await cluster.get(pod))["status"]["phase"] == "Running"
        assert NOT_READY in taints(await cluster.get(node))
        await cluster.settle(15)
        assert NOT_READY not in taints(await cluster.get(node))


async def test_a_pod_that_says_how_long_it_runs_succeeds_then() -> None:
    """And not before; what cannot be understood runs for ever."""
    cluster = Cluster()
    await cluster.machine("n")
    async with cluster.living(kubelets(cluster).run()):
        brief = await cluster.pod("brief", annotations={RUNS_FOR: "90s"})
        odd = await cluster.pod("odd", annotations={RUNS_FOR: "a while"})
        for ref in (brief, odd):
            await cluster.bind(ref, "n")
        await cluster.settle(80)
        assert (await cluster.get(brief))["status"]["phase"] == "Running"
        await cluster.settle(20)
        assert (await cluster.get(brief))["status"]["phase"] == "Succeeded"
        assert conditions(await cluster.get(brief))["Ready"] == "False"
        assert (await cluster.get(odd))["status"]["phase"] == "Running"


async def test_a_refusal_is_tried_again() -> None:
    """A server that fails now and then loses nothing."""
    time = VirtualTime()
    cluster = Cluster(FlakyKube(time))
    cluster.time = time
    node = await cluster.machine("n")
    async with cluster.living(kubelets(cluster).run()):
        await cluster.settle(10)
        assert conditions(await cluster.get(node)).get("Ready") == "True"


class FlakyKube(MemoryKube):
    """Refuses the first three patches."""

    n_refused = 0

    async def patch(self, ref: Ref, patch: Patch) -> Any:
        """As the server, but not at first."""
        self.n_refused += 1
        if self.n_refused <= 3:
            raise UnavailableError(503, "", "not now")
        return await super().patch(ref, patch)
