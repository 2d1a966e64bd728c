"""Takes over the nodes and pods that are there at the beginning.

Pods of one owner are a workload that keeps its number, or follows the demand that names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from dovetail.model.pod import Pod
from dovetail.model.snapshot import DisruptionBudget
from dovetail.sim.demand import AppDemand
from dovetail.sim.fast.binding import Binder
from dovetail.sim.fast.cluster import DAEMON, FastCluster
from dovetail.sim.fast.crews import Crew


def adopt_pods(cluster: FastCluster, binder: Binder, crews: Mapping[str, Crew]) -> None:
    """Give every pod to whoever keeps it: one of the crews, by "namespace/name", or a new one."""
    by_owner: dict[str, list[Pod]] = {}
    for pod in cluster.given.pods:
        if not pod.is_terminal and not pod.is_mirror and not pod.is_virtual:
            by_owner.setdefault(_owner(pod), []).append(pod)
    for pods in by_owner.values():
        crew = crews.get(name_of(pods[0]))
        if crew is None:
            crew = Crew(workload_of(pods[0], cluster.given.disruption_budgets), cluster)
        _adopt(pods, crew, cluster, binder)


def _adopt(pods: Iterable[Pod], crew: Crew, cluster: FastCluster, binder: Binder) -> None:
    own = []
    for pod in pods:
        cluster.figures.n_pods += 1
        cluster.keepers[pod.key] = DAEMON if pod.is_daemon else crew
        if pod.deleting_at is not None:
            cluster.agenda.at(pod.deleting_at, partial(cluster.part, pod.key, pod.uid))
        elif not pod.is_daemon:
            own.append(pod)
        if pod.node_name:
            cluster.settle(pod)
        else:
            cluster.figures.n_waiting += 1
            cluster.pods[pod.key] = pod
            binder.add(pod)
    if own:
        crew.adopt(own)


def name_of(pod: Pod) -> str:
    """Whose pod it is, as "namespace/name"; a pod that nobody makes again by its own name."""
    return pod.workload.partition("/")[2] or pod.key


def workload_of(first: Pod, budgets: Iterable[DisruptionBudget]) -> AppDemand:
    """The workload of a pod, as far as the pod tells; it says nothing of how many there are."""
    guard = next((budget for budget in budgets if _guards(budget, first)), None)
    owner = first.owner
    return AppDemand(
        name=owner.name if owner else first.name,
        namespace=first.namespace,
        spec=first.spec,
        labels=first.labels,
        annotations=first.annotations,
        replicas=(),
        is_stateful=owner is not None and owner.kind == "StatefulSet",
        guard=guard.max_unavailable if guard is not None else "",
        least=guard.min_available if guard is not None else "",
        guard_name=guard.name if guard is not None else "",
    )


def _guards(budget: DisruptionBudget, pod: Pod) -> bool:
    return budget.namespace == pod.namespace and budget.selector.matches(pod.labels)


def _owner(pod: Pod) -> str:
    if pod.is_daemon:
        return f"DaemonSet/{pod.namespace}"
    return pod.workload or pod.key
