"""Clusters for commands to look at: an API in memory, served over HTTP by a thread of this process.

What is asked of it is written down, so that a test can say what was not.
"""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.request
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

from dovetail.apiserver import MemoryKube
from dovetail.apiserver.http.server import Served, application
from dovetail.clock import SystemClock
from dovetail.kube.seam import Patch, Ref
from tests.unit.migration.clusters import kind_of

Tree = dict[str, Any]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
EXAMPLE = Path(__file__).parents[2] / "examples" / "08-which-nodes-go" / "cluster.yaml"


def example() -> list[Tree]:
    """Four nodes of a pool: one empty, one kept by a disruption budget."""
    trees = [tree for tree in yaml.safe_load_all(EXAMPLE.read_text(encoding="utf-8")) if tree]
    for tree in trees:
        if tree["kind"] == "NodePool":
            tree["status"] = {"conditions": [{"type": "Ready", "status": "True"}]}
    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "steady"}}
    return [home, *trees]


def waiting_pod(name: str, namespace: str = "steady") -> Tree:
    """A pod that kube-scheduler has found no place for."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "nodeSelector": {"example.com/team": "steady"},
            "tolerations": [{"key": "example.com/team", "operator": "Exists"}],
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "30"}}}],
        },
        "status": {
            "phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
        },
    }


class Cluster:
    """A cluster that is served. `requests` are all that came, as method and path."""

    def __init__(self, port: int, requests: list[tuple[str, str]], folder: Path) -> None:
        served = Served(port)
        self.url = served.url
        self.requests = requests
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(served.kubeconfig(), encoding="utf-8")

    @property
    def writes(self) -> list[tuple[str, str]]:
        """Everything that was not a question."""
        return [one for one in self.requests if one[0] != "GET"]

    def ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> None:
        """Change it, as somebody else would."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310  our own server
            f"{self.url}{path}", data, {"Content-Type": "application/json"}, method=method
        )
        with urllib.request.urlopen(request, timeout=10):  # noqa: S310  our own server
            return


@contextmanager
def serving(
    folder: Path, trees: Iterable[Tree], *, forbidden: tuple[str, ...] = ()
) -> Iterator[Cluster]:
    """A cluster of these objects, for as long as the block lasts; `forbidden` are plurals of kinds
    that nobody may read.
    """
    requests: list[tuple[str, str]] = []
    up: Future[tuple[int, Callable[[], object]]] = Future()
    held = list(trees)

    @web.middleware
    async def noted(request: web.Request, handler: Handler) -> web.StreamResponse:
        requests.append((request.method, request.path))
        if request.path.rsplit("/", 1)[-1] in forbidden:
            refusal = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "not yours"}
            return web.json_response(refusal, status=403)
        return await handler(request)

    async def serve() -> None:
        kube, stop = MemoryKube(SystemClock()), asyncio.Event()
        for tree in held:
            await _make(kube, tree)
        made = application(kube, SystemClock())
        made.middlewares.append(noted)
        runner = web.AppRunner(
            made, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        loop = asyncio.get_running_loop()
        up.set_result((runner.addresses[0][1], lambda: loop.call_soon_threadsafe(stop.set)))
        await stop.wait()
        await runner.cleanup()

    def run() -> None:
        try:
            asyncio.run(serve())
        except Exception as error:  # noqa: BLE001  the test is told, in its own thread
            up.set_exception(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    port, stop = up.result(30)
    try:
        yield Cluster(port, requests, folder)
    finally:
        stop()
        thread.join(30)


async def _make(kube: MemoryKube, tree: Tree) -> None:
    kind = kind_of(tree)
    meta = tree["metadata"]
    namespace = meta.get("namespace", "default") if kind.is_namespaced else ""
    body = {name: value for name, value in tree.items() if name != "status"}
    await kube.create(kind, body, namespace)
    if "status" in tree:
        status = tree["status"]
        for condition in status.get("conditions", ()):  # a server wants more of them than we do
            condition.setdefault("lastTransitionTime", "2026-03-01T06:00:00Z")
            condition.setdefault("reason", condition["type"])
            condition.setdefault("message", "")
        patch = Patch({"status": status}, subresource="status")
        await kube.patch(Ref(kind, meta["name"], namespace), patch)
