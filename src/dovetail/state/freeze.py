"""What does the next decision see? The whole cluster as one frozen Snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from dovetail import api
from dovetail.model.instance import InstanceType
from dovetail.model.pod import Pod
from dovetail.model.policy import Policy
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Service, Snapshot
from dovetail.state.buffers import buffer_pods
from dovetail.state.inventory import Inventory, namespace_of
from dovetail.state.nodes import nodes
from dovetail.state.pods import listed_pod
from dovetail.state.pools import node_pool
from dovetail.state.protection import disruption_budgets
from dovetail.state.specs import Templates
from dovetail.state.storage import Claims, storage_class, volume
from dovetail.state.workloads import (
    daemon_sets,
    expect_claims_of_listed,
    made_pods,
    owner_selectors,
)

TypesOfPool = Callable[[NodePool], tuple[InstanceType, ...]]
_DEFAULT_POLICY: Final = Policy()


def snapshot(
    objects: Iterable[api.Object],
    *,
    instance_types: TypesOfPool,
    policy: Policy = _DEFAULT_POLICY,
    revision: int = 1,
) -> Snapshot:
    """The cluster that these objects describe. `instance_types` says what a pool could launch."""
    inventory = Inventory(objects)
    templates = Templates(
        priority_classes=inventory.all(api.PriorityClass),
        runtime_classes=inventory.all(api.RuntimeClass),
        limit_ranges=inventory.by_namespace(api.LimitRange),
    )
    claims = Claims(inventory)
    pods = _pods(inventory, templates, claims)
    pools = tuple(node_pool(one) for one in inventory.all(api.NodePool))
    types = {pool.name: instance_types(pool) for pool in pools}
    return Snapshot(
        pods=pods,
        nodes=nodes(inventory, types),
        node_pools=pools,
        instance_types=types,
        daemon_sets=daemon_sets(inventory, templates),
        volume_claims=claims.sorted(),
        volumes={one.metadata.name: volume(one) for one in inventory.all(api.PersistentVolume)},
        storage_classes={
            one.metadata.name: storage_class(one) for one in inventory.all(api.StorageClass)
        },
        namespaces=inventory.namespaces(),
        services=_services(inventory),
        owner_selectors=owner_selectors(inventory),
        disruption_budgets=disruption_budgets(inventory, pods),
        policy=policy,
        revision=revision,
    )


def _pods(inventory: Inventory, templates: Templates, claims: Claims) -> tuple[Pod, ...]:
    """Listed pods, pods that workloads lack, and pods that buffers keep room for."""
    listed = inventory.all(api.Pod)
    expect_claims_of_listed(inventory, listed, claims)
    found = [listed_pod(one, templates) for one in listed]
    found = [pod for pod in found if not _is_beside_the_point(pod)]
    found += made_pods(inventory, listed, templates, claims)
    found += buffer_pods(inventory, templates)
    return tuple(sorted(found, key=lambda pod: (pod.namespace, pod.name)))


def _is_beside_the_point(pod: Pod) -> bool:
    """Whether it takes no room and waits for none: unbound, and over, leaving or tied to a node."""
    if pod.node_name:
        return False
    return pod.is_terminal or pod.deleting_at is not None or pod.is_daemon or pod.is_mirror


def _services(inventory: Inventory) -> tuple[Service, ...]:
    return tuple(
        Service(one.metadata.name, namespace_of(one), one.spec.selector)
        for one in inventory.all(api.Service)
        if one.spec.selector
    )
