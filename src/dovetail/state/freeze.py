"""Makes a Snapshot of a whole cluster from scratch."""

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
from dovetail.state.nodes import nodes
from dovetail.state.objects import node_pool
from dovetail.state.pods import in_order, is_beside_the_point, listed_pod, live_pod
from dovetail.state.protection import disruption_budgets
from dovetail.state.shelf import Inventory, namespace_of
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
    is_live: bool = False,
) -> Snapshot:
    """The cluster that these objects describe. `instance_types` says what a pool could launch.

    Live, an API has said all there is: workloads do not stand for pods, nor pods for claims or
    namespaces, and a pod waits once kube-scheduler has found no place for it. This is the slow
    twin of `cluster.Cluster`, which remembers.
    """
    inventory = Inventory(objects)
    templates = Templates(
        priority_classes=inventory.all(api.PriorityClass),
        runtime_classes=inventory.all(api.RuntimeClass),
        limit_ranges=inventory.by_namespace(api.LimitRange),
    )
    claims = Claims(inventory)
    pods = _live_pods(inventory, templates) if is_live else _pods(inventory, templates, claims)
    pools = tuple(node_pool(item) for item in inventory.all(api.NodePool))
    types = {pool.name: instance_types(pool) for pool in pools}
    return Snapshot(
        pods=pods,
        nodes=nodes(inventory, types, is_live=is_live),
        node_pools=pools,
        instance_types=types,
        daemon_sets=daemon_sets(inventory, templates),
        volume_claims=claims.sorted(),
        volumes={item.metadata.name: volume(item) for item in inventory.all(api.PersistentVolume)},
        storage_classes={
            item.metadata.name: storage_class(item) for item in inventory.all(api.StorageClass)
        },
        namespaces=inventory.namespaces(is_live=is_live),
        services=tuple(filter(None, map(service, inventory.all(api.Service)))),
        owner_selectors=owner_selectors(inventory),
        disruption_budgets=disruption_budgets(inventory, () if is_live else pods),
        policy=policy,
        revision=revision,
    )


def _pods(inventory: Inventory, templates: Templates, claims: Claims) -> tuple[Pod, ...]:
    """Listed pods, pods that workloads lack, and pods that buffers keep room for."""
    listed = inventory.all(api.Pod)
    expect_claims_of_listed(inventory, listed, claims)
    pods = [listed_pod(item, templates) for item in listed]
    pods = [pod for pod in pods if not is_beside_the_point(pod)]
    pods += made_pods(inventory, listed, templates, claims)
    pods += buffer_pods(inventory, templates)
    return in_order(pods)


def _live_pods(inventory: Inventory, templates: Templates) -> tuple[Pod, ...]:
    """Pods that the API lists, and pods that buffers keep room for."""
    pods = [live_pod(item, templates) for item in inventory.all(api.Pod)]
    kept = [pod for pod in pods if pod is not None]
    return in_order((*kept, *buffer_pods(inventory, templates)))


def service(wire: api.Service) -> Service | None:
    """A Service, if it selects pods at all."""
    if not wire.spec.selector:
        return None
    return Service(wire.metadata.name, namespace_of(wire), wire.spec.selector)
