"""Calls about instances that run: describe, terminate, tag, status, user data, volumes."""

from __future__ import annotations

from itertools import groupby

from tests.ec2.extension import moto_state, paging
from tests.ec2.extension.filters import matching
from tests.ec2.extension.instances import (
    CODES,
    Instance,
    describe,
    group_ids,
    profile_name,
    tag_list,
)
from tests.ec2.extension.wire import AwsError, Tree
from tests.ec2.extension.world import World

_USER_REQUEST = ("User initiated", "Client.UserInitiatedShutdown")


def state(world: World, instance: Instance) -> str:
    """The state of an instance now, by name."""
    return instance.state(world.clock.now(), world.delays)


def _known(world: World, ids: list[str]) -> list[Instance]:
    unknown = [one for one in ids if one not in world.instances]
    if unknown:
        which = f"ID '{unknown[0]}' does" if len(unknown) == 1 else f"IDs '{', '.join(unknown)}' do"
        msg = f"The instance {which} not exist"
        raise AwsError("InvalidInstanceID.NotFound", msg)
    return [world.instances[one] for one in ids]


def _selected(world: World, parameters: Tree) -> list[Instance]:
    ids, filters = parameters.get("InstanceIds", []), parameters.get("Filters", [])
    if ids:
        if "MaxResults" in parameters:
            msg = "The parameter instancesSet cannot be used with the parameter maxResults"
            raise AwsError("InvalidParameterCombination", msg)
        instances = _known(world, ids)
    else:
        indexed = world.tag_index.candidates(filters)
        instances = (
            list(world.instances.values())
            if indexed is None
            else [world.instances[one] for one in indexed]
        )
    return matching(
        instances, filters, values=lambda one: _values(world, one), tags=lambda one: one.tags
    )


def _values(world: World, instance: Instance) -> Tree:
    instance_type, zone, capacity_type = instance.pool
    return {
        "availability-zone": zone,
        "capacity-reservation-id": instance.capacity_reservation_id or None,
        "client-token": instance.client_token,
        "iam-instance-profile.name": profile_name(instance.settings),
        "image-id": instance.settings["ImageId"],
        "instance-id": instance.instance_id,
        "instance-lifecycle": "spot" if capacity_type == "spot" else None,
        "instance-state-name": state(world, instance),
        "instance-state-code": CODES[state(world, instance)],
        "instance-type": instance_type,
        "instance.group-id": group_ids(instance.settings),
        "placement-group-name": instance.placement.get("GroupName"),
        "private-ip-address": instance.address,
        "reservation-id": instance.reservation_id,
        "subnet-id": instance.subnet.subnet_id,
        "vpc-id": instance.subnet.vpc_id,
    }


def describe_instances(world: World, parameters: Tree) -> Tree:
    """DescribeInstances; a page counts instances."""
    items, token = paging.page(_selected(world, parameters), parameters)
    reservations = [
        {
            "ReservationId": reservation_id,
            "OwnerId": moto_state.ACCOUNT,
            "Groups": [],
            "Instances": [describe(one, state(world, one)) for one in group],
        }
        for reservation_id, group in groupby(items, key=lambda one: one.reservation_id)
    ]
    return {"Reservations": reservations, "NextToken": token}


def terminate_instances(world: World, parameters: Tree) -> Tree:
    """TerminateInstances: all or, if one is unknown, none."""
    changes = []
    for instance in _known(world, parameters["InstanceIds"]):
        before = state(world, instance)
        world.terminate(instance.instance_id, _USER_REQUEST)
        after = state(world, instance)
        changes.append(
            {
                "InstanceId": instance.instance_id,
                "PreviousState": {"Code": CODES[before], "Name": before},
                "CurrentState": {"Code": CODES[after], "Name": after},
            }
        )
    return {"TerminatingInstances": changes}


def describe_status(world: World, parameters: Tree) -> Tree:
    """DescribeInstanceStatus; without IncludeAllInstances only of those that run."""
    ids = parameters.get("InstanceIds", [])
    instances = _known(world, ids) if ids else list(world.instances.values())
    if not parameters.get("IncludeAllInstances"):
        instances = [one for one in instances if state(world, one) == "running"]
    shown = matching(
        instances,
        parameters.get("Filters", []),
        values=lambda one: {
            "availability-zone": one.pool[1],
            "instance-state-name": state(world, one),
            "instance-status.status": _health(world, one, "instance"),
            "system-status.status": _health(world, one, "system"),
            "attached-ebs-status.status": _health(world, one, "ebs"),
            "event.code": [event["Code"] for event in one.events],
        },
        tags=lambda one: one.tags,
    )
    items, token = paging.page(shown, parameters)
    return {"InstanceStatuses": [_status(world, one) for one in items], "NextToken": token}


def _health(world: World, instance: Instance, part: str) -> str:
    if part in instance.impaired:
        return "impaired"
    return "ok" if state(world, instance) == "running" else "not-applicable"


def _summary(world: World, instance: Instance, part: str) -> Tree:
    since = instance.impaired.get(part)
    detail = {"Name": "reachability", "Status": "failed" if since else "passed"}
    return {
        "Status": _health(world, instance, part),
        "Details": [{**detail, "ImpairedSince": since} if since else detail],
    }


def _status(world: World, instance: Instance) -> Tree:
    name = state(world, instance)
    return {
        "InstanceId": instance.instance_id,
        "AvailabilityZone": instance.subnet.zone,
        "AvailabilityZoneId": instance.subnet.zone_id,
        "InstanceState": {"Code": CODES[name], "Name": name},
        "InstanceStatus": _summary(world, instance, "instance"),
        "SystemStatus": _summary(world, instance, "system"),
        "AttachedEbsStatus": _summary(world, instance, "ebs"),
        "Events": instance.events,
    }


def describe_attribute(world: World, parameters: Tree) -> Tree:
    """DescribeInstanceAttribute: the user data, as the machine itself would read it."""
    (instance,) = _known(world, [parameters["InstanceId"]])
    if parameters["Attribute"] != "userData":
        msg = "Only the attribute userData is built into the EC2 for tests"
        raise AwsError("UnsupportedOperation", msg)
    user_data = instance.settings.get("UserData")
    value = {"Value": user_data} if user_data else {}
    return {"InstanceId": instance.instance_id, "UserData": value}


def describe_volumes(world: World, parameters: Tree) -> Tree:
    """DescribeVolumes: those that instances were launched with."""
    attached = [
        (instance, volume)
        for instance in world.instances.values()
        if not instance.is_released
        for volume in instance.volumes
    ]
    shown = matching(
        attached,
        parameters.get("Filters", []),
        values=lambda one: {
            "volume-id": one[1].volume_id,
            "attachment.instance-id": one[0].instance_id,
            "attachment.device": one[1].device,
        },
        tags=lambda one: one[1].tags,
    )
    wanted = parameters.get("VolumeIds", [])
    chosen = [one for one in shown if not wanted or one[1].volume_id in wanted]
    items, token = paging.page(chosen, parameters)
    volumes = [
        {
            "VolumeId": volume.volume_id,
            "Size": volume.settings.get("VolumeSize", 8),
            "VolumeType": volume.settings.get("VolumeType", "gp3"),
            "Encrypted": volume.settings.get("Encrypted", False),
            "Iops": volume.settings.get("Iops"),
            "Throughput": volume.settings.get("Throughput"),
            "KmsKeyId": volume.settings.get("KmsKeyId"),
            "SnapshotId": volume.settings.get("SnapshotId"),
            "AvailabilityZone": instance.subnet.zone,
            "CreateTime": instance.launched_at,
            "State": "in-use",
            "Attachments": [
                {
                    "InstanceId": instance.instance_id,
                    "VolumeId": volume.volume_id,
                    "Device": volume.device,
                    "State": "attached",
                    "AttachTime": instance.launched_at,
                    "DeleteOnTermination": volume.settings.get("DeleteOnTermination", True),
                }
            ],
            "Tags": tag_list(volume.tags),
        }
        for instance, volume in items
    ]
    return {"Volumes": volumes, "NextToken": token}
