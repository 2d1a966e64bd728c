"""Instances get what their template says, and change their states as time passes."""

from __future__ import annotations

from base64 import b64encode
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.ec2.setting import ZONES, Aws, launched

pytestmark = pytest.mark.xdist_group("ec2")
A, B, _ = ZONES
USER_DATA = b64encode(b"[settings.kubernetes]\n").decode()


def tags(described: dict[str, Any]) -> dict[str, str]:
    """Tags as a mapping."""
    return {one["Key"]: one["Value"] for one in described["Tags"]}


def tagged(resource_type: str, **values: str) -> dict[str, Any]:
    """The tags for one type of resource."""
    pairs = [{"Key": key, "Value": value} for key, value in values.items()]
    return {"ResourceType": resource_type, "Tags": pairs}


def security_group(aws: Aws) -> str:
    """A new security group in the default VPC."""
    (vpc,) = aws.ec2.describe_vpcs()["Vpcs"]
    made = aws.ec2.create_security_group(GroupName="g", Description="g", VpcId=vpc["VpcId"])
    return str(made["GroupId"])


def test_an_instance_has_groups_profile_metadata_and_monitoring_of_its_template(aws: Aws) -> None:
    """Stock moto drops them."""
    group = security_group(aws)
    aws.clients["iam"].create_instance_profile(InstanceProfileName="nodes")
    aws.template(
        NetworkInterfaces=[{"DeviceIndex": 0, "Groups": [group]}],
        IamInstanceProfile={"Name": "nodes"},
        MetadataOptions={"HttpTokens": "optional", "HttpPutResponseHopLimit": 1},
        Monitoring={"Enabled": True},
    )
    instance = aws.instance(aws.launch())
    assert [one["GroupId"] for one in instance["SecurityGroups"]] == [group]
    assert [one["GroupId"] for one in instance["NetworkInterfaces"][0]["Groups"]] == [group]
    assert instance["IamInstanceProfile"]["Arn"].endswith("instance-profile/nodes")
    assert instance["MetadataOptions"]["HttpTokens"] == "optional"
    assert instance["MetadataOptions"]["HttpPutResponseHopLimit"] == 1
    assert instance["Monitoring"]["State"] == "enabled"


def test_an_instance_has_the_volumes_of_its_template(aws: Aws) -> None:
    """With size, type, encryption and the tags for volumes."""
    ebs = {"VolumeSize": 20, "VolumeType": "gp3", "Encrypted": True, "Throughput": 125}
    mapping = [{"DeviceName": "/dev/xvda", "Ebs": {**ebs, "DeleteOnTermination": True}}]
    aws.template(BlockDeviceMappings=mapping)
    instance = aws.launch(TagSpecifications=[tagged("volume", team="a")])
    (device,) = aws.instance(instance)["BlockDeviceMappings"]
    (volume,) = aws.ec2.describe_volumes()["Volumes"]
    assert device["Ebs"]["VolumeId"] == volume["VolumeId"]
    assert {key: volume[key if key != "VolumeSize" else "Size"] for key in ebs} == ebs
    assert tags(volume) == {"team": "a"}


def test_an_instance_has_the_tags_of_its_template_and_of_its_fleet(aws: Aws) -> None:
    """Those of the fleet win."""
    aws.template(TagSpecifications=[tagged("instance", a="template", b="template")])
    instance = aws.launch(TagSpecifications=[tagged("instance", b="fleet", c="fleet")])
    assert tags(aws.instance(instance)) == {"a": "template", "b": "fleet", "c": "fleet"}


def test_an_instance_can_be_asked_for_its_user_data(aws: Aws) -> None:
    """A kubelet that stands in for the machine reads it here."""
    aws.template(UserData=USER_DATA)
    asked = {"InstanceId": aws.launch(), "Attribute": "userData"}
    assert aws.ec2.describe_instance_attribute(**asked)["UserData"]["Value"] == USER_DATA


def test_an_override_goes_over_the_template(aws: Aws) -> None:
    """Type, image and subnet."""
    aws.template(InstanceType="m5.large")
    override = {
        "InstanceType": "m6g.large",
        "ImageId": aws.image("arm64"),
        "SubnetId": aws.subnets()[B],
        "AvailabilityZone": B,
    }
    instance = aws.instance(launched(aws.fleet(override))[0])
    assert (instance["InstanceType"], instance["ImageId"]) == ("m6g.large", override["ImageId"])
    assert instance["SubnetId"] == override["SubnetId"]
    assert instance["Placement"]["AvailabilityZone"] == B
    assert instance["Architecture"] == "arm64"


def test_a_template_is_used_in_the_version_that_is_asked_for(aws: Aws) -> None:
    """The latest one, the default one, or a number."""
    aws.template(InstanceType="m5.large", Monitoring={"Enabled": False})
    aws.ec2.create_launch_template_version(
        LaunchTemplateName="template",
        SourceVersion="1",
        LaunchTemplateData={"Monitoring": {"Enabled": True}},
    )
    assert aws.instance(aws.launch())["Monitoring"]["State"] == "enabled"
    reference = {"LaunchTemplateName": "template", "Version": "1"}
    first = aws.ec2.run_instances(LaunchTemplate=reference, MinCount=1, MaxCount=1)
    assert first["Instances"][0]["Monitoring"]["State"] == "disabled"


def test_a_template_says_everything_that_was_put_into_it(aws: Aws) -> None:
    """DescribeLaunchTemplateVersions answers with the data as they were given."""
    data: dict[str, Any] = {
        "ImageId": aws.image(),
        "UserData": USER_DATA,
        "NetworkInterfaces": [{"DeviceIndex": 0, "Groups": ["sg-1"], "Ipv4PrefixCount": 1}],
        "Placement": {"Tenancy": "dedicated"},
        "CapacityReservationSpecification": {"CapacityReservationPreference": "none"},
        "EnclaveOptions": {"Enabled": True},
    }
    aws.template(**data)
    asked = aws.ec2.describe_launch_template_versions(LaunchTemplateName="template")
    assert asked["LaunchTemplateVersions"][0]["LaunchTemplateData"] == data


def test_templates_are_found_by_tag_and_deleted_by_name(aws: Aws) -> None:
    """And then they are not found any more."""
    aws.ec2.create_launch_template(
        LaunchTemplateName="mine",
        LaunchTemplateData={"ImageId": "ami-1"},
        TagSpecifications=[tagged("launch-template", cluster="c")],
    )
    aws.template("other")
    wanted = {"Filters": [{"Name": "tag:cluster", "Values": ["c"]}]}
    (template,) = aws.ec2.describe_launch_templates(**wanted)["LaunchTemplates"]
    assert template["LaunchTemplateName"] == "mine"
    aws.ec2.delete_launch_template(LaunchTemplateName="mine")
    assert aws.ec2.describe_launch_templates(**wanted)["LaunchTemplates"] == []
    with pytest.raises(ClientError, match=r"InvalidLaunchTemplateName\.NotFoundException"):
        aws.ec2.describe_launch_templates(LaunchTemplateNames=["mine"])


def test_an_instance_is_pending_and_then_runs(aws: Aws) -> None:
    """Only when a test lets time pass."""
    instance = aws.launch()
    assert aws.state(instance) == "pending"
    aws.control.advance(timedelta(seconds=4))
    assert aws.state(instance) == "pending"
    aws.control.advance(timedelta(seconds=1))
    assert aws.state(instance) == "running"


def test_an_instance_shuts_down_is_terminated_and_is_forgotten(aws: Aws) -> None:
    """At last its id is unknown."""
    instance = aws.launch()
    (change,) = aws.ec2.terminate_instances(InstanceIds=[instance])["TerminatingInstances"]
    assert change["PreviousState"]["Name"] == "pending"
    assert change["CurrentState"]["Name"] == "shutting-down"
    aws.control.advance(timedelta(seconds=30))
    assert aws.state(instance) == "terminated"
    assert "SubnetId" not in aws.instance(instance)
    aws.control.advance(timedelta(hours=1))
    with pytest.raises(ClientError, match=r"InvalidInstanceID\.NotFound"):
        aws.state(instance)


def test_delays_are_what_a_test_sets(aws: Aws) -> None:
    """For tests that do not care about states."""
    none = timedelta()
    aws.control.set_delays(pending=none, shutting_down=none, terminated=timedelta(hours=1))
    instance = aws.launch()
    assert aws.state(instance) == "running"
    aws.ec2.terminate_instances(InstanceIds=[instance])
    assert aws.state(instance) == "terminated"


def test_real_time_passes_by_itself(aws: Aws) -> None:
    """For controllers that run on the real clock; a test can still move it on."""
    before = aws.control.now()
    assert aws.control.now() == before
    aws.control.follow_real_time()
    began = aws.control.now()
    assert began != before
    assert aws.control.advance(timedelta(days=1)) >= began + timedelta(days=1)


def test_termination_with_an_unknown_instance_terminates_nothing(aws: Aws) -> None:
    """All or nothing."""
    instance = aws.launch()
    with pytest.raises(ClientError, match=r"InvalidInstanceID\.NotFound"):
        aws.ec2.terminate_instances(InstanceIds=[instance, "i-0123456789abcdef0"])
    assert aws.state(instance) == "pending"


def test_a_spot_instance_names_its_request_and_can_be_reclaimed(aws: Aws) -> None:
    """The reason is that of a spot instance."""
    instance = aws.launch(capacity_type="spot")
    described = aws.instance(instance)
    assert described["InstanceLifecycle"] == "spot"
    assert described["SpotInstanceRequestId"].startswith("sir-")
    aws.control.reclaim(instance)
    assert aws.state(instance) == "shutting-down"
    assert "SpotInstanceTermination" in aws.instance(instance)["StateReason"]["Code"]


def test_instances_are_listed_by_tags_and_states(aws: Aws) -> None:
    """As a controller lists those of its cluster."""
    first = aws.launch(TagSpecifications=[tagged("instance", cluster="c", pool="p")])
    second = aws.launch(TagSpecifications=[tagged("instance", cluster="c")])
    aws.launch(TagSpecifications=[tagged("instance", cluster="d", pool="p")])

    def listed(*filters: tuple[str, str]) -> list[str]:
        wanted = [{"Name": name, "Values": [value]} for name, value in filters]
        answer = aws.ec2.describe_instances(Filters=wanted)
        return [one["InstanceId"] for each in answer["Reservations"] for one in each["Instances"]]

    assert listed(("tag:cluster", "c")) == [first, second]
    assert listed(("tag:cluster", "c"), ("tag-key", "pool")) == [first]
    assert listed(("tag:cluster", "?"), ("instance-state-name", "running")) == []
    aws.ec2.create_tags(Resources=[second], Tags=[{"Key": "pool", "Value": "q"}])
    assert listed(("tag:cluster", "c"), ("tag-key", "pool")) == [first, second]
    aws.ec2.delete_tags(Resources=[first], Tags=[{"Key": "pool"}])
    assert listed(("tag-key", "pool"), ("tag:cluster", "c")) == [second]
    with pytest.raises(ClientError, match="The filter 'colour' is invalid"):
        listed(("colour", "red"))


def test_tags_are_given_to_instances_and_subnets_in_one_call(aws: Aws) -> None:
    """Some are the extension's, some are moto's."""
    instance, subnet = aws.launch(), aws.subnets()[A]
    aws.ec2.create_tags(Resources=[instance, subnet], Tags=[{"Key": "k", "Value": "v"}])
    assert tags(aws.instance(instance)) == {"k": "v"}
    (described,) = aws.ec2.describe_subnets(SubnetIds=[subnet])["Subnets"]
    assert tags(described) == {"k": "v"}


def test_impaired_instances_and_scheduled_events_are_in_the_status(aws: Aws) -> None:
    """With the instant since when."""
    ill, retired, well = aws.launch(), aws.launch(), aws.launch()
    assert aws.ec2.describe_instance_status()["InstanceStatuses"] == []
    since = aws.control.advance(timedelta(minutes=1))
    aws.control.impair(ill, "system")
    aws.control.schedule_event(retired, "instance-retirement", timedelta(days=1))

    def listed(name: str, value: str) -> list[dict[str, Any]]:
        filters = [{"Name": name, "Values": [value]}]
        found: list[dict[str, Any]] = aws.ec2.describe_instance_status(Filters=filters)[
            "InstanceStatuses"
        ]
        return found

    (status,) = listed("system-status.status", "impaired")
    assert status["InstanceId"] == ill
    assert status["SystemStatus"]["Details"][0]["ImpairedSince"] == since
    (announced,) = listed("event.code", "instance-retirement")
    assert announced["InstanceId"] == retired
    assert announced["Events"][0]["NotBefore"] == since + timedelta(days=1)
    assert {one["InstanceId"] for one in listed("system-status.status", "ok")} == {retired, well}
    aws.control.impair(ill, "system", is_impaired=False)
    assert listed("system-status.status", "impaired") == []
