"""Do pods end up where they were planned, and what does the cluster cost then?

All pods wait before the controller starts, so that there is one plan for all of them. Then nodes
come, kube-scheduler binds, and whatever stays pending is planned again. Paper price is the first
plan's, realised price that of all nodes once every pod is bound.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.live import programs, surge
from dovetail.kube.http.client import HttpKube
from dovetail.kube.seam import Json, Scope

_SIZES: Final = (
    (100, 256), (250, 512), (300, 2048), (500, 1024), (700, 1536), (1000, 4096), (1500, 2048),
    (2000, 7168), (3000, 6144),
)  # fmt: skip
_WEIGHTS: Final = (20, 20, 15, 15, 10, 8, 6, 4, 2)
_PATIENCE_SECONDS: Final = 300.0


class Steered(msgspec.Struct, frozen=True):
    """What became of one plan."""

    is_steered: bool
    n_pods: int
    n_as_planned: int
    paper_usd: float
    bound_usd: float
    realised_usd: float
    n_claims_planned: int
    n_claims: int

    @property
    def share(self) -> float:
        """The share of pods that were bound where they were planned."""
        return self.n_as_planned / self.n_pods


def measure(path: Path, folder: Path, n_pods: int, *, is_steered: bool) -> Steered:
    """Plan for pods that all wait, and see where they end up."""
    asyncio.run(_prepare(path, n_pods))
    word = "true" if is_steered else "false"
    flags = ("--kubelets", "--log-level", "debug", "--steer-pods", word)
    with programs.dovetail(path, folder, *flags) as program:
        nodes_by_pod, price, n_claims = asyncio.run(_settle(path, n_pods))
        planned, paper, bound, n_planned = _first_plan(program.log)
    n_as_planned = sum(nodes_by_pod.get(pod) == node for pod, node in planned.items())
    return Steered(is_steered, n_pods, n_as_planned, paper, bound, price, n_planned, n_claims)


async def _prepare(path: Path, n_pods: int) -> None:
    chance = random.Random(7)
    bodies = [_pod(f"q-{ordinal:05}", chance) for ordinal in range(n_pods)]
    async with surge.reaching(path) as kube:
        await surge.create(kube, bodies)
        await _until(kube, lambda pods: sum(map(_is_unschedulable, pods)) == n_pods)


def _pod(name: str, chance: random.Random) -> dict[str, Json]:
    millis, mebis = chance.choices(_SIZES, _WEIGHTS)[0]
    requests: dict[str, Json] = {"cpu": f"{millis}m", "memory": f"{mebis}Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": surge.NAMESPACE},
        "spec": {
            "containers": [{"name": "main", "image": "none", "resources": {"requests": requests}}],
            "terminationGracePeriodSeconds": 0,
        },
    }


async def _settle(path: Path, n_pods: int) -> tuple[dict[str, str], float, int]:
    """Where each pod is bound in the end, what all nodes cost, and how many claims there are."""
    async with surge.reaching(path) as kube:
        pods = await _until(kube, lambda held: sum(map(_is_bound, held)) == n_pods)
        n_claims, total = await surge.claims(kube)
    nodes = {
        f"{surge.NAMESPACE}/{one['metadata']['name']}": one["spec"]["nodeName"] for one in pods
    }
    return nodes, total, n_claims


async def _until(kube: HttpKube, holds: Any) -> list[Any]:  # noqa: ANN401  a test of JSON as it comes
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        page = await kube.list(Scope(surge.POD, surge.NAMESPACE))
        pods = [msgspec.json.decode(raw) for raw in page.items]
        if holds(pods):
            return pods
        if time.monotonic() > deadline:
            msg = f"{sum(map(_is_bound, pods))} of {len(pods)} pods were bound in time"
            raise TimeoutError(msg)
        await asyncio.sleep(1.0)


def _is_bound(pod: Any) -> bool:  # noqa: ANN401  JSON as it comes
    return bool(pod["spec"].get("nodeName"))


def _is_unschedulable(pod: Any) -> bool:  # noqa: ANN401  JSON as it comes
    held = pod.get("status", {}).get("conditions", ())
    return any(one.get("reason") == "Unschedulable" for one in held)


def _first_plan(log: Path) -> tuple[dict[str, str], float, float, int]:
    """Where the first plan put each pod, its price, its bound, and how many nodes it wanted."""
    planned: dict[str, str] = {}
    paper = bound = 0.0
    for line in log.read_text().splitlines():
        said = json.loads(line) if line.startswith("{") else {}
        if said.get("message", "").startswith("computed new nodeclaim") and not paper:
            paper, bound = said["price_per_hour"], said["lower_bound_per_hour"]
        if said.get("message") == "planned pods":
            places = said["places"]
            planned = {pod: claim for claim, pods in places.items() for pod in pods}
            return planned, paper, bound, len(places)
    msg = f"there is no plan in {log}"
    raise RuntimeError(msg)
