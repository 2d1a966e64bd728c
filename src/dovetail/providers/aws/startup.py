"""Completes the settings at the start: the region, and how nodes reach the API server."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from typing import TYPE_CHECKING

import msgspec
from aiobotocore.session import get_session
from botocore.utils import InstanceMetadataRegionFetcher

from dovetail.errors import InputError
from dovetail.providers.aws.calls import CallFailedError, calling, required
from dovetail.providers.aws.settings import AwsSettings, check_settings

if TYPE_CHECKING:
    from types_aiobotocore_eks import EKSClient


async def region_of(settings: AwsSettings) -> str:
    """The region: that of the settings, of AWS_REGION or the profile, or of this instance.

    Raises InputError if none of them names one.
    """
    configured = settings.region or get_session().get_config_variable("region")
    region = configured or await asyncio.to_thread(_own_region)
    if not region:
        msg = "the region is unknown: set AWS_REGION, or run on an instance with a metadata service"
        raise InputError(msg)
    return str(region)


def _own_region() -> str | None:
    region: str | None = InstanceMetadataRegionFetcher(timeout=1, num_attempts=2).retrieve_region()
    return region


async def with_cluster(
    settings: AwsSettings, eks: EKSClient, *, api_authority: bytes = b""
) -> AwsSettings:
    """The settings with endpoint and CA bundle, where they are not set.

    The bundle is the one that the controller itself verifies the API server with, byte for byte:
    it takes part in the hash of node classes, and the reference takes it from there as well. EKS is
    asked for what is still missing. Raises InputError if it does not tell.
    """
    check_settings(settings)
    if api_authority and not settings.cluster_ca_bundle:
        bundle = b64encode(api_authority).decode()
        settings = msgspec.structs.replace(settings, cluster_ca_bundle=bundle)
    if settings.cluster_endpoint and settings.cluster_ca_bundle:
        return settings
    try:
        with calling("eks:DescribeCluster"):
            answer = await eks.describe_cluster(name=settings.cluster_name)
        cluster = required(answer.get("cluster"), "eks:DescribeCluster")
    except CallFailedError as error:
        msg = (
            f"reading cluster {settings.cluster_name}: {error}; "
            "or set --cluster-endpoint and --cluster-ca-bundle"
        )
        raise InputError(msg) from error
    authority = cluster.get("certificateAuthority", {}).get("data", "")
    return msgspec.structs.replace(
        settings,
        cluster_endpoint=settings.cluster_endpoint or cluster.get("endpoint", ""),
        cluster_ca_bundle=settings.cluster_ca_bundle or authority,
    )
