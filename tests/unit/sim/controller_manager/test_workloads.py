"""Stand-ins for workload controllers, in worlds with a scheduler and kubelets."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import api, labels
from dovetail.kube.errors import TooManyRequestsError
from dovetail.kube.seam import Deletion, Ref
from dovetail.sim.kubelets import RUNS_FOR, Habits
from dovetail.sim.world import run_world
from tests.conformance.kube.objects import BUDGET, DEPLOYMENT, NODE, POD, REPLICA_SET, named
from tests.unit.sim.clusters import Cluster, Tree

STATEFUL_SET = api.KINDS["apps", "StatefulSet"]
DAEMON_SET = api.KINDS["apps", "DaemonSet"]
JOB = api.KINDS["batch", "Job"]
CLAIM = api.KINDS["", "PersistentVolumeClaim"]
CLASS = api.KINDS["storage.k8s.io", "StorageClass"]
APP = {"app": "a"}


class Live(Cluster):
    """A cluster that lives."""

    async def node(self, name: str, **more: Any) -> Ref:
        """A machine that has registered."""
        ref = await self.machine(name, **more)
        taints = [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
        await self.patch(ref, {"spec": {"taints": [*taints, *more.get("taints", [])]}})
        return ref

    async def phases(self) -> list[str]:
        """Of all pods."""
        return [one["status"]["phase"] for one in await self.all(POD)]


def workload(name: str, n_replicas: int = 2, **more: Any) -> Tree:
    """A workload of one small container."""
    template_meta: Tree = {"labels": APP, **more.pop("template_meta", {})}
    container = {"name": "main", "image": more.pop("image", "registry.example/main:1")}
    container["resources"] = {"requests": {"cpu": "100m"}}
    pod = {"containers": [container], **more.pop("pod", {})}
    spec: Tree = {
        "selector": {"matchLabels": APP},
        "template": {"metadata": template_meta, "spec": pod},
        **more,
    }
    return {**named(name), "spec": {"replicas": n_replicas, **spec}}


def budget(**spec: Any) -> Tree:
    """A budget of all pods of the workloads here."""
    return {**named("b"), "spec": {"selector": {"matchLabels": APP}, **spec}}


async def test_a_deployment_keeps_its_number() -> None:
    """Up, down, and when a pod is lost; its status counts them."""
    cluster = Live()
    await cluster.node("n")
    async with cluster.living(run_world(cluster.kube, cluster.time, cluster.time)):
        ref = await cluster.make(DEPLOYMENT, workload("web", 3))
        await cluster.settle(1)
        assert await cluster.phases() == ["Running"] * 3
        status = (await cluster.get(ref))["status"]
        assert (status["replicas"], status["readyReplicas"]) == (3, 3)
        await cluster.delete(Ref(POD, (await cluster.names(POD))[0], "default"))
        await cluster.settle(1)
        assert await cluster.phases() == ["Running"] * 3
        for n_wanted in (5, 1, 0):
            await cluster.patch(ref, {"spec": {"replicas": n_wanted}})
            await cluster.settle(1)
            assert len(await cluster.phases()) == n_wanted


async def test_a_changed_deployment_is_never_short_of_pods() -> None:
    """New pods are ready before old ones go, and in the end there are only new ones."""
    cluster = Live()
    await cluster.node("n")
    slow = Habits(start_pod_seconds=5, lease_seconds=0)
    async with cluster.living(run_world(cluster.kube, cluster.time, cluster.time, habits=slow)):
        ref = await cluster.make(DEPLOYMENT, workload("web", 3))
        await cluster.settle(10)
        changed = workload("web", 3, image="registry.example/main:2")["spec"]["template"]
        await cluster.patch(ref, {"spec": {"template": changed}})
        for _ in range(10):
            assert (await cluster.phases()).count("Running") >= 3
            await cluster.settle(1)
        images = [one["spec"]["containers"][0]["image"] for one in await cluster.all(POD)]
        assert images == ["registry.example/main:2"] * 3
        assert sorted(one["spec"]["replicas"] for one in await cluster.all(REPLICA_SET)) == [0, 3]


async def test_what_a_deployment_made_goes_with_it() -> None:
    """ReplicaSets and pods, in the background."""
    cluster = Live()
    await cluster.node("n")
    async with cluster.living(run_world(cluster.kube, cluster.time, cluster.time)):
        ref = await cluster.make(DEPLOYMENT, workload("web", 3))
        await cluster.settle(1)
        await cluster.delete(ref)
        await cluster.settle(5)
        assert await cluster.names(POD) == await cluster.names(REPLICA_SET) == []


async def test_a_stateful_set_comes_in_order_with_claims_of_its_own() -> None:
    """The next when the last is ready; a pod that is lost comes back to its claim."""
    cluster = Live()
    mode = {"provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer"}
    await cluster.make(CLASS, {**named("disk"), **mode})
    claim = {"storageClassName": "disk", "accessModes": ["ReadWriteOnce"]}
    claim["resources"] = {"requests": {"storage": "1Gi"}}  # type: ignore[assignment]  # a tree
    body = workload("db", 3, volumeClaimTemplates=[{**named("data"), "spec": claim}])
    async with cluster.living(run_world(cluster.kube, cluster.time, cluster.time)):
        ref = await cluster.make(STATEFUL_SET, body)
        await cluster.settle(1)
        assert await cluster.names(POD) == ["db-0"]
        await cluster.node("n")
        await cluster.settle(15)
        assert await cluster.names(POD) == ["db-0", "db-1", "db-2"]
        assert await cluster.names(CLAIM) == ["data-db-0", "data-db-1", "data-db-2"]
        assert {one["status"]["phase"] for one in await cluster.all(CLAIM)} == {"Bound"}
        await cluster.delete(Ref(POD, "db-1", "default"))
        await cluster.settle(15)
        assert await cluster.phases() == ["Running"] * 3
        await cluster.patch(ref, {"spec": {"replicas": 1}})
        await cluster.settle(15)
        assert await cluster.names(POD) == ["db-0"]
        assert len(await cluster.names(CLAIM)) == 3


async def test_a_daemon_set_is_on_every_node_that_will_have_it() -> None:
    """Also on those that come later; a taint keeps it off, and one that drives out, drives it."""
    cluster = Live()
    body = workload("agent", pod={"nodeSelector": {labels.OS: "linux"}})
    del body["spec"]["replicas"]
    async with cluster.living(run_world(cluster.kube, cluster.time, cluster.time)):
        await cluster.node("n1")
        ref = await cluster.make(DAEMON_SET, body)
        await cluster.settle(2)
        await cluster.node("n2")
        await cluster.node("other", labels={labels.OS: "windows"})
        await cluster.node("kept-off", taints=[{"key": "k", "effect": "NoSchedule"}])
        await cluster.settle(15)
        assert sorted((await cluster.places()).values()) == ["n1", "n2"]
        assert (await cluster.get(ref))["status"]["numberReady"] == 2
        for name, effect in (("n1", "NoSchedule"), ("n2", "NoExecute")):
            taints = [{"key": "k", "effect": effect}]
            await cluster.patch(Ref(NODE, name), {"spec": {"taints": taints}})
        await cluster.settle(15)
        assert sorted((await cluster.places()).values()) == ["n1"]


async def test_a_job_runs_until_enough_have_succeeded() -> None:
    """No more than may at once, and says when it is complete."""
    cluster = Live()
    await cluster.node("n")
    body = workload("batch", template_meta={"annotations": {RUNS_FOR: "30s"}})
    body["spec"] |= {"completions": 3, "parallelism": 2}
    body["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    del body["spec"]["replicas"], body["spec"]["selector"]
    async with cluster.living(run_world(cluster.kube, cluster.time, cluster.time)):
        ref = await cluster.make(JOB, body)
        await cluster.settle(5)
        assert await cluster.phases() == ["Running"] * 2
        await cluster.settle(60)
        await cluster.settle(60)
        assert await cluster.phases() == ["Succeeded"] * 3
        status = (await cluster.get(ref))["status"]
        assert (status["succeeded"], status.get("active", 0)) == (3, 0)
        assert [one["type"] for one in status["conditions"]] == ["Complete"]


BUDGETS = [
    pytest.param({"minAvailable": 3}, 1, id="at least three of four"),
    pytest.param({"minAvailable": "60%"}, 1, id="at least 60 %, rounded up"),
    pytest.param({"maxUnavailable": 2}, 2, id="two may go"),
    pytest.param({"maxUnavailable": "30%"}, 2, id="30 % may go, rounded up"),
    pytest.param({"maxUnavailable": 0}, 0, id="none may go"),
]


@pytest.mark.parametrize(("spec", "want"), BUDGETS)
async def test_a_budget_is_counted(spec: Tree, want: int) -> None:
    """And counted again when pods have come back after an eviction."""
    cluster = Live()
    await cluster.node("n")
    async with cluster.living(run_world(cluster.kube, cluster.time, cluster.time)):
        await cluster.make(DEPLOYMENT, workload("web", 4))
        ref = await cluster.make(BUDGET, budget(**spec))
        await cluster.settle(2)
        for _ in range(2):
            assert (await cluster.get(ref))["status"]["disruptionsAllowed"] == want
            names = await cluster.names(POD)
            for name in names[:want]:
                await cluster.kube.evict(Ref(POD, name, "default"), Deletion())
            with pytest.raises(TooManyRequestsError):
                await cluster.kube.evict(Ref(POD, names[-1], "default"), Deletion())
            await cluster.settle(15)
            assert await cluster.phases() == ["Running"] * 4


async def test_an_eviction_that_was_granted_and_came_to_nothing_is_forgotten() -> None:
    """After two minutes the pod counts again."""
    cluster = Live()
    await cluster.node("n")
    async with cluster.living(run_world(cluster.kube, cluster.time, cluster.time)):
        await cluster.make(DEPLOYMENT, workload("web", 4))
        ref = await cluster.make(BUDGET, budget(minAvailable=3))
        await cluster.settle(2)
        stamp = cluster.time.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        noted = {(await cluster.names(POD))[0]: stamp}
        await cluster.patch(ref, {"status": {"disruptedPods": noted}}, "status")
        await cluster.settle(60)
        assert (await cluster.get(ref))["status"]["disruptionsAllowed"] == 0
        await cluster.settle(90)
        status = (await cluster.get(ref))["status"]
        assert (status["disruptionsAllowed"], status.get("disruptedPods", {})) == (1, {})


async def test_pods_of_a_node_that_is_gone_are_replaced() -> None:
    """After a while, elsewhere."""
    cluster = Live()
    gone = await cluster.node("gone")
    async with cluster.living(run_world(cluster.kube, cluster.time, cluster.time)):
        await cluster.make(DEPLOYMENT, workload("web", 2))
        await cluster.settle(1)
        await cluster.delete(gone)
        await cluster.node("n")
        await cluster.settle(30)
        assert set((await cluster.places()).values()) == {"gone"}
        await cluster.settle(30)
        assert sorted((await cluster.places()).values()) == ["n", "n"]
        assert await cluster.phases() == ["Running"] * 2


async def test_the_same_world_lives_the_same_life() -> None:
    """To the byte."""

    async def life() -> list[Tree]:
        cluster = Live()
        for name in ("n1", "n2"):
            await cluster.node(name)
        async with cluster.living(run_world(cluster.kube, cluster.time, cluster.time)):
            await cluster.make(DEPLOYMENT, workload("web", 7))
            await cluster.settle(30)
            return await cluster.all(POD)

    assert await life() == await life()
