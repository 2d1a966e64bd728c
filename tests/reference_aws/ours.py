"""Turns a question to the reference into inputs of our own provider."""

from __future__ import annotations

from decimal import Decimal

from dovetail.providers.aws.settings import AwsSettings
from tests.reference_aws.reference import REGION, Tree


def settings(asked: Tree) -> AwsSettings:
    """Our settings with the same meaning."""
    given = asked["Settings"]
    return AwsSettings(
        cluster_name=given["ClusterName"],
        cluster_endpoint=given["ClusterEndpoint"],
        region=REGION,
        vm_memory_overhead_percent=Decimal(str(given["VMMemoryOverheadPercent"])),
        reserved_enis=given["ReservedENIs"],
    )
