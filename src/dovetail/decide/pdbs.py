"""Says which PodDisruptionBudgets select a pod, and whether one of them never allows its eviction.

A budget that wants as many pods available as there should be allows no eviction, now or later,
whether it says so outright (`maxUnavailable: 0`) or by numbers (`minAvailable: 1` of one replica).
Nobody waits for such a budget, and no room is made for pods that it keeps where they are. Budgets
are looked up by a label value that they name; the few that name none are asked one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Generic, TypeVar

from dovetail.decide.nodes import with_memory
from dovetail.model.pod import Pod
from dovetail.model.snapshot import DisruptionBudget
from dovetail.model.topology import LabelSelector

_NOTHING_ALLOWED: Final = frozenset({"0", "0%"})
_EVERYTHING_NEEDED: Final = "100%"
_NONE: Final[tuple[DisruptionBudget, ...]] = ()
T = TypeVar("T")
_Listed = tuple[int, LabelSelector | None, T]  # None: found by all that it asks


class Selectors(Generic[T]):
    """Things with a selector each, found by labels, in the order in which they were given."""

    def __init__(self, given: Iterable[tuple[LabelSelector, T]]) -> None:
        self._by_label: dict[tuple[str, str], list[_Listed[T]]] = {}
        self._keys: dict[str, None] = {}
        self._others: list[_Listed[T]] = []
        for number, (selector, item) in enumerate(given):
            if not selector.nothing:
                self._add(number, selector, item)

    def _add(self, number: int, selector: LabelSelector, item: T) -> None:
        named = (item for item in selector.expressions if item.values and not item.complement)
        first = next(named, None)
        if first is None:
            self._others.append((number, selector, item))
            return
        self._keys[first.key] = None
        rest = selector if len(selector.expressions) > 1 else None
        for value in first.values:
            self._by_label.setdefault((first.key, value), []).append((number, rest, item))

    def matches(self, labels_by_key: Mapping[str, str]) -> list[T]:
        """The things whose selector means an object with these labels."""
        likely = list(self._others)
        for key in self._keys:
            value = labels_by_key.get(key)
            if value is not None:
                likely += self._by_label.get((key, value), ())
        if not likely:
            return []
        matches = [entry for entry in likely if entry[1] is None or entry[1].matches(labels_by_key)]
        if len(matches) > 1:
            matches.sort(key=lambda entry: entry[0])
        return [item for _, _, item in matches]


def pdbs_of(pod: Pod, budgets: tuple[DisruptionBudget, ...]) -> tuple[DisruptionBudget, ...]:
    """The budgets that are about this pod, by name."""
    selectors = _by_namespace(budgets).get(pod.namespace)
    return tuple(selectors.matches(pod.labels)) if selectors is not None else _NONE


def is_kept_for_ever(pod: Pod, budgets: tuple[DisruptionBudget, ...]) -> bool:
    """Whether the pod cannot be evicted at all: two budgets, or one that never allows it."""
    about = [budget for budget in pdbs_of(pod, budgets) if not lets_unhealthy_go(budget, pod)]
    return len(about) > 1 or any(never_allows(budget) for budget in about)


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


@with_memory
def _by_namespace(
    budgets: tuple[DisruptionBudget, ...],
) -> Mapping[str, Selectors[DisruptionBudget]]:
    by_namespace: dict[str, list[DisruptionBudget]] = {}
    for budget in sorted(budgets, key=lambda budget: budget.name):
        by_namespace.setdefault(budget.namespace, []).append(budget)
    return {
        namespace: Selectors((budget.selector, budget) for budget in pdbs)
        for namespace, pdbs in by_namespace.items()
    }
