"""Do stand-ins for kubelets satisfy a real scheduler and real controllers?"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from dovetail import api, labels
from dovetail.clock import LoopTimer, SystemClock
from dovetail.cloud.context import ProviderContext
from dovetail.kube.http import kubeconfig
from dovetail.kube.http.client import HttpKube
from dovetail.kube.http.transport import HttpSettings, World
from dovetail.kube.seam import Kube
from dovetail.providers.kwok import plugin as kwok
from dovetail.providers.kwok.plugin import KwokSettings
from dovetail.sim.kubelets import Kubelets
from dovetail.state.objects import claim_object
from tests.conformance.kube.objects import NODE_CLAIM, named
from tests.controlplane.plane import ControlPlane

pytestmark = pytest.mark.xdist_group("controlplane")

NAMESPACE = "kubelets"
N_NODES = 3
N_PODS = 60
_PATIENCE = 240  # seconds; only a law that is broken waits for so long


def deployment() -> dict[str, Any]:
    """Pods that only a node of the provider will have, once its kubelet has made it ready."""
    selected = {"app": "web"}
    spec = {
        "nodeSelector": {"kubelets": "stand-in"},
        "tolerations": [{"key": labels.UNREGISTERED_TAINT, "operator": "Exists"}],
        "containers": [
            {
                "name": "main",
                "image": "registry.example/main:1",
                "resources": {"requests": {"cpu": "10m"}},
            }
        ],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        **named("web", namespace=NAMESPACE),
        "spec": {
            "replicas": N_PODS,
            "selector": {"matchLabels": selected},
            "template": {"metadata": {"labels": selected}, "spec": spec},
        },
    }


def claim_of(name: str) -> dict[str, Any]:
    """A claim that any machine would do for."""
    reference = {"group": labels.KWOK_GROUP, "kind": "KWOKNodeClass", "name": "kubelets"}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        **named(name, labels={"kubelets": "stand-in"}),
        "spec": {
            "nodeClassRef": reference,
            "requirements": [],
            "resources": {"requests": {"cpu": "4"}},
        },
    }


async def launch(kube: Kube) -> None:
    """Have the provider make some nodes."""
    surroundings = ProviderContext(kube=kube, clock=SystemClock(), timer=LoopTimer())
    provider = kwok.make(surroundings, KwokSettings())
    for number in range(N_NODES):
        raw = await kube.create(NODE_CLAIM, claim_of(f"kubelets-{number}"))
        await provider.create(claim_object(api.decode(api.NodeClaim, raw)))


def counted(plane: ControlPlane, kind: str, *words: str) -> list[dict[str, Any]]:
    """What kubectl finds of a kind."""
    found: list[dict[str, Any]] = json.loads(plane.kubectl("get", kind, *words, "-o", "json"))[
        "items"
    ]
    return found


def is_ready(tree: dict[str, Any]) -> bool:
    """Whether its status says so."""
    conditions = tree["status"].get("conditions", [])
    return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)


async def until(holds: Any) -> None:
    """Wait for something that others bring about."""
    async with asyncio.timeout(_PATIENCE):
        while not await asyncio.to_thread(holds):  # noqa: ASYNC110  others know of no event
            await asyncio.sleep(0.2)


async def test_nodes_become_ready_and_real_pods_run_and_end(plane: ControlPlane) -> None:
    """Bound by kube-scheduler, counted by kube-controller-manager, and gone when deleted."""
    plane.kubectl("create", "namespace", NAMESPACE)
    node_class = {
        "apiVersion": "karpenter.kwok.sh/v1alpha1",
        "kind": "KWOKNodeClass",
        **named("kubelets"),
        "spec": {},
    }
    plane.kubectl("create", "-f", "-", given=json.dumps(node_class))
    access = kubeconfig.load({}, path=str(plane.kubeconfig))
    world = World(SystemClock(), LoopTimer(), lambda: 0.5)
    settings = HttpSettings(requests_per_second=2000, burst=2000)
    async with HttpKube(access, world, settings) as kube, asyncio.TaskGroup() as group:
        life = Kubelets(kube, SystemClock(), LoopTimer(), chance=lambda: 0.5)
        living = group.create_task(life.run())
        await launch(kube)
        plane.kubectl("create", "-f", "-", given=json.dumps(deployment()))
        words = ("-n", NAMESPACE, "-l", "app=web")
        await until(lambda: sum(map(is_ready, counted(plane, "pods", *words))) == N_PODS)
        nodes = counted(plane, "nodes", "-l", "kubelets=stand-in")
        assert [is_ready(one) for one in nodes] == [True] * N_NODES
        assert {one["key"] for node in nodes for one in node["spec"]["taints"]} == {
            labels.UNREGISTERED_TAINT
        }
        pods = counted(plane, "pods", *words)
        assert {one["status"]["phase"] for one in pods} == {"Running"}
        assert len({one["status"]["podIP"] for one in pods}) == N_PODS
        leases = counted(plane, "leases", "-n", "kube-node-lease")
        kept = {one["metadata"]["name"] for one in leases}
        assert kept >= {one["metadata"]["name"] for one in nodes}
        plane.kubectl("delete", "deployment", "web", "-n", NAMESPACE, "--wait=false")
        await until(lambda: not counted(plane, "pods", *words))
        living.cancel()
    plane.kubectl("delete", "nodeclaims,nodes", "-l", "kubelets=stand-in", "--wait=false")
    await asyncio.sleep(0.02)  # connections over TLS say goodbye before they are closed
