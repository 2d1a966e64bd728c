"""Stand-ins for workload controllers bring a changed template to every pod, and tell of it."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import api
from dovetail.kube.seam import Ref
from dovetail.sim.controller_manager.pod_control import REVISION
from dovetail.sim.world import run_world
from tests.conformance.kube.objects import DEPLOYMENT, POD, REPLICA_SET
from tests.unit.sim.clusters import Tree
from tests.unit.sim.controller_manager.test_workloads import (
    DAEMON_SET,
    STATEFUL_SET,
    Live,
    workload,
)

OLD, NEW = "registry.example/main:1", "registry.example/main:2"


def template(image: str) -> Tree:
    """A patch of a workload's template."""
    return {"spec": {"template": workload("x", image=image)["spec"]["template"]}}


async def images(cluster: Live) -> list[str]:
    """Of all pods."""
    return [one["spec"]["containers"][0]["image"] for one in await cluster.all(POD)]


async def conditions(cluster: Live, ref: Ref) -> dict[str, tuple[str, str]]:
    """Status and reason of each condition."""
    found = (await cluster.get(ref))["status"]["conditions"]
    return {one["type"]: (one["status"], one["reason"]) for one in found}


async def revisions(cluster: Live) -> dict[str, str]:
    """The revision of each ReplicaSet, by the image of its template."""
    return {
        one["spec"]["template"]["spec"]["containers"][0]["image"]: one["metadata"]["annotations"][
            REVISION
        ]
        for one in await cluster.all(REPLICA_SET)
    }


async def test_a_deployment_counts_its_revisions() -> None:
    """Each template has one; an earlier template that comes back gets a new one."""
    cluster = Live()
    await cluster.node("n")
    async with cluster.living(run_world(cluster.kube, cluster.time, cluster.time)):
        ref = await cluster.make(DEPLOYMENT, workload("web"))
        for image, want in (
            (OLD, {OLD: "1"}),
            (NEW, {OLD: "1", NEW: "2"}),
            (OLD, {OLD: "3", NEW: "2"}),
        ):
            await cluster.patch(ref, template(image))
            await cluster.settle(5)
            assert await revisions(cluster) == want
            assert await images(cluster) == [image] * 2
        assert (await cluster.get(ref))["metadata"]["annotations"][REVISION] == "3"


async def test_a_deployment_says_whether_it_is_available_and_through() -> None:
    """Neither while there is no node."""
    cluster = Live()
    async with cluster.living(run_world(cluster.kube, cluster.time, cluster.time)):
        ref = await cluster.make(DEPLOYMENT, workload("web"))
        await cluster.settle(5)
        assert await conditions(cluster, ref) == {
            "Available": ("False", "MinimumReplicasUnavailable"),
            "Progressing": ("True", "ReplicaSetUpdated"),
        }
        await cluster.node("n")
        await cluster.settle(15)
        assert await conditions(cluster, ref) == {
            "Available": ("True", "MinimumReplicasAvailable"),
            "Progressing": ("True", "NewReplicaSetAvailable"),
        }


async def test_a_paused_deployment_does_not_roll_out() -> None:
    """Until it is resumed."""
    cluster = Live()
    await cluster.node("n")
    async with cluster.living(run_world(cluster.kube, cluster.time, cluster.time)):
        ref = await cluster.make(DEPLOYMENT, workload("web"))
        await cluster.settle(5)
        await cluster.patch(ref, {"spec": {"paused": True, **template(NEW)["spec"]}})
        await cluster.settle(5)
        assert await images(cluster) == [OLD] * 2
        await cluster.patch(ref, {"spec": {"paused": None}})
        await cluster.settle(5)
        assert await images(cluster) == [NEW] * 2


@pytest.mark.parametrize(
    ("strategy", "want"),
    [
        pytest.param({}, NEW, id="replaced"),
        pytest.param({"updateStrategy": {"type": "OnDelete"}}, OLD, id="left to their owner"),
    ],
)
@pytest.mark.parametrize("kind", [DAEMON_SET, STATEFUL_SET], ids=lambda kind: kind.name)
async def test_pods_of_an_earlier_template_are_replaced(
    kind: api.Kind, strategy: dict[str, Any], want: str
) -> None:
    """One after the other, unless the strategy says otherwise."""
    cluster = Live()
    for name in ("n1", "n2"):
        await cluster.node(name)
    body = workload("agent", **strategy)
    if kind == DAEMON_SET:
        del body["spec"]["replicas"]
    async with cluster.living(run_world(cluster.kube, cluster.time, cluster.time)):
        ref = await cluster.make(kind, body)
        await cluster.settle(15)
        await cluster.patch(ref, template(NEW))
        for _ in range(30):
            assert (await cluster.phases()).count("Running") >= 1
            await cluster.settle(1)
        assert await images(cluster) == [want] * 2
