"""The demo as a command: what it prints, and what it says when it cannot begin."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.browser.demo import running

pytestmark = pytest.mark.xdist_group("browser")


def failed(*flags: str) -> str:
    """What it says when it ends at once, with the code of bad input."""
    words = [sys.executable, "-m", "dovetail.cli", "demo", "--no-browser", *flags]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert not ended.stdout
    return ended.stderr


@contextmanager
def taken() -> Iterator[int]:
    """A port that somebody else has."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        yield int(held.getsockname()[1])


def test_a_taken_port_is_told_with_a_remedy() -> None:
    """In one line, with the flag that helps."""
    with taken() as port:
        said = failed("--port", str(port))
    assert f"--port: cannot listen on 127.0.0.1, port {port}" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        pytest.param(["--port", "70000"], "--port", id="a port that is none"),
        pytest.param(["--speed", "-1"], "--speed", id="backwards"),
        pytest.param(["--manifests", "/nowhere"], "not a directory", id="no directory"),
    ],
)
def test_bad_flags_are_told(flags: list[str], complaint: str) -> None:
    """By their names."""
    assert complaint in failed(*flags)


def test_a_users_manifests_live_and_kubectl_sees_them(tmp_path: Path) -> None:
    """The pool's nodes are pretended, a pod gets one, and kinds nobody knows do not matter."""
    (tmp_path / "mine.yaml").write_text(
        """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: mine}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: prod}
      requirements: [{key: kubernetes.io/os, operator: In, values: [linux]}]
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: i, resources: {requests: {cpu: "1"}}}]}
"""
    )
    with running("--manifests", str(tmp_path)) as demo:
        words = ["kubectl", "--kubeconfig", demo.kubeconfig, "wait", "-n", "shop", "--timeout=60s"]
        subprocess.run(
            [*words, "--for=jsonpath={.status.readyReplicas}=3", "deployment/web"], check=True
        )
        nodes = asyncio.run(first_nodes(demo.dashboard))
    assert {one["pool"] for one in nodes} == {"mine"}


async def first_nodes(dashboard: str) -> list[dict[str, object]]:
    """The first nodes that the page is told of."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{dashboard}stream") as stream,
    ):
        async for line in stream.content:
            told = json.loads(line[6:]) if line.startswith(b"data: ") else {}
            if "nodes" in told:
                return list(told["nodes"])
    return []
