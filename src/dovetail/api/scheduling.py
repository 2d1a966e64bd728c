"""What does the scheduling group store? Priorities with names."""

from __future__ import annotations

from dovetail.api.meta import Object


class PriorityClass(Object, frozen=True):
    """A priority with a name."""

    value: int = 0
    global_default: bool = False
    preemption_policy: str = ""
