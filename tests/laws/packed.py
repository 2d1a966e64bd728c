"""Clusters in which every node runs something: what a careless packer leaves behind.

Pods of a few templates, some of them tied to each other, stand on random nodes where they are
allowed to; all nodes are quiet, and dearer than they need be.
"""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any, Final

import msgspec

from dovetail.model.instance import InstanceType
from dovetail.model.plan import DisruptionReason
from dovetail.model.pod import Pod
from dovetail.model.policy import Policy
from dovetail.model.resources import CPU, MEMORY
from dovetail.model.snapshot import Snapshot
from dovetail.testing import deployment, instance_type, node, node_pool, snapshot

ZONES: Final = "abc"
POLICY: Final = Policy(
    disrupts_for=tuple(DisruptionReason),
    confirm_after=timedelta(0),
    replaces_spot_by_spot=True,
)
_TIES: Final[tuple[dict[str, Any], ...]] = (
    {},
    {},
    {},
    {"spread": [{"topology_key": "zone"}]},
    {"node_selector": {"zone": "a"}},
    {"anti_affinity": [{"topology_key": "hostname"}]},
)


def types() -> tuple[InstanceType, ...]:
    """Machines of two shapes in four sizes; the larger ones are a little dearer for their size."""
    return tuple(
        instance_type(
            f"{family}-{cpu}",
            cpu=cpu,
            memory=f"{cpu * memory}Gi",
            price=round(cpu * (0.02 + 0.006 * memory) + cpu * cpu / 1000, 4),
            spot=round(cpu * (0.008 + 0.002 * memory), 4),
        )
        for family, memory in (("c", 2), ("m", 4))
        for cpu in (2, 4, 8, 16)
    )


def packed(chance: Random, n_nodes: int, n_templates: int, *, budget: str = "100%") -> Snapshot:
    """So many nodes, with what fits of so many templates."""
    sold = types()
    nodes = [
        node(
            f"n{number:04}",
            pool="default",
            type=chance.choice(sold[1:]).name,
            types=sold,
            zone=ZONES[number % 3],
            capacity_type=chance.choice(("on-demand", "on-demand", "spot")),
            is_consolidatable=True,
        )
        for number in range(n_nodes)
    ]
    room = {one.name: [one.allocatable[CPU], one.allocatable[MEMORY]] for one in nodes}
    zone_of = {one.name: one.zone for one in nodes}
    pods = [
        pod
        for number in range(n_templates)
        for pod in _bound(chance, _template(chance, number), room, zone_of)
    ]
    made = snapshot(
        nodes=nodes, node_pools=[node_pool(budgets=[{"nodes": budget}])], types=sold, pods=pods
    )
    return msgspec.structs.replace(made, policy=POLICY)


def _template(chance: Random, number: int) -> tuple[Pod, ...]:
    return deployment(
        chance.randint(1, 8),
        f"app{number}",
        cpu=f"{chance.choice((100, 250, 500, 750, 1000, 1500))}m",
        memory=f"{chance.choice((256, 512, 1024, 2048))}Mi",
        labels={"app": f"app{number}"},
        owner=f"ReplicaSet/app{number}",
        **chance.choice(_TIES),
    )


def _bound(
    chance: Random, pods: tuple[Pod, ...], room: dict[str, list[int]], zone_of: dict[str, str]
) -> list[Pod]:
    """Those that find a node that is right for them within a few tries."""
    found: list[Pod] = []
    for pod in pods:
        for name in chance.sample(sorted(room), k=min(5, len(room))):
            asked = pod.spec.requests
            fits = asked[CPU] <= room[name][0] and asked[MEMORY] <= room[name][1]
            if fits and _is_allowed(pod, name, found, zone_of):
                room[name][0] -= asked[CPU]
                room[name][1] -= asked[MEMORY]
                found.append(msgspec.structs.replace(pod, node_name=name, phase="Running"))
                break
    return found


def _is_allowed(pod: Pod, name: str, there: list[Pod], zone_of: dict[str, str]) -> bool:
    if pod.spec.node_selector and zone_of[name] not in pod.spec.node_selector.values():
        return False
    if pod.spec.anti_affinity:
        return all(one.node_name != name for one in there)
    if pod.spec.spread:  # in turn, so that no zone is ahead by more than one
        return zone_of[name] == ZONES[len(there) % 3]
    return True
