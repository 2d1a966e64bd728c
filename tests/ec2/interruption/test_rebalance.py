"""A node that EC2 recommends to replace drifts, where that is wanted."""

from __future__ import annotations

import msgspec
import pytest

from dovetail import labels
from dovetail.cloud.context import ProviderContext
from dovetail.kube.seam import Kube
from dovetail.model.node import Node
from dovetail.providers.aws.interruption.claims import REBALANCE
from dovetail.providers.aws.provider import AwsProvider
from tests.ec2.control import Ec2Control
from tests.ec2.provider.cloud import SETTINGS, AwsCloud, aws_cloud
from tests.ec2.setting import Aws

pytestmark = pytest.mark.xdist_group("ec2")


def provider(cloud: AwsCloud, *, replaces: bool) -> AwsProvider:
    """A provider that replaces such nodes, or does not."""
    context: ProviderContext[Kube] = ProviderContext(
        kube=cloud.kube, clock=cloud.clock, timer=cloud.timer
    )
    settings = msgspec.structs.replace(SETTINGS, replace_on_rebalance_recommendation=replaces)
    return AwsProvider(context, cloud.apis, settings, source=cloud.inputs)


async def test_a_recommendation_is_drift_only_where_it_is_to_be_acted_on(
    control: Ec2Control, aws: Aws
) -> None:
    """Budgets, replacements and do-not-disrupt then count as for all drifted nodes."""
    async with aws_cloud(control, aws) as cloud:
        made = await cloud.provider.create(await cloud.claim("a"))
        stated = {**made.labels, labels.NODE_POOL: "default"}
        node = Node("n", node_claim="a", provider_id=made.provider_id, labels=stated)
        marked = msgspec.structs.replace(node, annotations={REBALANCE: "2026-01-01T00:00:00Z"})
        assert await provider(cloud, replaces=True).drift_reason(node) == ""
        acting = provider(cloud, replaces=True)
        assert await acting.drift_reason(marked) == "SpotRebalanceRecommendation"
        assert await provider(cloud, replaces=False).drift_reason(marked) == ""
