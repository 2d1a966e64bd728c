"""Builds nouns for tests in the words of a scenario, with a default for all else.

    pod("web", cpu="500m", node_selector={"zone": "a"})
    deployment(3, "web", spread=[{"topology_key": "zone"}])
    node("n1", pool="default", cpu=8, taints=["dedicated=gpu:NoSchedule"])
    node_pool("gpu", weight=10, limits={"cpu": 100})
    instance_type("small", cpu=2, memory="8Gi", price=0.10, spot=0.03)

A word that does not exist, or a value of the wrong kind, raises `InputError` and says which.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from dovetail.errors import InputError
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node
from dovetail.model.pod import Pod
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.testing.given import STANDARD_TYPES
from dovetail.testing.machines import GivenNode, GivenPool, GivenType
from dovetail.testing.pods import GivenPod

_Written = TypeVar("_Written", GivenPod, GivenNode, GivenPool, GivenType)


def _parse(words: dict[str, object], kind: type[_Written]) -> _Written:
    try:
        return msgspec.convert(words, kind)
    except msgspec.ValidationError as error:
        msg = f"building a {kind.__name__.removeprefix('Given').lower()}: {error}"
        raise InputError(msg) from error


def pod(name: str = "pod", **words: object) -> Pod:
    """One pod, waiting unless `node` says where it runs."""
    return _parse({"name": name, **words, "replicas": None}, GivenPod).pods()[0]


def deployment(n_pods: int, name: str = "web", **words: object) -> tuple[Pod, ...]:
    """So many pods of one template."""
    return _parse({"name": name, **words, "replicas": n_pods}, GivenPod).pods()


def instance_type(name: str = "small", **words: object) -> InstanceType:
    """An instance type: 2 cpu and 8Gi for a tenth of a dollar, unless told otherwise."""
    has_price = words.keys() & {"price", "spot", "offerings"}
    return _parse(words if has_price else {"price": 0.1, **words}, GivenType).instance_type(name)


def node_pool(name: str = "default", **words: object) -> NodePool:
    """A node pool without any restriction, unless told otherwise."""
    return _parse(words, GivenPool).node_pool(name)


def node(name: str = "node", *, types: Iterable[InstanceType] = (), **words: object) -> Node:
    """A running node of 4 cpu and 16Gi, or of its type's size where `types` holds its type."""
    by_name = {item.name: item for item in types}
    return _parse({"name": name, **words}, GivenNode).node(by_name)


def snapshot(
    pods: Iterable[Pod] = (),
    *,
    nodes: Iterable[Node] = (),
    node_pools: Iterable[NodePool] | None = None,
    types: Iterable[InstanceType] | None = None,
) -> Snapshot:
    """A cluster of these; one plain pool and three types if none are named."""
    pools = (node_pool(),) if node_pools is None else tuple(node_pools)
    offered = (
        tuple(given.instance_type(name) for name, given in STANDARD_TYPES.items())
        if types is None
        else tuple(types)
    )
    all_pods = tuple(pods)
    return Snapshot(
        pods=all_pods,
        nodes=tuple(nodes),
        node_pools=pools,
        instance_types={pool.name: offered for pool in pools},
        namespaces={namespace: {} for namespace in sorted({item.namespace for item in all_pods})},
    )
