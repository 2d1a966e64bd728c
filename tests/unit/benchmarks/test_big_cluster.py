"""A big cluster in small: the same every time, and nothing on a node that does not fit."""

from __future__ import annotations

from collections import Counter
from typing import Any

from benchmarks.big_cluster import Size, fill
from dovetail.apiserver import MemoryKube
from dovetail.kube.seam import Scope
from dovetail.testing.virtual_time import VirtualTime
from dovetail.units import quantity
from tests.conformance.kube.objects import NODE, NODE_CLAIM, POD, read


async def made(seed: int) -> dict[str, list[dict[str, Any]]]:
    """Nodes, claims and pods of a cluster of five nodes."""
    kube = MemoryKube(VirtualTime())
    await fill(kube, Size(5, 150, seed))
    kinds = (NODE, NODE_CLAIM, POD)
    return {one.name: [read(raw) for raw in (await kube.list(Scope(one))).items] for one in kinds}


async def test_the_same_seed_makes_the_same_cluster() -> None:
    """To the byte; another seed makes another."""
    first = await made(1)
    assert first == await made(1)
    assert first["Node"] != (await made(2))["Node"]


async def test_every_pod_runs_where_there_is_room_for_it() -> None:
    """On nodes that their claims know."""
    cluster = await made(1)
    assert [len(found) for found in cluster.values()] == [5, 5, 150]
    taken: Counter[str] = Counter()
    for pod in cluster["Pod"]:
        assert pod["status"]["phase"] == "Running"
        (container,) = pod["spec"]["containers"]
        asked = quantity.amount("cpu", container["resources"]["requests"]["cpu"])
        taken[pod["spec"]["nodeName"]] += asked
    for node in cluster["Node"]:
        free = quantity.amount("cpu", node["status"]["allocatable"]["cpu"])
        assert taken[node["metadata"]["name"]] <= free
    assert [one["status"]["nodeName"] for one in cluster["NodeClaim"]] == [
        one["metadata"]["name"] for one in cluster["Node"]
    ]
