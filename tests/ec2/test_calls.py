"""Pages, the record of calls, faults, and the contract with botocore's service models."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError
from botocore.parsers import ResponseParserError
from botocore.session import Session

from tests.ec2.contract import violations
from tests.ec2.setting import ZONES, Aws

pytestmark = pytest.mark.xdist_group("ec2")
A, _, _ = ZONES


def many(aws: Aws, n_instances: int, **tags: str) -> list[str]:
    """Instances with tags."""
    pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
    return aws.control.launch(
        n_instances,
        InstanceType="m5.large",
        ImageId=aws.image(),
        SubnetId=aws.subnets()[A],
        TagSpecifications=[{"ResourceType": "instance", "Tags": pairs}],
    )


def test_five_thousand_instances_are_listed_by_tag_in_pages(aws: Aws) -> None:
    """Each of them once, and not one of another cluster."""
    aws.control.set_free_addresses(aws.subnets()[A], 10_000)
    ours = many(aws, 5000, cluster="ours")
    many(aws, 10, cluster="theirs")
    wanted = [{"Name": "tag:cluster", "Values": ["ours"]}]
    pages = list(
        aws.ec2.get_paginator("describe_instances").paginate(
            Filters=wanted, PaginationConfig={"PageSize": 1000}
        )
    )
    got = [
        [one["InstanceId"] for each in page["Reservations"] for one in each["Instances"]]
        for page in pages
    ]
    assert [len(page) for page in got] == [1000] * 5
    assert [instance_id for page in got for instance_id in page] == ours


def test_pages_of_motos_own_lists_are_cut_here(aws: Aws) -> None:
    """moto ignores MaxResults in most of them."""
    vpc = aws.ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    for number in range(12):
        aws.ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.9.{number}.0/24", AvailabilityZone=A)
    asked = {"Filters": [{"Name": "vpc-id", "Values": [vpc]}], "MaxResults": 5}
    pages = []
    token: dict[str, str] = {}
    while True:
        page = aws.ec2.describe_subnets(**asked, **token)
        pages.append([one["SubnetId"] for one in page["Subnets"]])
        if "NextToken" not in page:
            break
        token = {"NextToken": page["NextToken"]}
    assert [len(page) for page in pages] == [5, 5, 2]
    assert len({one for page in pages for one in page}) == 12


def test_instance_profiles_are_listed_in_pages(aws: Aws) -> None:
    """IAM calls its token a marker."""
    iam = aws.clients["iam"]
    for number in range(5):
        iam.create_instance_profile(InstanceProfileName=f"p{number}", Path="/karpenter/")
    pages = iam.get_paginator("list_instance_profiles").paginate(
        PathPrefix="/karpenter/", PaginationConfig={"PageSize": 2}
    )
    got = [[one["InstanceProfileName"] for one in page["InstanceProfiles"]] for page in pages]
    assert got == [["p0", "p1"], ["p2", "p3"], ["p4"]]


def test_instance_profiles_are_listed_by_their_path(aws: Aws) -> None:
    """Whoever tidies up under its own path does not see the profiles of others."""
    iam = aws.clients["iam"]
    iam.create_instance_profile(InstanceProfileName="mine", Path="/karpenter/shop/")
    iam.create_instance_profile(InstanceProfileName="another", Path="/")
    listed = iam.list_instance_profiles(PathPrefix="/karpenter/")["InstanceProfiles"]
    assert [one["InstanceProfileName"] for one in listed] == ["mine"]
    assert len(iam.list_instance_profiles()["InstanceProfiles"]) == 2


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param({"MaxResults": 4}, "InvalidParameterValue", id="a page too small"),
        pytest.param({"MaxResults": 1001}, "InvalidParameterValue", id="a page too large"),
        pytest.param({"NextToken": "nonsense"}, "InvalidNextToken", id="a token of nobody"),
        pytest.param(
            {"MaxResults": 5, "InstanceIds": ["i-0123"]},
            "InvalidParameterCombination",
            id="pages of instances that are named",
        ),
    ],
)
def test_a_page_that_cannot_be_is_refused(aws: Aws, asked: dict[str, Any], want: str) -> None:
    """As EC2 does."""
    with pytest.raises(ClientError, match=want):
        aws.ec2.describe_instances(**asked)


def test_every_call_is_recorded_in_order_with_its_parameters(aws: Aws) -> None:
    """Of every service, those that failed as well."""
    before = len(aws.control.calls())
    aws.ec2.describe_instances(Filters=[{"Name": "tag:a", "Values": ["b", "c"]}])
    with pytest.raises(ClientError):
        aws.ec2.terminate_instances(InstanceIds=["i-0123"])
    aws.clients["iam"].list_instance_profiles(PathPrefix="/karpenter/")
    aws.clients["sqs"].create_queue(QueueName="interruptions")
    with pytest.raises(ClientError):
        aws.clients["eks"].describe_cluster(name="nobody")
    got = [
        (call.service, call.action, call.parameters, call.error_code)
        for call in aws.control.calls(after=before)
    ]
    filters = [{"Name": "tag:a", "Values": ["b", "c"]}]
    assert got == [
        ("ec2", "DescribeInstances", {"Filters": filters}, ""),
        ("ec2", "TerminateInstances", {"InstanceIds": ["i-0123"]}, "InvalidInstanceID.NotFound"),
        ("iam", "ListInstanceProfiles", {"PathPrefix": "/karpenter/"}, ""),
        ("sqs", "CreateQueue", {"QueueName": "interruptions"}, ""),
        ("eks", "DescribeCluster", {"name": "nobody"}, "ResourceNotFoundException"),
    ]


def test_a_fleet_request_is_recorded_as_it_was_sent(aws: Aws) -> None:
    """Templates, overrides, tags and token, to compare two controllers by."""
    aws.template()
    tags = [{"ResourceType": "fleet", "Tags": [{"Key": "k", "Value": "v"}]}]
    aws.fleet(("m5.large", A), ClientToken="t", TagSpecifications=tags, Context="x")
    (call,) = aws.control.calls("CreateFleet")
    override = {
        "InstanceType": "m5.large",
        "AvailabilityZone": A,
        "SubnetId": aws.subnets()[A],
    }
    reference = {"LaunchTemplateName": "template", "Version": "$Latest"}
    assert call.parameters == {
        "Type": "instant",
        "ClientToken": "t",
        "Context": "x",
        "TagSpecifications": tags,
        "LaunchTemplateConfigs": [
            {"LaunchTemplateSpecification": reference, "Overrides": [override]}
        ],
        "TargetCapacitySpecification": {
            "TotalTargetCapacity": 1,
            "DefaultTargetCapacityType": "on-demand",
        },
        "OnDemandOptions": {"AllocationStrategy": "lowest-price"},
    }


def test_a_whole_call_fails_with_the_error_that_a_test_sets(aws: Aws) -> None:
    """So many times, after so many that go well; nothing of it is carried out."""
    aws.template()
    aws.control.fail_calls("CreateFleet", "UnauthorizedOperation", "no", status=403, skip=1)
    aws.fleet(("m5.large", A))
    with pytest.raises(ClientError) as failed:
        aws.fleet(("m5.large", A))
    assert failed.value.response["Error"] == {"Code": "UnauthorizedOperation", "Message": "no"}
    assert failed.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
    aws.fleet(("m5.large", A))
    assert len(aws.ec2.describe_instances()["Reservations"]) == 2


@pytest.mark.parametrize("service", ["iam", "ssm", "eks", "sqs", "pricing"])
def test_errors_of_every_service_can_be_ordered(aws: Aws, service: str) -> None:
    """Each in the protocol of its service."""
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "iam": ("list_instance_profiles", {}),
        "ssm": ("get_parameter", {"Name": "n"}),
        "eks": ("describe_cluster", {"name": "n"}),
        "sqs": ("list_queues", {}),
        "pricing": ("get_products", {"ServiceCode": "AmazonEC2"}),
    }
    operation, asked = calls[service]
    aws.control.fail_calls("*", "AccessDeniedException", "not allowed", status=403)
    with pytest.raises(ClientError) as failed:
        getattr(aws.clients[service], operation)(**asked)
    assert failed.value.response["Error"]["Code"] == "AccessDeniedException"
    assert failed.value.response["Error"]["Message"] == "not allowed"


def test_calls_are_throttled_until_the_fault_is_cleared(aws: Aws) -> None:
    """With the code and the status that clients know."""
    aws.control.throttle("Describe*", times=None)
    for _ in range(3):
        with pytest.raises(ClientError) as failed:
            aws.ec2.describe_instances()
        assert failed.value.response["Error"]["Code"] == "RequestLimitExceeded"
        assert failed.value.response["ResponseMetadata"]["HTTPStatusCode"] == 503
    aws.control.clear_faults()
    aws.ec2.describe_instances()


def test_a_connection_is_cut_before_the_call_or_after_it(aws: Aws) -> None:
    """In the second case the call was carried out."""
    first, second = aws.launch(), aws.launch()
    aws.control.cut("TerminateInstances")
    with pytest.raises(ConnectionClosedError):
        aws.ec2.terminate_instances(InstanceIds=[first])
    assert aws.state(first) == "pending"
    aws.control.lose_answer("TerminateInstances")
    with pytest.raises(ConnectionClosedError):
        aws.ec2.terminate_instances(InstanceIds=[second])
    assert aws.state(second) == "shutting-down"


def test_an_answer_can_be_garbled(aws: Aws) -> None:
    """A proxy's page with an error status, for one."""
    aws.control.garble("TerminateInstances", status=502)
    instance = aws.launch()
    with pytest.raises((ClientError, ResponseParserError)):
        aws.ec2.terminate_instances(InstanceIds=[instance])
    assert aws.state(instance) == "shutting-down"


def test_a_slow_call_is_answered_after_a_quick_one_that_came_later(aws: Aws) -> None:
    """Calls do not wait for each other."""
    aws.control.slow_down("DescribeInstances", timedelta(seconds=2))
    with ThreadPoolExecutor(max_workers=1) as other:
        slow = other.submit(aws.ec2.describe_instances)
        while not aws.control.calls("DescribeInstances"):
            pass
        aws.ec2.describe_vpcs()
        slow.result()
    (described,) = aws.control.calls("DescribeInstances")
    (quick,) = aws.control.calls("DescribeVpcs")
    assert described.number < quick.number
    assert described.answered > quick.answered


def test_a_queue_takes_and_gives_messages(aws: Aws) -> None:
    """The interruption queue is moto's."""
    sqs = aws.clients["sqs"]
    sqs.create_queue(QueueName="interruptions")
    url = sqs.get_queue_url(QueueName="interruptions")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="{}")
    (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    assert "Messages" not in sqs.receive_message(QueueUrl=url)


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        pytest.param(
            "<r><reservationSet><item><colour>red</colour></item></reservationSet></r>",
            ["DescribeInstances.reservationSet.colour is not in the model"],
            id="a member that AWS does not have",
        ),
        pytest.param(
            "<r><reservationSet><item><instancesSet><item><amiLaunchIndex>x</amiLaunchIndex>"
            "</item></instancesSet></item></reservationSet></r>",
            ["DescribeInstances.reservationSet.instancesSet.amiLaunchIndex is no integer: x"],
            id="a number that is none",
        ),
        pytest.param("<r><requestId>1</requestId></r>", [], id="nothing"),
    ],
)
def test_the_contract_finds_what_aws_never_sends(
    session: Session, answer: str, want: list[str]
) -> None:
    """It judges every answer to the clients of these tests (conftest.py)."""
    operation = session.get_service_model("ec2").operation_model("DescribeInstances")
    assert violations(operation, answer.encode()) == want
