"""Facts of the cluster."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.kube.errors import UnavailableError
from dovetail.providers.aws.calls import CallFailedError, Failure
from dovetail.providers.aws.cluster import ClusterFacts, unsupported_version
from dovetail.providers.aws.settings import AwsSettings
from dovetail.testing.virtual_time import VirtualTime


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


class Eks:
    """An EKS that answers with one cluster."""

    def __init__(self, **cluster: str) -> None:
        self.cluster = cluster

    async def describe_cluster(self, *, name: str) -> dict[str, Any]:
        """The cluster."""
        return {"cluster": {"name": name, **self.cluster}}


def facts(eks: Any, *, is_eks: bool, answer: str | Exception = "v1.31.4-k3s1") -> ClusterFacts:
    """Facts of a cluster whose API server answers like this."""

    async def discover() -> str:
        if isinstance(answer, Exception):
            raise answer
        return answer

    settings = AwsSettings(cluster_name="prod", eks_control_plane=is_eks)
    return ClusterFacts(eks, settings, clock=VirtualTime(), discover=discover)


@pytest.mark.parametrize(("is_eks", "want"), [(False, "1.31"), (True, "1.35")])
async def test_the_version_is_that_of_the_api_server_unless_eks_runs_it(
    is_eks: bool,  # noqa: FBT001  a column of the table
    want: str,
) -> None:
    """EKS tells the version that it upgrades to."""
    assert await facts(Eks(version="1.35"), is_eks=is_eks).kubernetes_version() == want


async def test_an_api_server_that_cannot_be_asked_is_a_failed_call() -> None:
    """It is asked again."""
    error = UnavailableError(503, "ServiceUnavailable", "etcd is away")
    with pytest.raises(CallFailedError, match="GET /version of the API server failed") as failed:
        await facts(Eks(), is_eks=False, answer=error).kubernetes_version()
    assert failed.value.failure is Failure.UNAVAILABLE


async def test_a_cluster_without_a_version_is_no_answer() -> None:
    """It would be taken for a version without images."""
    with pytest.raises(CallFailedError, match="the answer is incomplete"):
        await facts(Eks(), is_eks=True).kubernetes_version()
