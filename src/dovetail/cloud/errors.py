"""Defines the errors of a cloud. Each is one way in which the caller has to react."""

from __future__ import annotations

import msgspec

from dovetail.errors import DovetailError


class SoldOut(msgspec.Struct, frozen=True, gc=False, order=True):
    """An offering that was asked for and could not be had."""

    instance_type: str
    zone: str
    capacity_type: str

    def __str__(self) -> str:
        return f"{self.instance_type} {self.capacity_type} in {self.zone}"


class CloudError(DovetailError):
    """A cloud did not do what it was asked. Raised as such, it could not be asked just now:
    nothing is known, and the same call is made again later.
    """


class NodeClaimNotFoundError(CloudError):
    """There is no such instance (any more): a deletion is complete."""


class InsufficientCapacityError(CloudError):
    """Nothing that was asked for can be had now. The claim goes; its pods are planned for again,
    without what is `sold_out`.
    """

    def __init__(self, message: str, *, sold_out: tuple[SoldOut, ...] = ()) -> None:
        super().__init__(message)
        self.sold_out = sold_out


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
