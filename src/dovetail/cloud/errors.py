"""What can a cloud refuse? Each error is one way in which the caller has to react."""

from __future__ import annotations

from dovetail.errors import DovetailError


class CloudError(DovetailError):
    """A cloud did not do what it was asked."""


class NodeClaimNotFoundError(CloudError):
    """There is no such instance (any more): a deletion is complete."""


class InsufficientCapacityError(CloudError):
    """Nothing that was asked for can be had now. The claim goes; its pods are planned for again."""


class NodeClassNotReadyError(CloudError):
    """The node class cannot be launched with yet. The claim goes."""


class CreateError(CloudError):
    """A launch failed otherwise. The claim stays, says why, and is tried until its time is up."""

    def __init__(self, message: str, *, condition_reason: str, condition_message: str = "") -> None:
        super().__init__(message)
        self.condition_reason = condition_reason
        self.condition_message = condition_message or message


class UnevaluatedNodePoolError(CloudError):
    """The overlays have yet to be worked out for this pool: leave it out for now."""

    def __init__(self, node_pool: str) -> None:
        super().__init__(f"node pool {node_pool}: overlays have not been evaluated yet")
        self.node_pool = node_pool
