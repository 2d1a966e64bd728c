"""Which pods may be nominated to their node without keeping others out?

kube-scheduler counts a node's nominated pods as if they ran there, but only for that node. Where a
hard spread counts them, one zone seems full while the others, whose nominated pods are not counted,
seem empty, and no pod of the group can be bound anywhere. Pods that a hard spread counts are
therefore left to the scheduler, which spreads them itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from dovetail.model.pod import Pod, PodSpec
from dovetail.model.topology import LabelSelector

_Counted = tuple[str, LabelSelector]  # the namespace, and who is counted there


class Steerable:
    """Tells who may be nominated, given the pods that wait."""

    def __init__(self, waiting: Iterable[Pod] = ()) -> None:
        self._counted: dict[_Counted, None] = {}
        seen: set[tuple[str, int]] = set()
        for pod in waiting:
            template = (pod.namespace, id(pod.spec))
            if template not in seen:
                seen.add(template)
                for selector in _hard_selectors(pod.spec):
                    self._counted[pod.namespace, selector] = None

    def admits(self, pod: Pod) -> bool:
        """Whether nobody's hard spread counts this pod."""
        return not any(
            pod.namespace == namespace and selector.matches(pod.labels)
            for namespace, selector in self._counted
        )


def _hard_selectors(spec: PodSpec) -> Iterable[LabelSelector]:
    return (one.selector for one in spec.spread if one.is_hard)
