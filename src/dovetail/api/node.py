"""What do node.k8s.io and scheduling.k8s.io store? Classes that pods name."""

from __future__ import annotations

from dovetail.api.meta import (
    NO_LABELS,
    NO_RESOURCES,
    Object,
    ResourceList,
    Wire,
)
from dovetail.api.parts import Toleration


class RuntimeOverhead(Wire, frozen=True):
    """What a runtime takes for itself, for each pod."""

    pod_fixed: ResourceList = NO_RESOURCES


class RuntimeScheduling(Wire, frozen=True):
    """Where a runtime can be found."""

    node_selector: dict[str, str] = NO_LABELS
    tolerations: tuple[Toleration, ...] = ()


class RuntimeClass(Object, frozen=True):
    """A way to run containers."""

    handler: str = ""
    overhead: RuntimeOverhead = RuntimeOverhead()
    scheduling: RuntimeScheduling = RuntimeScheduling()


class PriorityClass(Object, frozen=True):
    """A priority with a name."""

    value: int = 0
    global_default: bool = False
    preemption_policy: str = ""
