"""The cloud provider protocol and its errors."""

from __future__ import annotations

from dovetail.cloud.errors import CreateError, UnevaluatedNodePoolError
from dovetail.errors import DovetailError


def test_a_failed_launch_carries_the_condition_to_set() -> None:
    """The condition says what the error says, unless told otherwise."""
    plain = CreateError("launching a-1: no subnet", condition_reason="LaunchFailed")
    spoken = CreateError("x", condition_reason="Unauthorized", condition_message="not allowed")
    assert (plain.condition_reason, plain.condition_message) == (
        "LaunchFailed",
        "launching a-1: no subnet",
    )
    assert spoken.condition_message == "not allowed"


def test_a_pool_without_evaluated_overlays_is_named() -> None:
    """So that the caller can leave it out."""
    error = UnevaluatedNodePoolError("default")
    assert isinstance(error, DovetailError)
    assert error.node_pool == "default"
    assert "default" in str(error)
