"""What does the node group store? Container runtimes, with their overhead."""

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
