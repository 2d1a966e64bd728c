"""Which pods may be nominated to their node without keeping others out?

kube-scheduler counts a node's nominated pods as if they ran there, but only for that node. Where a
hard spread counts many of them, one zone seems full while the others, whose nominated pods are not
counted, seem empty, and no pod of the group can be bound anywhere. As many as its maxSkew allows
never seem too many. So of pods that a hard spread counts each node gets that many at a time; the
others are left to the scheduler, which spreads them itself, or follow when those are bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dovetail.model.pod import Pod
from dovetail.model.topology import LabelSelector

_Counted = tuple[str, LabelSelector]  # the namespace, and who is counted there


class Steerable:
    """Tells who may be nominated, given the pods that wait."""

    def __init__(self, waiting: Iterable[Pod] = ()) -> None:
        self._most: dict[_Counted, int] = {}  # at once, for one node
        seen: set[tuple[str, int]] = set()
        for pod in waiting:
            template = (pod.namespace, id(pod.spec))
            if template in seen:
                continue
            seen.add(template)
            for one in pod.spec.spread:
                if one.is_hard:
                    key = (pod.namespace, one.selector)
                    self._most[key] = min(self._most.get(key, one.max_skew), one.max_skew)

    def is_counted(self, pod: Pod) -> bool:
        """Whether anybody's hard spread counts this pod."""
        return bool(self._counting(pod))

    def chosen(self, pods: Iterable[Pod], told: Iterable[Pod] = ()) -> list[Pod]:
        """Of pods that are meant for one node, those that may be nominated beside the ones that it
        was told of already.
        """
        n_told: Counter[_Counted] = Counter()
        for pod in told:
            n_told.update(self._counting(pod))
        found = []
        for pod in pods:
            counting = self._counting(pod)
            if all(n_told[one] < self._most[one] for one in counting):
                n_told.update(counting)
                found.append(pod)
        return found

    def _counting(self, pod: Pod) -> list[_Counted]:
        return [
            (namespace, selector)
            for namespace, selector in self._most
            if pod.namespace == namespace and selector.matches(pod.labels)
        ]
