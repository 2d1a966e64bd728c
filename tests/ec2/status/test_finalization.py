"""The end of a node class: it waits for its claims, then takes along what it made."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from dovetail.kube.seam import Deletion, Ref
from dovetail.providers.aws.status.objects import NODE_CLAIM
from dovetail.providers.aws.status.patches import FINALIZER
from dovetail.providers.aws.status.profiles.names import legacy_profile_name
from tests.ec2.setting import Aws
from tests.ec2.status.bench import CLUSTER, ROLE, SETTINGS, node_class_bench

pytestmark = pytest.mark.xdist_group("ec2")


def tags_of(cluster: str, node_class: str) -> list[dict[str, object]]:
    """The tags of a launch template."""
    tags = [
        {"Key": "eks:eks-cluster-name", "Value": cluster},
        {"Key": "karpenter.k8s.aws/ec2nodeclass", "Value": node_class},
        {"Key": f"kubernetes.io/cluster/{cluster}", "Value": "owned"},
        {"Key": "karpenter.sh/nodepool", "Value": "default"},
    ]
    return [{"ResourceType": "launch-template", "Tags": tags}]


async def test_a_class_waits_until_no_claim_refers_to_it(aws: Aws) -> None:
    """An event tells what it waits for; ten minutes later, or when a claim ends, it looks again."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        await bench.look()
        assert FINALIZER in (await bench.node_class()).metadata.finalizers
        await bench.create_claim("default-1")
        await bench.delete()
        assert await bench.look() == timedelta(minutes=10)
        assert await bench.exists()
        ((kind, reason, message),) = bench.events()
        assert (kind, reason) == ("Normal", "WaitingOnNodeClaimTermination")
        assert "default-1" in message
        assert len(bench.profiles()) == 1
        await bench.kube.delete(Ref(NODE_CLAIM, "default-1"), Deletion())
        await bench.look()
        assert not await bench.exists()
        assert bench.profiles() == {}


async def test_a_class_takes_its_profiles_and_launch_templates_along(aws: Aws) -> None:
    """All below its path, the one of older releases, and templates with both of its tags."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        await bench.look()
        await bench.change(role="other")
        await bench.look()
        iam, ec2 = bench.aws.clients["iam"], bench.aws.ec2
        legacy = legacy_profile_name(SETTINGS, "default")
        tags = {
            f"kubernetes.io/cluster/{SETTINGS.cluster_name}": "owned",
            "karpenter.k8s.aws/ec2nodeclass": "default",
            "topology.kubernetes.io/region": SETTINGS.region,
        }
        listed = [{"Key": key, "Value": value} for key, value in tags.items()]
        iam.create_instance_profile(InstanceProfileName=legacy, Tags=listed)
        iam.add_role_to_instance_profile(InstanceProfileName=legacy, RoleName=ROLE)
        iam.create_instance_profile(InstanceProfileName="theirs")
        for name, template_tags in (
            ("ours", tags_of(CLUSTER, "default")),
            ("of another class", tags_of(CLUSTER, "other")),
            ("of another cluster", tags_of("other", "default")),
        ):
            data = {"ImageId": "ami-1"}
            ec2.create_launch_template(
                LaunchTemplateName=name, LaunchTemplateData=data, TagSpecifications=template_tags
            )
        assert len(bench.profiles()) == 4
        await bench.delete()
        await bench.look()
        assert not await bench.exists()
        assert list(bench.profiles()) == ["theirs"]
        left = ec2.describe_launch_templates()["LaunchTemplates"]
        assert sorted(one["LaunchTemplateName"] for one in left) == [
            "of another class",
            "of another cluster",
        ]


async def test_a_class_stays_until_everything_of_it_could_be_deleted(aws: Aws) -> None:
    """A failed call is reported and tried again; a restart in between does no harm."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        await bench.look()
        await bench.delete()
        bench.control.fail_calls("DeleteInstanceProfile", "AccessDenied", "not you")
        await bench.look()
        assert await bench.exists()
        ((kind, reason, message),) = bench.events()
        assert (kind, reason) == ("Warning", "AccessDenied")
        assert "allow iam:DeleteInstanceProfile" in message
        bench.started_anew()
        await bench.look()
        assert not await bench.exists()
        assert bench.profiles() == {}


async def test_in_an_isolated_vpc_the_end_of_a_class_asks_nothing_of_iam(aws: Aws) -> None:
    """IAM cannot be reached from there."""
    settings = msgspec.structs.replace(SETTINGS, isolated_vpc=True)
    async with node_class_bench(aws, settings) as bench:
        await bench.create(role=None, instanceProfile="mine")
        await bench.look()
        await bench.delete()
        await bench.look()
        await bench.controller.collect_profiles()
        assert not await bench.exists()
        assert bench.actions("ListInstanceProfiles", "GetInstanceProfile") == []
