"""Objects to try laws on, as small as a real server accepts them, and ways to read what it says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import msgspec

from dovetail import api
from dovetail.kube.seam import Deletion, Kube, Patch, Ref, Scope, WatchEvent, WatchEventType

POD = api.KINDS["", "Pod"]
NODE = api.KINDS["", "Node"]
NAMESPACE = api.KINDS["", "Namespace"]
DEPLOYMENT = api.KINDS["apps", "Deployment"]
REPLICA_SET = api.KINDS["apps", "ReplicaSet"]
BUDGET = api.KINDS["policy", "PodDisruptionBudget"]
PRIORITY_CLASS = api.KINDS["scheduling.k8s.io", "PriorityClass"]
NODE_POOL = api.KINDS["karpenter.sh", "NodePool"]
NODE_CLAIM = api.KINDS["karpenter.sh", "NodeClaim"]
CONFIG_MAP = api.Kind("", "v1", "ConfigMap", "configmaps", api.Object)
LEASE = api.Kind("coordination.k8s.io", "v1", "Lease", "leases", api.Object)
EVENT = api.Kind("", "v1", "Event", "events", api.Object)
BINDING = api.Kind("", "v1", "Binding", "bindings", api.Object)

DEFAULT = "default"
NOW = Deletion(grace_seconds=0)
_PATIENCE = 5  # seconds; only a law that is broken waits for so long


def named(name: str, **more: Any) -> dict[str, Any]:
    """The least that an object has."""
    return {"metadata": {"name": name, **more}}


def config_map(name: str, **data: str) -> dict[str, Any]:
    """Settings without meaning."""
    return {**named(name), "data": {**data}}


def pod(name: str, *, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A pod of one container."""
    container = {"name": "main", "image": "registry.example/main:1"}
    return {**named(name, labels=labels or {}), "spec": {"containers": [container], **spec}}


def node(name: str, *, labels: dict[str, str] | None = None) -> dict[str, Any]:
    """A node that says nothing of itself."""
    return named(name, labels=labels or {})


def deployment(name: str, replicas: int = 2) -> dict[str, Any]:
    """A deployment of one container."""
    labels = {"app": name}
    spec = pod(name)["spec"]
    return {
        **named(name),
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def class_ref() -> dict[str, Any]:
    """The node class that pools and claims refer to."""
    return {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}


def node_pool(name: str, **spec: Any) -> dict[str, Any]:
    """A pool of whatever there is."""
    template = {"spec": {"nodeClassRef": class_ref(), "requirements": []}}
    return {**named(name), "spec": {"template": template, **spec}}


def node_claim(name: str) -> dict[str, Any]:
    """A claim of whatever there is."""
    return {**named(name), "spec": {"nodeClassRef": class_ref(), "requirements": []}}


def owner(raw: msgspec.Raw, *, blocks: bool = False) -> dict[str, Any]:
    """A reference to an object as an owner."""
    tree = read(raw)
    return {
        "apiVersion": tree["apiVersion"],
        "kind": tree["kind"],
        "name": tree["metadata"]["name"],
        "uid": tree["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": blocks,
    }


def read(raw: msgspec.Raw) -> dict[str, Any]:
    """What a server said."""
    tree: dict[str, Any] = msgspec.json.decode(raw)
    return tree


async def got(kube: Kube, ref: Ref) -> dict[str, Any]:
    """An object as it is now."""
    return read(await kube.get(ref))


async def create(
    kube: Kube, kind: api.Kind, body: dict[str, Any], namespace: str = ""
) -> msgspec.Raw:
    """Create an object that says what it is, as custom resources must."""
    identity = {"apiVersion": kind.api_version, "kind": kind.name}
    return await kube.create(kind, {**identity, **body}, namespace)


async def make(kube: Kube, kind: api.Kind, body: dict[str, Any]) -> Ref:
    """Create an object, in the default namespace where its kind has one."""
    namespace = DEFAULT if kind.is_namespaced else ""
    raw = await create(kube, kind, body, namespace)
    return Ref(kind, read(raw)["metadata"]["name"], namespace)


async def merge(
    kube: Kube, ref: Ref, body: dict[str, Any], subresource: str = ""
) -> dict[str, Any]:
    """Lay a merge patch over an object."""
    return read(await kube.patch(ref, Patch(body, subresource=subresource)))


async def bound(kube: Kube, ref: Ref, node_name: str) -> None:
    """Bind a pod to a node, and wait until that is known.

    A real server looks into its cache when it deletes a pod, and deletes one at once that has no
    node there.
    """
    scope = Scope(POD, ref.namespace, fields=f"metadata.name={ref.name}")
    since = (await kube.list(scope)).resource_version
    body = {**named(ref.name), "target": {"kind": "Node", "name": node_name}}
    await kube.create(BINDING, body, ref.namespace)
    await told(kube.watch(scope, since=since), 1)


def shown(change: WatchEvent) -> tuple[str, str]:
    """A change in short: what happened, and to whom."""
    return change.type.value, read(change.object)["metadata"].get("name", "")


async def told(watch: AsyncIterator[WatchEvent], n_changes: int) -> list[WatchEvent]:
    """The next changes of a watch, bookmarks left out; then the watch is over."""
    try:
        return await heard(watch, n_changes)
    finally:
        if isinstance(watch, AsyncGenerator):
            await watch.aclose()


async def heard(watch: AsyncIterator[WatchEvent], n_changes: int) -> list[WatchEvent]:
    """The next changes of a watch that goes on, bookmarks left out."""
    found: list[WatchEvent] = []
    async with asyncio.timeout(_PATIENCE):
        async for change in watch:
            if change.type is not WatchEventType.BOOKMARK:
                found.append(change)
            if len(found) == n_changes:
                break
    return found
