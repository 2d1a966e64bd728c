"""What does a controller see of a cluster of 5,000 nodes? The API in memory, filled and served.

    python -m benchmarks.big_cluster --nodes 5000 --pods 150000 --kubeconfig FILE

prints one line once it listens, and serves until it is interrupted. The same seed makes the same
cluster. Nodes are those of the kwok provider, registered and initialized, each with its claim; pods
come from a few hundred templates and run.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from dovetail import api, labels
from dovetail.apiserver import MemoryKube
from dovetail.apiserver.http.server import serve
from dovetail.clock import Clock, LoopTimer, SystemClock
from dovetail.decide.lifecycle.pool import HASH_VERSION, template_hash
from dovetail.kube.seam import Json, Patch, Ref
from dovetail.providers.kwok import node_class as kwok_node_class
from dovetail.providers.kwok.catalogue import instance_types
from dovetail.providers.kwok.store import Machine
from dovetail.providers.kwok.store import node as registered
from dovetail.sim.wire import condition, owner, ready_node, running_pod, stamp
from dovetail.state.objects import node_pool
from dovetail.units import quantity

Obj = dict[str, Json]

_POOL: Final = "default"
_N_TEMPLATES: Final = 300
_MILLIS: Final = (50, 100, 200, 250, 400)
_MIB: Final = (64, 128, 256, 512, 1024)
_LARGE: Final = (16_000, 64_000)  # cpu of the types that nodes are made of
_SETTLED: Final = ("ConsistentStateFound", "Initialized", "Launched", "Registered", "Ready")
_CLASS_LABEL: Final = f"{labels.KWOK_GROUP}/kwoknodeclass"
_STATUS: Final = "status"


class Size(NamedTuple):
    """How much of everything."""

    n_nodes: int = 5000
    n_pods: int = 150_000
    seed: int = 1


class _Template(NamedTuple):
    """A Deployment's pods."""

    name: str
    namespace: str
    spec: Obj
    labels: dict[str, Json]
    cpu_millis: int
    memory_bytes: int
    owners: list[Json]


async def fill(kube: MemoryKube, size: Size) -> None:
    """Make the cluster."""
    chance = random.Random(size.seed)
    pool = await _pool(kube)
    nodes = [node async for node in _nodes(kube, size, pool, chance)]
    templates = [await _template(kube, number, chance) for number in range(_N_TEMPLATES)]
    await _pods(kube, size, nodes, templates)


async def _make(kube: MemoryKube, kind: api.Kind, body: Obj, namespace: str = "") -> api.Object:
    identity: Obj = {"apiVersion": kind.api_version, "kind": kind.name}
    return api.read(kind, await kube.create(kind, {**identity, **body}, namespace))


async def _pool(kube: MemoryKube) -> api.Object:
    node_class = kwok_node_class.KIND
    await _make(kube, node_class, {"metadata": {"name": "default"}, "spec": {}})
    template: Obj = {"spec": {"nodeClassRef": _class_ref(), "requirements": []}}
    disruption: Obj = {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never"}
    spec: Obj = {"template": template, "disruption": disruption}
    kind = api.KINDS[labels.GROUP, "NodePool"]
    made = await _make(kube, kind, {"metadata": {"name": _POOL}, "spec": spec})
    marks: Obj = {
        labels.NODE_POOL_HASH: template_hash(node_pool(api.decode(api.NodePool, api.encode(made)))),
        labels.NODE_POOL_HASH_VERSION: HASH_VERSION,
    }
    patch = Patch({"metadata": {"annotations": marks}})
    return api.read(kind, await kube.patch(Ref(kind, _POOL), patch))


def _class_ref() -> Obj:
    return {"group": labels.KWOK_GROUP, "kind": "KWOKNodeClass", "name": "default"}


# ---------------------------------------------------------------- nodes


async def _nodes(
    kube: MemoryKube, size: Size, pool: api.Object, chance: random.Random
) -> AsyncIterator[api.Node]:
    kinds = [one for one in instance_types() if _LARGE[0] <= one.capacity["cpu"] <= _LARGE[1]]
    kinds = [one for one in kinds if "linux" in one.name and "amd64" in one.name]
    now = datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(size.n_nodes):
        held = chance.choice(kinds)
        offering = chance.choice(held.offerings)
        stated = held.requirements & offering.requirements
        machine = Machine(
            name=f"{_POOL}-{number:05}",
            claim_uid="",
            labels={one.key: min(one.values) for one in stated.sorted() if one.values},
            capacity=dict(held.capacity),
            allocatable=dict(held.allocatable),
            price_nanousd=offering.price_nanousd,
            launched_at=now,
            appears_at=now,
            node_pool=_POOL,
        )
        yield await _machine(kube, machine, pool, now)


async def _machine(kube: MemoryKube, machine: Machine, pool: api.Object, now: datetime) -> api.Node:
    """A claim and its Node, long settled."""
    claim_kind, node_kind = api.KINDS[labels.GROUP, "NodeClaim"], api.KINDS["", "Node"]
    held: Obj = {**machine.labels, labels.NODE_POOL: _POOL, _CLASS_LABEL: "default"}
    meta: Obj = {
        "name": machine.name,
        "labels": held,
        "annotations": {**pool.metadata.annotations},
        "finalizers": [labels.TERMINATION_FINALIZER],
        "ownerReferences": [owner(pool, api.KINDS[labels.GROUP, "NodePool"])],
    }
    wanted: list[Json] = [
        {"key": key, "operator": "In", "values": [value]} for key, value in sorted(held.items())
    ]
    spec: Obj = {"nodeClassRef": _class_ref(), "requirements": wanted}
    claim = await _make(kube, claim_kind, {"metadata": meta, "spec": spec})
    amounts: Obj = {
        field: {name: quantity.render(name, one) for name, one in sorted(counted.items())}
        for field, counted in (("capacity", machine.capacity), ("allocatable", machine.allocatable))
    }
    settled: list[Json] = [
        {**condition(one, holds=True, now=now, reason=one), "observedGeneration": 1}
        for one in _SETTLED
    ]
    status: Obj = {
        "providerID": machine.provider_id,
        "nodeName": machine.name,
        "conditions": settled,
        "lastPodEventTime": stamp(now),
        **amounts,
    }
    await kube.patch(Ref(claim_kind, machine.name), Patch({_STATUS: status}, subresource=_STATUS))
    owned = msgspec.structs.replace(machine, claim_uid=claim.metadata.uid)
    body = dict(registered(owned, {}, {}))
    marks: Obj = {**held, labels.REGISTERED: "true", labels.INITIALIZED: "true"}
    _mapping(_mapping(body["metadata"])["labels"]).update(marks)
    _mapping(body["metadata"])["finalizers"] = [labels.TERMINATION_FINALIZER]
    _mapping(body["metadata"])["ownerReferences"] = [owner(claim, claim_kind)]
    await _make(kube, node_kind, body)
    ref = Ref(node_kind, machine.name)
    await kube.patch(ref, Patch({"spec": {"taints": []}}))
    node = api.decode(api.Node, await kube.get(ref))
    said = _mapping(ready_node(node, now)[_STATUS])
    return api.decode(api.Node, await kube.patch(ref, Patch({_STATUS: said}, subresource=_STATUS)))


def _mapping(tree: Json) -> Obj:
    assert isinstance(tree, dict)  # noqa: S101  made a moment ago, by this very module
    return tree


# ---------------------------------------------------------------- pods


async def _template(kube: MemoryKube, number: int, chance: random.Random) -> _Template:
    name, namespace = f"app-{number:03}", f"team-{number % 20:02}"
    if number < 20:
        await _make(kube, api.KINDS["", "Namespace"], {"metadata": {"name": namespace}})
    cpu_millis, memory_mib = chance.choice(_MILLIS), chance.choice(_MIB)
    held: dict[str, Json] = {"app": name, "app.kubernetes.io/part-of": namespace}
    spec: Obj = {
        "containers": [_container(name, cpu_millis, memory_mib)],
        "serviceAccountName": name,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 10_000 + number},
        "volumes": [{"name": "config", "configMap": {"name": name}}],
    }
    if number % 3 == 0:
        selector: Obj = {"matchLabels": {"app": name}}
        spread: Obj = {"maxSkew": 1, "topologyKey": labels.ZONE, "labelSelector": selector}
        spec["topologySpreadConstraints"] = [{**spread, "whenUnsatisfiable": "ScheduleAnyway"}]
    workload: Obj = {
        "replicas": 0,
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": held}, "spec": spec},
    }
    deployments, replica_sets = api.KINDS["apps", "Deployment"], api.KINDS["apps", "ReplicaSet"]
    body: Obj = {"metadata": {"name": name, "labels": held}, "spec": workload}
    above = await _make(kube, deployments, body, namespace)
    meta: Obj = {"name": f"{name}-7d9f", "ownerReferences": [owner(above, deployments)]}
    made = await _make(kube, replica_sets, {"metadata": meta, "spec": workload}, namespace)
    owners: list[Json] = [owner(made, replica_sets)]
    return _Template(name, namespace, spec, held, cpu_millis, memory_mib * 2**20, owners)


def _container(name: str, cpu_millis: int, memory_mib: int) -> Obj:
    """About as much text as containers have."""
    probe: Obj = {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}}
    timing: Obj = {"periodSeconds": 10, "timeoutSeconds": 1, "failureThreshold": 3}
    return {
        "name": "main",
        "image": f"registry.example/{name}:1.27.3",
        "args": ["--port=8080", f"--name={name}", "--log-format=json", "--log-level=info"],
        "env": [{"name": f"SETTING_{at}", "value": f"{name}-{at}"} for at in range(12)],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "resources": {"requests": {"cpu": f"{cpu_millis}m", "memory": f"{memory_mib}Mi"}},
        "livenessProbe": {**probe, **timing},
        "readinessProbe": {**probe, **timing},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/app", "readOnly": True}],
    }


async def _pods(
    kube: MemoryKube, size: Size, nodes: Sequence[api.Node], templates: Sequence[_Template]
) -> None:
    """One after the other on the next node with room."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    free = {one.metadata.name: _room(one) for one in nodes}
    ring = cycle(nodes)
    for number in range(size.n_pods):
        template = templates[number * 7919 % len(templates)]
        node = next(
            one
            for _, one in zip(range(len(nodes)), ring, strict=False)
            if _has_room(free, one, template)
        )
        free[node.metadata.name][0] -= template.cpu_millis
        free[node.metadata.name][1] -= template.memory_bytes
        await _pod(kube, f"{template.name}-7d9f-{number:06}", template, node, now)


def _room(node: api.Node) -> list[int]:
    held = node.status.allocatable
    return [quantity.amount(name, held[name]) for name in ("cpu", "memory")]


def _has_room(free: dict[str, list[int]], node: api.Node, template: _Template) -> bool:
    cpu_millis, memory_bytes = free[node.metadata.name]
    return cpu_millis >= template.cpu_millis and memory_bytes >= template.memory_bytes


async def _pod(
    kube: MemoryKube, name: str, template: _Template, node: api.Node, now: datetime
) -> None:
    kind = api.KINDS["", "Pod"]
    meta: Obj = {
        "name": name,
        "generateName": f"{template.name}-7d9f-",
        "labels": {**template.labels, "pod-template-hash": "7d9f"},
        "ownerReferences": template.owners,
    }
    spec: Obj = {**template.spec, "nodeName": node.metadata.name}
    made = await _make(kube, kind, {"metadata": meta, "spec": spec}, template.namespace)
    if isinstance(made, api.Pod):
        said = _mapping(running_pod(made, node, now)[_STATUS])
        bound: Json = condition("PodScheduled", holds=True, now=now)
        conditions = said["conditions"]
        said["conditions"] = [*(conditions if isinstance(conditions, list) else []), bound]
        ref = Ref(kind, name, template.namespace)
        await kube.patch(ref, Patch({_STATUS: said}, subresource=_STATUS))


# ---------------------------------------------------------------- the command


async def run(size: Size, port: int, kubeconfig: Path | None) -> None:
    """Fill, serve, and wait to be interrupted."""
    clock: Clock = SystemClock()
    kube = MemoryKube(clock)
    await fill(kube, size)
    kube.forget_history()
    async with serve(kube, clock=clock, timer=LoopTimer(), port=port) as served:
        if kubeconfig is not None:
            await asyncio.to_thread(kubeconfig.write_text, served.kubeconfig())
        print(f"serving {size.n_nodes} nodes and {size.n_pods} pods at {served.url}", flush=True)
        await asyncio.Event().wait()


def main() -> None:
    """Read the flags and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.big_cluster", description=__doc__)
    parser.add_argument("--nodes", type=int, default=Size().n_nodes)
    parser.add_argument("--pods", type=int, default=Size().n_pods)
    parser.add_argument("--seed", type=int, default=Size().seed)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="written once it listens")
    chosen = parser.parse_args()
    size = Size(chosen.nodes, chosen.pods, chosen.seed)
    try:
        asyncio.run(run(size, chosen.port, chosen.kubeconfig))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
