"""What does it cost the cluster to move pods? (spec/core.md 6.2)

Counted in parts of an ordinary pod, as a whole number: a node is one, and each pod that moves is
one more, or less by its priority and by the deletion cost that it states.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dovetail.model.pod import Pod

ONE: Final = 2**27  # an ordinary pod
DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_MOST: Final = 10 * ONE
_PER_PRIORITY: Final = 4  # 2**27 / 2**25
_LARGEST: Final = 2**31 - 1


def moving_cost(pods: Iterable[Pod]) -> int:
    """What it costs to take away a node from which these pods move."""
    return ONE + sum(max(0, eviction_cost(pod)) for pod in pods)


def eviction_cost(pod: Pod) -> int:
    """What it costs to evict one pod; less than nothing if it would rather go than others."""
    cost = ONE + _deletion_cost(pod) + _PER_PRIORITY * pod.spec.priority
    return max(-_MOST, min(_MOST, cost))


def _deletion_cost(pod: Pod) -> int:
    stated = pod.annotations.get(DELETION_COST, "")
    try:
        found = int(stated)
    except ValueError:
        return 0
    return found if -_LARGEST - 1 <= found <= _LARGEST else 0
