"""Works out what IAM is asked when a recorded call comes: actions, resources and their tags."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tests.ec2.control import ACCOUNT, REGION, RecordedCall
from tests.ec2.permissions.iam import Access

_EC2 = f"arn:aws:ec2:{REGION}:{ACCOUNT}:"
_IMAGE = f"arn:aws:ec2:{REGION}::image/ami-1"
_REGION = {"aws:RequestedRegion": [REGION]}
Tags = Mapping[str, str]


def accesses(call: RecordedCall) -> list[Access]:
    """Everything that must be allowed for the call."""
    rule = _RULES.get((call.service, call.action), _reading)
    return list(rule(call))


def _reading(call: RecordedCall) -> Iterator[Access]:
    """Calls whose permissions know no resources."""
    assert call.action.startswith(("Describe", "List", "GetProducts")), call.action
    yield Access(_action(call), "*", _REGION)


def _action(call: RecordedCall, name: str = "") -> str:
    return f"{call.service}:{name or call.action}"


def _tags_for(call: RecordedCall, resource: str) -> dict[str, str]:
    """The tags that a call gives to one type of resource."""
    return {
        tag["Key"]: tag["Value"]
        for specification in call.parameters.get("TagSpecifications", [])
        if specification["ResourceType"] == resource
        for tag in specification["Tags"]
    }


def _requested(tags: Tags) -> dict[str, list[str]]:
    by_key = {f"aws:RequestTag/{key}": [value] for key, value in tags.items()}
    return {**by_key, "aws:TagKeys": [*tags]}


def _existing(tags: Tags) -> dict[str, list[str]]:
    return {f"aws:ResourceTag/{key}": [value] for key, value in tags.items()}


# ---------------------------------------------------------------- EC2


def _created(call: RecordedCall, operation: str, resource: str, tags: Tags) -> Iterator[Access]:
    """A resource that is made, with its tags."""
    context = _requested(tags)
    arn = f"{_EC2}{resource}/new"
    yield Access(_action(call, operation), arn, context)
    if tags:
        yield Access("ec2:CreateTags", arn, {**context, "ec2:CreateAction": [operation]})


def _creating_template(call: RecordedCall) -> Iterator[Access]:
    tags = _tags_for(call, "launch-template")
    yield from _created(call, call.action, "launch-template", tags)


def _creating_fleet(call: RecordedCall) -> Iterator[Access]:
    """The fleet, and the instances that it launches by RunInstances."""
    yield from _launching(call, call.action, "fleet")
    yield from _launching(call, "RunInstances")


def _running_instances(call: RecordedCall) -> Iterator[Access]:
    yield from _launching(call, "RunInstances")


def _launching(call: RecordedCall, operation: str, *more: str) -> Iterator[Access]:
    for resource in ("instance", "volume", *more):
        yield from _created(call, operation, resource, _tags_for(call, resource))
    for resource in ("subnet", "security-group", "capacity-reservation", "placement-group"):
        yield Access(_action(call, operation), f"{_EC2}{resource}/of-the-account")
    yield Access(_action(call, operation), _IMAGE)
    for tags in call.tags.values():  # of templates
        yield Access(_action(call, operation), f"{_EC2}launch-template/lt-1", _existing(tags))
        # Interfaces and spot requests are tagged by the template, with the same tags.
        for resource in ("network-interface", "spot-instances-request"):
            yield from _created(call, operation, resource, tags)


def _on_existing(resource: str) -> Callable[[RecordedCall], Iterator[Access]]:
    def rule(call: RecordedCall) -> Iterator[Access]:
        for tags in call.tags.values():
            yield Access(_action(call), f"{_EC2}{resource}/existing", _existing(tags))

    return rule


def _tagging(call: RecordedCall) -> Iterator[Access]:
    added = {tag["Key"]: tag["Value"] for tag in call.parameters["Tags"]}
    for tags in call.tags.values():
        context = {**_existing(tags), **_requested(added)}
        yield Access(_action(call), f"{_EC2}instance/existing", context)


# ---------------------------------------------------------------- other services


def _profile(call: RecordedCall) -> str:
    return f"arn:aws:iam::{ACCOUNT}:instance-profile/{call.parameters['InstanceProfileName']}"


def _creating_profile(call: RecordedCall) -> Iterator[Access]:
    tags = {tag["Key"]: tag["Value"] for tag in call.parameters["Tags"]}
    yield Access(_action(call), _profile(call), _requested(tags))
    # Tags of a profile that is being made count as its own.
    context = {**_existing(tags), **_requested(tags)}
    yield Access("iam:TagInstanceProfile", _profile(call), context)


def _changing_profile(call: RecordedCall) -> Iterator[Access]:
    for tags in call.tags.values():
        yield Access(_action(call), _profile(call), _existing(tags))


def _adding_role(call: RecordedCall) -> Iterator[Access]:
    yield from _changing_profile(call)
    role = f"arn:aws:iam::{ACCOUNT}:role/{call.parameters['RoleName']}"
    yield Access("iam:PassRole", role, {"iam:PassedToService": ["ec2.amazonaws.com"]})


def _reading_profile(call: RecordedCall) -> Iterator[Access]:
    yield Access(_action(call), _profile(call))


def _reading_parameter(call: RecordedCall) -> Iterator[Access]:
    name = call.parameters["Name"]
    account = "" if name.startswith("/aws/") else ACCOUNT
    yield Access(_action(call), f"arn:aws:ssm:{REGION}:{account}:parameter{name}")


def _reading_cluster(call: RecordedCall) -> Iterator[Access]:
    yield Access(_action(call), _cluster(call.parameters["name"]))


def _cluster(name: str) -> str:
    return f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/{name}"


def _reading_shifts(call: RecordedCall) -> Iterator[Access]:
    identifier = call.parameters["resourceIdentifier"]
    yield Access(_action(call), "*", {"arc-zonal-shift:ResourceIdentifier": [identifier]})


def _on_queue(action: str) -> Callable[[RecordedCall], Iterator[Access]]:
    def rule(call: RecordedCall) -> Iterator[Access]:
        name = call.parameters.get("QueueName") or call.parameters["QueueUrl"].rpartition("/")[2]
        yield Access(action, f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}")

    return rule


_RULES: Mapping[tuple[str, str], Callable[[RecordedCall], Iterator[Access]]] = {
    ("ec2", "CreateFleet"): _creating_fleet,
    ("ec2", "CreateLaunchTemplate"): _creating_template,
    ("ec2", "CreateTags"): _tagging,
    ("ec2", "DeleteLaunchTemplate"): _on_existing("launch-template"),
    ("ec2", "RunInstances"): _running_instances,
    ("ec2", "TerminateInstances"): _on_existing("instance"),
    ("iam", "AddRoleToInstanceProfile"): _adding_role,
    ("iam", "CreateInstanceProfile"): _creating_profile,
    ("iam", "DeleteInstanceProfile"): _changing_profile,
    ("iam", "GetInstanceProfile"): _reading_profile,
    ("iam", "RemoveRoleFromInstanceProfile"): _changing_profile,
    ("eks", "DescribeCluster"): _reading_cluster,
    ("ssm", "GetParameter"): _reading_parameter,
    ("arc-zonal-shift", "GetManagedResource"): _reading_shifts,
    ("sqs", "DeleteMessageBatch"): _on_queue("sqs:DeleteMessage"),
    ("sqs", "GetQueueUrl"): _on_queue("sqs:GetQueueUrl"),
    ("sqs", "ReceiveMessage"): _on_queue("sqs:ReceiveMessage"),
}
