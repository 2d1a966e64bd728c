"""Facts of the cluster."""

from __future__ import annotations

import pytest

from dovetail.providers.aws.cluster import unsupported_version


@pytest.mark.parametrize(
    ("version", "is_supported"),
    [("1.25", False), ("1.26", True), ("1.36", True), ("1.37", False)],
)
def test_versions_of_kubernetes_from_1_26_to_1_36_are_supported(
    version: str,
    is_supported: bool,  # noqa: FBT001  a column of the table
) -> None:
    """Others have no images."""
    assert (unsupported_version(version) == "") == is_supported
