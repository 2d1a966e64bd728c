"""Reads facts of the cluster: the version of Kubernetes and the addresses of Services."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from dovetail.clock import Clock
from dovetail.kube.errors import ApiError
from dovetail.providers.aws.calls import CallFailedError, Failure, calling, required
from dovetail.providers.aws.expiring_cache import ExpiringCache
from dovetail.providers.aws.images.aliases import NEWEST_MINOR, OLDEST_MINOR, minor_of
from dovetail.providers.aws.settings import AwsSettings

if TYPE_CHECKING:
    from types_aiobotocore_eks import EKSClient
    from types_aiobotocore_eks.type_defs import ClusterTypeDef

DiscoverVersion = Callable[[], Awaitable[str]]  # gitVersion of the API server: `v1.35.2`
_ACTION: Final = "eks:DescribeCluster"
_VERSION_KEPT_FOR: Final = timedelta(minutes=5)


class ClusterFacts:
    """What nodes must know of their cluster. Without `discover`, EKS is asked for the version."""

    def __init__(
        self,
        eks: EKSClient,
        settings: AwsSettings,
        *,
        clock: Clock,
        discover: DiscoverVersion | None = None,
    ) -> None:
        self._eks = eks
        self._settings = settings
        self._discover = None if settings.eks_control_plane else discover
        self._versions: ExpiringCache[str, str] = ExpiringCache(clock)
        self._service_cidr = ""
        self._reading = asyncio.Lock()

    async def kubernetes_version(self) -> str:
        """Major and minor version, such as `1.35`."""
        kept = self._versions.get("")
        if kept is not None:
            return kept
        if self._discover is not None:
            discovered = await _discover(self._discover)
        else:
            discovered = required((await self._cluster()).get("version"), _ACTION)
        version = f"1.{minor_of(discovered)}"
        self._versions.put("", version, keep_for=_VERSION_KEPT_FOR)
        return version

    async def service_cidr(self) -> str:
        """The addresses of Services, which never change; empty if EKS does not tell.

        A thousand launches at once ask once.
        """
        async with self._reading:
            if not self._service_cidr:
                network = (await self._cluster()).get("kubernetesNetworkConfig", {})
                ipv4, ipv6 = network.get("serviceIpv4Cidr", ""), network.get("serviceIpv6Cidr", "")
                self._service_cidr = ipv6 if network.get("ipFamily") == "ipv6" else ipv4 or ipv6
        return self._service_cidr

    async def _cluster(self) -> ClusterTypeDef:
        with calling(_ACTION):
            answer = await self._eks.describe_cluster(name=self._settings.cluster_name)
        return required(answer.get("cluster"), _ACTION)


async def _discover(discover: DiscoverVersion) -> str:
    try:
        return await discover()
    except ApiError as error:
        action = "GET /version of the API server"
        raise CallFailedError(action, error.reason, str(error), Failure.UNAVAILABLE) from error


def unsupported_version(version: str) -> str:
    """Why this version of Kubernetes is not supported; empty if it is."""
    if OLDEST_MINOR <= minor_of(version) <= NEWEST_MINOR:
        return ""
    return f"Kubernetes {version} is not supported: expected 1.{OLDEST_MINOR} to 1.{NEWEST_MINOR}"
