"""Tiny worlds for tests of the checker itself: a pod, a node, a plan, with sane defaults."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from dovetail import labels
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.plan import Cost, Launch, Nominate, Plan
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirements, requirement
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Unschedulable
from tests.oracle.world import Host, World

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
ROOM: Final = {"cpu": 4000, "memory": 8 << 30, "pods": 10}


def pod(name: str = "p", *, spec: PodSpec | None = None, **fields: Any) -> Pod:
    """A pod of 1 cpu in namespace default, labelled with its own name."""
    given: dict[str, Any] = {"labels": {"app": name}, "uid": f"uid-{name}", **fields}
    return Pod(
        name=name, namespace=str(given.pop("namespace", "default")), spec=spec or ask(), **given
    )


def ask(**fields: Any) -> PodSpec:
    """What a pod asks for: 1 cpu unless said otherwise."""
    given: dict[str, Any] = {"requests": {"cpu": 1000, "pods": 1}, **fields}
    return PodSpec(**given)


def host(name: str = "n", *, zone: str = "a", **fields: Any) -> Host:
    """A node of 4 cpu in zone a."""
    carried = {labels.HOSTNAME: name, labels.ZONE: zone}
    more: dict[str, str] = fields.pop("labels", {})
    given: dict[str, Any] = {"allocatable": ROOM, **fields}
    return Host(name=name, labels={**carried, **more}, **given)


def world(*hosts: Host, snapshot: Snapshot | None = None, **pods_by_host: list[Pod]) -> World:
    """These nodes, with these pods on them."""
    found = World(snapshot or Snapshot())
    for one in hosts:
        found.add(one)
    for name, pods in pods_by_host.items():
        for each in pods:
            found.bind(each, name)
    return found


def offering(zone: str = "a", price: int = 100, capacity_type: str = labels.ON_DEMAND) -> Offering:
    """An on-demand offering in zone a for 100."""
    return Offering(
        zone=zone,
        capacity_type=capacity_type,
        price_nanousd=price,
        requirements=Requirements.of_labels(
            {labels.ZONE: zone, labels.CAPACITY_TYPE: capacity_type}
        ),
    )


def kind(
    name: str = "m",
    *,
    holds: Mapping[str, int] = ROOM,
    offerings: tuple[Offering, ...] = (offering(),),
) -> InstanceType:
    """An instance type of 4 cpu, offered on demand in zone a."""
    return InstanceType(
        name=name,
        requirements=Requirements([requirement(labels.INSTANCE_TYPE, "In", [name])]),
        capacity=holds,
        allocatable=holds,
        offerings=offerings,
    )


def pick(name: str, *, weight: int = 0, **fields: Any) -> NodePool:
    """A pool with some fields changed."""
    return msgspec.structs.replace(NodePool(name, weight), **fields)


def cluster(
    *pods: Pod,
    pools: tuple[NodePool, ...] = (NodePool("pool"),),
    kinds: tuple[InstanceType, ...] = (),
    **fields: Any,
) -> Snapshot:
    """Waiting pods, pools, and the same instance types for every pool."""
    types = {one.name: kinds or (kind(),) for one in pools}
    given: dict[str, Any] = {"instance_types": types, **fields}
    return Snapshot(pods=pods, node_pools=pools, **given)


def launch(*pods: Pod, name: str = "new-1", **fields: Any) -> Launch:
    """A node of the default type in the default pool for these pods."""
    total: dict[str, int] = {}
    for one in pods:
        for resource, amount in one.spec.requests.items():
            total[resource] = total.get(resource, 0) + amount
    given: dict[str, Any] = {
        "node_pool": "pool",
        "instance_type": "m",
        "zone": "a",
        "capacity_type": labels.ON_DEMAND,
        "price_nanousd": 100,
        "instance_types": ("m",),
        "requests": total,
        "pods": tuple(one.key for one in pods),
        **fields,
    }
    fixed = {
        labels.ZONE: str(given["zone"]),
        labels.CAPACITY_TYPE: str(given["capacity_type"]),
        labels.INSTANCE_TYPE: str(given["instance_type"]),
    }
    more: dict[str, str] = given.pop("labels", {})
    return Launch(name=name, labels={**fixed, **more}, **given)


def plan(
    *launches: Launch, nominate: dict[str, list[Pod]] | None = None, waits: tuple[Pod, ...] = ()
) -> Plan:
    """A plan of these launches and nominations; its price is their sum, its bound nothing."""
    nominations = tuple(
        Nominate(node, tuple(one.key for one in pods)) for node, pods in (nominate or {}).items()
    )
    order = [key for one in nominations for key in one.pods]
    order += [key for one in launches for key in one.pods]
    return Plan(
        launches=launches,
        nominations=nominations,
        unschedulable=tuple(Unschedulable(one.key, "It waits.") for one in waits),
        cost=Cost(new_nanousd=sum(one.price_nanousd for one in launches)),
        binding_order=tuple(order),
    )
