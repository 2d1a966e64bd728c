"""Which pods may be given up before others of their kind, where a workload shrinks?

Those of nodes that are to empty (`discouraged.py`), as far as nobody else has a say in it: only
ReplicaSets ask what pods cost, owners who have set a cost know better, and pods that ask to be
spread over nodes would end up together.
"""

from __future__ import annotations

from dovetail import labels
from dovetail.decide.lifecycle.protection import is_active
from dovetail.model.pod import Pod


def may_yield(pod: Pod) -> bool:
    """Whether it may say that it costs less than others."""
    is_asked = pod.owner is not None and pod.owner.kind == "ReplicaSet"
    return is_asked and is_active(pod) and not _has_spoken(pod) and not _is_spread(pod)


def _has_spoken(pod: Pod) -> bool:
    """Whether its owner says what it costs."""
    return labels.DELETION_COST in pod.annotations


def _is_spread(pod: Pod) -> bool:
    spec = pod.spec
    apart = (*spec.anti_affinity, *(term for _, term in spec.preferred_anti_affinity))
    keys = (*(one.topology_key for one in spec.spread), *(one.topology_key for one in apart))
    return labels.HOSTNAME in keys
