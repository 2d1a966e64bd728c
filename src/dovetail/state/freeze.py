"""Makes a Snapshot of a whole cluster from scratch.

A budget from a cluster carries in its status how many evictions it allows; for one that was never
there that is worked out from the pods that it selects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from dovetail import api
from dovetail.decide.pdbs import share
from dovetail.model.instance import InstanceType
from dovetail.model.pod import Pod
from dovetail.model.policy import Policy
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import DisruptionBudget, Service, Snapshot
from dovetail.state.buffers import buffer_pods
from dovetail.state.conversions import label_selector
from dovetail.state.nodes import nodes
from dovetail.state.objects import node_pool
from dovetail.state.pods import in_order, is_beside_the_point, listed_pod, live_pod
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


def disruption_budgets(inventory: Inventory, pods: Sequence[Pod]) -> tuple[DisruptionBudget, ...]:
    """Every budget, with what it allows now."""
    by_namespace: dict[str, list[Pod]] = {}
    for pod in pods:
        if not pod.is_terminal:
            by_namespace.setdefault(pod.namespace, []).append(pod)
    return tuple(
        disruption_budget(budget, by_namespace.get(namespace_of(budget), []))
        for budget in inventory.all(api.PodDisruptionBudget)
    )


def disruption_budget(wire: api.PodDisruptionBudget, pods: Sequence[Pod] = ()) -> DisruptionBudget:
    """A budget; `pods` are those of its namespace, to be counted if its controller has not."""
    selector = label_selector(wire.spec.selector)
    if wire.status is None:
        selected = [pod for pod in pods if selector.matches(pod.labels)]
        allowed, n_expected = _n_allowed(wire, selected), len(selected)
    else:
        allowed, n_expected = wire.status.disruptions_allowed, wire.status.expected_pods
    return DisruptionBudget(
        name=wire.metadata.name,
        namespace=namespace_of(wire),
        selector=selector,
        disruptions_allowed=allowed,
        min_available=_text(wire.spec.min_available),
        max_unavailable=_text(wire.spec.max_unavailable),
        always_allows_unhealthy=wire.spec.unhealthy_pod_eviction_policy == "AlwaysAllow",
        expected_pods=n_expected,
    )


def _text(stated: int | str | None) -> str:
    return "" if stated is None else str(stated)


def _n_allowed(wire: api.PodDisruptionBudget, selected: Sequence[Pod]) -> int:
    n_healthy = sum(
        bool(pod.node_name) and pod.is_ready and not pod.deleting_at for pod in selected
    )
    if wire.spec.max_unavailable is not None:
        n_wanted = len(selected) - share(_text(wire.spec.max_unavailable), len(selected))
    else:
        n_wanted = share(_text(wire.spec.min_available), len(selected))
    return max(0, n_healthy - n_wanted)
