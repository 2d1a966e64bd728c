"""Converts PodDisruptionBudgets, with how many evictions they allow.

A budget from a cluster carries that count in its status; for one that was never there it is
worked out from the pods that it selects.
"""

from __future__ import annotations

from collections.abc import Sequence

from dovetail import api
from dovetail.decide.pdbs import share
from dovetail.model.pod import Pod
from dovetail.model.snapshot import DisruptionBudget
from dovetail.state.conversions import label_selector
from dovetail.state.shelf import Inventory, namespace_of


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
