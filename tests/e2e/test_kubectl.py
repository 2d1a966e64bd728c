"""Does kubectl get on with the API server in memory? As a user of the demo would use it."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dovetail.apiserver import MemoryKube
from dovetail.apiserver.http.server import serve
from dovetail.clock import LoopTimer, SystemClock
from tests.conformance.kube.objects import deployment, node, node_pool, pod
from tests.controlplane import binaries

pytestmark = pytest.mark.xdist_group("controlplane")

Kubectl = Callable[..., Coroutine[Any, Any, str]]


@asynccontextmanager
async def kubectl_on_memory(folder: Path) -> AsyncIterator[Kubectl]:
    """A way to type kubectl commands against a new server."""
    command = await asyncio.to_thread(binaries.folder) / "kubectl"
    config = folder / "kubeconfig"
    async with serve(MemoryKube(SystemClock()), clock=SystemClock(), timer=LoopTimer()) as served:
        config.write_text(served.kubeconfig())

        async def kubectl(*words: str, given: str = "") -> str:
            line = [str(command), "--kubeconfig", str(config)]
            line += ["--cache-dir", str(folder / "cache"), *words]
            done = await asyncio.to_thread(
                subprocess.run, line, input=given, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, (words, done.stderr)
            return done.stdout

        yield kubectl


def manifest(kind: str, version: str, body: dict[str, Any]) -> str:
    """An object as a file holds it."""
    return json.dumps({"apiVersion": version, "kind": kind, **body})


async def test_objects_are_applied_shown_changed_and_deleted(tmp_path: Path) -> None:
    """Both ways of applying, without telling kubectl to be less careful."""
    async with kubectl_on_memory(tmp_path) as kubectl:
        wanted = manifest("Deployment", "apps/v1", deployment("web"))
        pool = manifest("NodePool", "karpenter.sh/v1", node_pool("default"))
        assert "created" in await kubectl("apply", "-f", "-", given=wanted)
        assert "unchanged" in await kubectl("apply", "-f", "-", given=wanted)
        assert "serverside-applied" in await kubectl(
            "apply", "--server-side", "-f", "-", given=pool
        )
        assert "scaled" in await kubectl("scale", "deployment/web", "--replicas=7")
        assert await kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}") == "7"
        assert "labeled" in await kubectl("label", "deploy", "web", "team=a")
        assert "web" in await kubectl("get", "deployments", "-l", "team=a")
        shown = (await kubectl("get", "nodepools")).split()
        assert shown[:5] == ["NAME", "NODECLASS", "NODES", "READY", "AGE"]
        assert "deleted" in await kubectl("delete", "deployment", "web")
        assert await kubectl("get", "deployments", "-o", "name") == ""


async def test_pods_and_nodes_are_shown_and_drained(tmp_path: Path) -> None:
    """Cordoned, evicted and deleted, as an operator does it."""
    async with kubectl_on_memory(tmp_path) as kubectl:
        await kubectl("create", "-f", "-", given=manifest("Node", "v1", node("n1")))
        for number in range(3):
            body = pod(f"p{number}", nodeName="n1", terminationGracePeriodSeconds=0)
            await kubectl("create", "-f", "-", given=manifest("Pod", "v1", body))
        shown = (await kubectl("get", "po", "-A", "--field-selector", "spec.nodeName=n1")).split(
            "\n"
        )
        assert [line.split()[1] for line in shown if line] == ["NAME", "p0", "p1", "p2"]
        assert "Unknown" in await kubectl("get", "nodes")
        assert "drained" in await kubectl("drain", "n1", "--force")
        assert "SchedulingDisabled" in await kubectl("get", "nodes")
        assert await kubectl("get", "pods", "-o", "name") == ""
        assert "karpenter.sh/v1" in await kubectl("api-versions")
        assert "nodeclaims" in await kubectl("api-resources", "--categories=karpenter")
        assert "Server Version: v1.36" in await kubectl("version")
