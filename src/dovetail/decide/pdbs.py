"""What do PodDisruptionBudgets say of a pod? Which select it, and whether one never lets it go.

A budget that wants as many pods available as there should be allows no eviction, now or later,
whether it says so outright (`maxUnavailable: 0`) or by numbers (`minAvailable: 1` of one replica).
Nobody waits for such a budget, and no room is made for pods that it keeps where they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dovetail.decide.recall import recalled
from dovetail.decide.selectors import Selectors
from dovetail.model.pod import Pod
from dovetail.model.snapshot import DisruptionBudget

_NOTHING_ALLOWED: Final = frozenset({"0", "0%"})
_EVERYTHING_NEEDED: Final = "100%"
_NONE: Final[tuple[DisruptionBudget, ...]] = ()


def selecting(pod: Pod, budgets: tuple[DisruptionBudget, ...]) -> tuple[DisruptionBudget, ...]:
    """The budgets that are about this pod, by name."""
    found = _by_namespace(budgets).get(pod.namespace)
    return tuple(found.matching(pod.labels)) if found is not None else _NONE


def is_kept_for_ever(pod: Pod, budgets: tuple[DisruptionBudget, ...]) -> bool:
    """Whether the pod cannot be evicted at all: two budgets, or one that never allows it."""
    about = [one for one in selecting(pod, budgets) if not lets_unhealthy_go(one, pod)]
    return len(about) > 1 or any(never_allows(one) for one in about)


def lets_unhealthy_go(budget: DisruptionBudget, pod: Pod) -> bool:
    """Whether the pod is so unwell that the budget does not count it."""
    return budget.always_allows_unhealthy and not pod.is_ready


def never_allows(budget: DisruptionBudget) -> bool:
    """Whether the budget allows no eviction for as long as there should be as many pods."""
    if budget.max_unavailable in _NOTHING_ALLOWED or budget.min_available == _EVERYTHING_NEEDED:
        return True
    n_pods = budget.expected_pods
    return n_pods > 0 and share(budget.min_available, n_pods) >= n_pods


def share(stated: str, n_all: int) -> int:
    """A number, or a percentage of all, rounded up; what makes no sense is nothing."""
    percent = stated.removesuffix("%")
    if not percent.isdecimal():
        return 0
    return int(percent) if percent == stated else -(-n_all * int(percent) // 100)


@recalled
def _by_namespace(
    budgets: tuple[DisruptionBudget, ...],
) -> Mapping[str, Selectors[DisruptionBudget]]:
    found: dict[str, list[DisruptionBudget]] = {}
    for one in sorted(budgets, key=lambda one: one.name):
        found.setdefault(one.namespace, []).append(one)
    return {
        namespace: Selectors((one.selector, one) for one in held)
        for namespace, held in found.items()
    }
