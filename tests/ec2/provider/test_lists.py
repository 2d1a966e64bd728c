"""Instances are read, tagged, relabelled and terminated."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from dovetail import api, labels
from dovetail.cloud.errors import CloudError, NodeClaimNotFoundError
from dovetail.cloud.provider import NodeLifecycleHook
from dovetail.kube.seam import Json, Patch, Ref
from dovetail.model.ending import InstanceEnding
from dovetail.model.node import Node
from dovetail.model.requirements import requirement
from dovetail.providers.aws.launching import keys
from tests.ec2.control import Ec2Control
from tests.ec2.provider.cloud import CLUSTER, NODE_CLAIM, AwsCloud, aws_cloud
from tests.ec2.setting import ZONES, Aws

pytestmark = pytest.mark.xdist_group("ec2")
A, B, C = ZONES
NODE = api.KINDS["", "Node"]
LARGE = requirement(labels.INSTANCE_TYPE, "In", ["m5.large"])
ON_DEMAND = requirement(labels.CAPACITY_TYPE, "In", [labels.ON_DEMAND])
TAGS = {
    labels.NODE_POOL: "default",
    keys.NODE_CLASS_TAG: "default",
    keys.CLUSTER_TAG: CLUSTER,
    keys.cluster_owned(CLUSTER): "owned",
}


def launch_directly(aws: Aws, count: int, tags: dict[str, str] = TAGS) -> list[str]:
    """Instances that nobody asked the provider for."""
    listed = [{"Key": key, "Value": value} for key, value in tags.items()]
    return aws.control.launch(
        count,
        ImageId=aws.image(),
        InstanceType="m5.large",
        TagSpecifications=[{"ResourceType": "instance", "Tags": listed}],
    )


async def test_a_list_holds_the_instances_of_this_cluster_and_no_others(
    control: Ec2Control, aws: Aws
) -> None:
    """In pages of 250, so that none of them holds up the event loop for long."""
    async with aws_cloud(control, aws) as cloud:
        mine = launch_directly(aws, 300)
        launch_directly(aws, 3, {**TAGS, keys.CLUSTER_TAG: "another"})
        launch_directly(aws, 3, {keys.CLUSTER_TAG: CLUSTER})
        control.terminate(mine[0])
        listed = await cloud.provider.list()
        assert len(listed) == 300
        assert [one.provider_id.rpartition("/")[2] for one in listed if one.is_terminating] == [
            mine[0]
        ]
        sizes = [one.parameters["MaxResults"] for one in control.calls("DescribeInstances")]
        assert sizes == [250, 250]
        cloud.advance(timedelta(minutes=1))
        assert len(await cloud.provider.list()) == 299


async def test_an_instance_has_the_labels_and_the_size_of_its_type(
    control: Ec2Control, aws: Aws
) -> None:
    """Whether it was just launched, or is read by another process."""
    async with aws_cloud(control, aws) as cloud:
        claim = await cloud.claim("a", LARGE, ON_DEMAND, requests={"cpu": 500})
        made = await cloud.provider.create(claim)
        read = await cloud.restarted().get(made.provider_id)
        assert (read.labels, read.capacity, read.allocatable, read.image_id) == (
            made.labels,
            made.capacity,
            made.allocatable,
            made.image_id,
        )
        assert made.labels[f"{labels.AWS_GROUP}/instance-family"] == "m5"
        assert made.labels[keys.TENANCY] == "default"
        assert made.labels["topology.k8s.aws/zone-id"].startswith("usw2-")
        assert made.annotations[keys.INSTANCE_PROFILE] == "nodes"
        assert made.annotations[keys.NODE_CLASS_HASH]


async def test_many_are_terminated_in_one_call_and_one_that_is_gone_does_not_hold_up_others(
    control: Ec2Control, aws: Aws
) -> None:
    """EC2 refuses a whole call for one unknown id."""
    async with aws_cloud(control, aws) as cloud:
        ids = launch_directly(aws, 5)
        listed = [one.provider_id for one in await cloud.provider.list()]
        await asyncio.gather(*(cloud.provider.delete(one) for one in listed))
        assert len(control.calls("TerminateInstances")) <= 2
        assert {aws.state(one) for one in ids} == {"shutting-down"}
        with pytest.raises(NodeClaimNotFoundError):
            await cloud.provider.delete(f"aws:///{A}/i-0123456789abcdef0")
        outcomes = await asyncio.gather(
            *(cloud.restarted().delete(one) for one in (*listed, f"aws:///{A}/i-00")),
            return_exceptions=True,
        )
        assert [isinstance(one, NodeClaimNotFoundError) for one in outcomes] == [False] * 5 + [True]


async def test_a_call_that_fails_is_an_error_of_the_cloud(control: Ec2Control, aws: Aws) -> None:
    """Nothing is known, and nothing is taken for gone."""
    async with aws_cloud(control, aws) as cloud:
        made = await cloud.provider.create(await cloud.claim("a", LARGE))
        control.fail_calls("DescribeInstances", "UnauthorizedOperation", status=403, times=None)
        for call in (cloud.provider.get, cloud.provider.delete):
            with pytest.raises(CloudError) as failed:
                await call(made.provider_id)
            assert not isinstance(failed.value, NodeClaimNotFoundError)
        with pytest.raises(CloudError):
            await cloud.provider.list()


async def register(cloud: AwsCloud, name: str, provider_id: str, **own: str) -> None:
    """Let the node of a claim join."""
    body: dict[str, Json] = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"node-{name}", "labels": {**own}},
        "spec": {"providerID": provider_id},
    }
    await cloud.kube.create(NODE, body)
    status: dict[str, Json] = {"providerID": provider_id, "nodeName": f"node-{name}"}
    await cloud.kube.patch(Ref(NODE_CLAIM, name), Patch({"status": status}, subresource="status"))
    if own:
        await cloud.kube.patch(Ref(NODE_CLAIM, name), Patch({"metadata": {"labels": {**own}}}))


async def test_the_instance_of_a_registered_claim_is_tagged_once(
    control: Ec2Control, aws: Aws
) -> None:
    """With the names of node and claim; neither then carries the fleet request any more."""
    async with aws_cloud(control, aws) as cloud:
        made = await cloud.provider.create(await cloud.claim("a", LARGE))
        await cloud.provider.keep_up()
        assert control.calls("CreateTags") == []
        await register(cloud, "a", made.provider_id)
        copied: dict[str, Json] = {keys.FLEET_REQUEST: "a copy"}
        await cloud.kube.patch(Ref(NODE, "node-a"), Patch({"metadata": {"annotations": copied}}))
        for _ in range(2):
            await cloud.provider.keep_up()
        assert len(control.calls("CreateTags")) == 1
        described = aws.instance(made.provider_id.rpartition("/")[2])
        tags = {one["Key"]: one["Value"] for one in described["Tags"]}
        assert (tags[keys.NAME_TAG], tags[keys.NODE_CLAIM_TAG]) == ("node-a", "a")
        claim = await cloud.read_claim("a")
        assert claim.annotations[keys.TAGGED] == "true"
        assert keys.FLEET_REQUEST not in claim.annotations
        node = api.decode(api.Node, await cloud.kube.get(Ref(NODE, "node-a")))
        assert keys.FLEET_REQUEST not in node.metadata.annotations
        (listed,) = await cloud.restarted().list()
        assert listed.node_claim == "a"


async def test_an_instance_that_another_controller_launched_belongs_to_the_claim_that_names_it(
    control: Ec2Control, aws: Aws
) -> None:
    """As an instance of a Provisioner is adopted: by its three tags and the claim's provider id."""
    async with aws_cloud(control, aws) as cloud:
        (adopted,) = launch_directly(aws, 1)
        launch_directly(aws, 1, {"karpenter.sh/provisioner-name": "default"})
        provider_id = f"aws:///{A}/{adopted}"
        await cloud.claim("older")
        status: dict[str, Json] = {"status": {"providerID": provider_id}}
        await cloud.kube.patch(Ref(NODE_CLAIM, "older"), Patch(status, subresource="status"))
        (listed,) = await cloud.provider.list()
        assert listed.provider_id.rpartition("/")[2] == adopted
        assert (listed.node_claim, listed.node_pool) == ("older", "default")


def reservation(name: str, zone: str, **others: Json) -> Json:
    """A capacity reservation in the status of the class."""
    return {
        "id": name,
        "instanceType": "m5.large",
        "availabilityZone": zone,
        "ownerID": "123456789012",
        "instanceMatchCriteria": "targeted",
        "reservationType": "default",
        "state": "active",
        **others,
    }


async def test_a_node_whose_reservation_ended_becomes_on_demand(
    control: Ec2Control, aws: Aws
) -> None:
    """It runs on, and costs what on-demand costs."""
    async with aws_cloud(control, aws) as cloud:
        name = control.add_reservation("m5.large", B, 1)
        await cloud.set_status(capacityReservations=[reservation(name, B)])
        provider = cloud.restarted()
        made = await provider.create(await cloud.claim("a", LARGE))
        own = {key: made.labels[key] for key in (labels.CAPACITY_TYPE, labels.RESERVATION_ID)}
        await register(cloud, "a", made.provider_id, **own)
        cloud.advance(timedelta(minutes=1))
        await provider.keep_up()
        assert (await cloud.read_claim("a")).labels[labels.CAPACITY_TYPE] == labels.RESERVED
        control.change_reservation(name, state="cancelled", n_instances=0)
        await provider.keep_up()
        claim = await cloud.read_claim("a")
        node = api.decode(api.Node, await cloud.kube.get(Ref(NODE, "node-a")))
        for stated in (claim.labels, node.metadata.labels):
            assert stated[labels.CAPACITY_TYPE] == labels.ON_DEMAND
            assert labels.RESERVATION_ID not in stated


async def test_the_end_of_a_capacity_block_is_announced_as_soon_as_it_is_known(
    control: Ec2Control, aws: Aws
) -> None:
    """EC2 takes its instances half an hour before the end."""
    async with aws_cloud(control, aws) as cloud:
        ends_at = control.now() + timedelta(hours=1)
        name = control.add_reservation("m5.large", B, 1, kind="capacity-block", ends_at=ends_at)
        block = reservation(name, B, reservationType="capacity-block", endTime=ends_at.isoformat())
        await cloud.set_status(capacityReservations=[block])
        announced: list[InstanceEnding] = []
        provider = cloud.restarted(announce=announced.append)
        made = await provider.create(await cloud.claim("a", LARGE))
        own = {key: made.labels[key] for key in (labels.CAPACITY_TYPE, labels.RESERVATION_ID)}
        await register(cloud, "a", made.provider_id, **own)
        await provider.keep_up()
        (ending,) = announced
        taken_at = ends_at - timedelta(minutes=30)
        assert (ending.provider_id, ending.at) == (made.provider_id, taken_at)
        assert ending.drains_for == timedelta(minutes=10)


async def test_the_partition_that_ec2_chose_is_labelled_before_the_node_counts(
    control: Ec2Control, aws: Aws
) -> None:
    """A claim that asks for one gets that one; the lowest by number, if it allows several."""
    async with aws_cloud(control, aws) as cloud:
        group = aws.ec2.create_placement_group(
            GroupName="parts", Strategy="partition", PartitionCount=12
        )["PlacementGroup"]["GroupId"]
        await cloud.set_spec(placementGroupSelector={"name": "parts"})
        provider = cloud.restarted()
        made = await provider.create(await cloud.claim("a", LARGE, ON_DEMAND))
        assert made.labels[keys.PLACEMENT_GROUP] == group
        await register(cloud, "a", made.provider_id)
        assert isinstance(provider, NodeLifecycleHook)
        node = Node("node-a", node_claim="a", provider_id=made.provider_id, labels=made.labels)
        assert await provider.registered(node) is None
        joined = api.decode(api.Node, await cloud.kube.get(Ref(NODE, "node-a")))
        assert joined.metadata.labels[keys.PARTITION] == "1"
        asked = requirement(keys.PARTITION, "In", ["10", "2", "11"])
        second = await provider.create(await cloud.claim("b", LARGE, ON_DEMAND, asked))
        assert second.labels[keys.PARTITION] == "2"


async def test_drift_is_found_by_what_the_instance_is_and_what_the_class_selects(
    control: Ec2Control, aws: Aws
) -> None:
    """And it ends when the class selects it again."""
    async with aws_cloud(control, aws) as cloud:
        made = await cloud.provider.create(await cloud.claim("a", LARGE))
        node = Node("a", labels=made.labels, provider_id=made.provider_id)
        assert await cloud.restarted().drift_reason(node) == ""
        await cloud.set_status(securityGroups=[{"id": "sg-other", "name": "other"}])
        assert await cloud.restarted().drift_reason(node) == "SecurityGroupDrift"
        await cloud.set_status(subnets=[{"id": "subnet-x", "zone": A, "zoneID": "usw2-az2"}])
        assert await cloud.restarted().drift_reason(node) == "SubnetDrift"
        await cloud.set_status()
        gone = Node("b", provider_id=f"aws:///{A}/i-0123456789abcdef0")
        assert await cloud.restarted().drift_reason(gone) == ""


async def test_nodes_that_were_just_listed_are_checked_for_drift_without_a_call(
    control: Ec2Control, aws: Aws
) -> None:
    """A list serves for five minutes, and an instance that seems to have drifted is read again."""
    async with aws_cloud(control, aws) as cloud:
        provider = cloud.provider
        made = await provider.create(await cloud.claim("a", LARGE))
        node = Node("a", labels=made.labels, provider_id=made.provider_id)
        await provider.list()
        n_calls = len(control.calls("DescribeInstances"))
        assert await provider.drift_reason(node) == ""
        assert len(control.calls("DescribeInstances")) == n_calls
        cloud.advance(timedelta(minutes=5))
        assert await provider.drift_reason(node) == ""
        assert len(control.calls("DescribeInstances")) == n_calls + 1
        await provider.list()
        await cloud.set_status(securityGroups=[{"id": "sg-other", "name": "other"}])
        cloud.advance(timedelta(minutes=1))
        assert await provider.drift_reason(node) == "SecurityGroupDrift"
        assert len(control.calls("DescribeInstances")) == n_calls + 3


async def test_what_a_node_reports_of_its_memory_replaces_the_estimate(
    control: Ec2Control, aws: Aws
) -> None:
    """For nodes with the images of the class."""
    async with aws_cloud(control, aws) as cloud:
        made = await cloud.provider.create(await cloud.claim("a", LARGE))
        node = Node(
            "a", labels=made.labels, provider_id=made.provider_id, capacity={"memory": 7 * 2**30}
        )
        await cloud.provider.registered(node)
        types = await cloud.provider.instance_types(cloud.pool)
        (held,) = [one for one in types if one.name == "m5.large"]
        assert held.capacity["memory"] == 7 * 2**30
