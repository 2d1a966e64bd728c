"""Instances: their states over time, and their description as EC2 sends it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tests.ec2.extension import moto_state
from tests.ec2.extension.catalogue import SPOT, Pool, architecture
from tests.ec2.extension.moto_state import Subnet
from tests.ec2.extension.wire import Tree

CODES = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48}
_METADATA_DEFAULTS = {
    "HttpTokens": "required",
    "HttpPutResponseHopLimit": 2,
    "HttpEndpoint": "enabled",
    "HttpProtocolIpv6": "disabled",
    "InstanceMetadataTags": "disabled",
}


@dataclass
class Delays:
    """How long an instance stays in each state that it leaves by itself."""

    pending: timedelta = timedelta(seconds=5)
    shutting_down: timedelta = timedelta(seconds=30)
    terminated: timedelta = timedelta(hours=1)


@dataclass(frozen=True)
class Volume:
    """A volume that an instance was launched with."""

    volume_id: str
    device: str
    settings: Tree
    tags: dict[str, str]


@dataclass
class Instance:
    """One instance. `settings` is the launch template's data with the override's over it."""

    instance_id: str
    reservation_id: str
    launched_at: datetime
    pool: Pool
    subnet: Subnet
    settings: Tree
    address: str
    tags: dict[str, str]
    volumes: tuple[Volume, ...] = ()
    network_tags: dict[str, str] = field(default_factory=dict)
    client_token: str = ""
    spot_request_id: str = ""
    capacity_reservation_id: str = ""
    placement: Tree = field(default_factory=dict)
    terminated_at: datetime | None = None  # when termination was asked for
    is_released: bool = False  # its capacity and address are free again
    termination_reason: tuple[str, str] = ("", "")
    impaired: dict[str, datetime] = field(default_factory=dict)  # instance or system, since when
    events: list[Tree] = field(default_factory=list)

    def state(self, now: datetime, delays: Delays) -> str:
        """The state by name; empty when EC2 no longer knows the instance."""
        if self.terminated_at is None:
            return "pending" if now < self.launched_at + delays.pending else "running"
        gone_for = now - self.terminated_at
        if gone_for < delays.shutting_down:
            return "shutting-down"
        return "terminated" if gone_for < delays.shutting_down + delays.terminated else ""


def describe(instance: Instance, state: str) -> Tree:
    """The instance as DescribeInstances and RunInstances send it."""
    settings = instance.settings
    metadata = {**_METADATA_DEFAULTS, **settings.get("MetadataOptions", {}), "State": "applied"}
    described: Tree = {
        "InstanceId": instance.instance_id,
        "ImageId": settings["ImageId"],
        "State": {"Code": CODES[state], "Name": state},
        "PublicDnsName": "",
        "AmiLaunchIndex": 0,
        "InstanceType": instance.pool[0],
        "LaunchTime": instance.launched_at,
        "Placement": _placement(instance),
        "Monitoring": {"State": "enabled" if _is_monitored(settings) else "disabled"},
        "StateTransitionReason": instance.termination_reason[0],
        "Architecture": architecture(instance.pool[0]),
        "ClientToken": instance.client_token,
        "EbsOptimized": settings.get("EbsOptimized", False),
        "EnaSupport": True,
        "Hypervisor": "xen",  # EC2 says so of Nitro as well
        "RootDeviceName": "/dev/xvda",
        "RootDeviceType": "ebs",
        "VirtualizationType": "hvm",
        "MetadataOptions": metadata,
        "EnclaveOptions": {"Enabled": settings.get("EnclaveOptions", {}).get("Enabled", False)},
        "PlatformDetails": "Linux/UNIX",
        "CapacityReservationSpecification": _reservation_settings(settings),
        "Tags": tag_list(instance.tags),
    }
    if instance.pool[2] == SPOT:
        described["InstanceLifecycle"] = SPOT
        described["SpotInstanceRequestId"] = instance.spot_request_id
    if instance.capacity_reservation_id:
        described["CapacityReservationId"] = instance.capacity_reservation_id
    if instance.termination_reason[1]:
        code, message = instance.termination_reason[1], instance.termination_reason[0]
        described["StateReason"] = {"Code": code, "Message": message}
    if "CpuOptions" in settings:
        described["CpuOptions"] = settings["CpuOptions"]
    profile = _profile(settings)
    if profile:
        described["IamInstanceProfile"] = profile
    if state != "terminated":
        described |= _attached(instance)
    return described


def tag_list(tags: dict[str, str]) -> list[Tree]:
    """Tags as EC2 sends them."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def _is_monitored(settings: Tree) -> bool:
    return bool(settings.get("Monitoring", {}).get("Enabled"))


def _placement(instance: Instance) -> Tree:
    return {
        "AvailabilityZone": instance.subnet.zone,
        "AvailabilityZoneId": instance.subnet.zone_id,
        "Tenancy": "default",
        "GroupName": "",
        **instance.placement,
    }


def _reservation_settings(settings: Tree) -> Tree:
    asked = settings.get("CapacityReservationSpecification", {})
    answer: Tree = {}
    if "CapacityReservationTarget" in asked:
        answer["CapacityReservationTarget"] = asked["CapacityReservationTarget"]
    elif "CapacityReservationPreference" not in asked:
        answer["CapacityReservationPreference"] = "open"
    if "CapacityReservationPreference" in asked:
        answer["CapacityReservationPreference"] = asked["CapacityReservationPreference"]
    return answer


def profile_name(settings: Tree) -> str:
    """The instance profile that is asked for, by its name."""
    asked = settings.get("IamInstanceProfile", {})
    return str(asked.get("Name") or asked.get("Arn", "").rpartition("/")[2])


def _profile(settings: Tree) -> Tree | None:
    known = moto_state.instance_profiles().get(profile_name(settings))
    return {"Arn": known[0], "Id": known[1]} if known else None


def group_ids(settings: Tree) -> list[str]:
    """Security groups of the first network interface, or else those beside the interfaces."""
    for interface in settings.get("NetworkInterfaces", []):
        if interface.get("DeviceIndex", 0) == 0 and interface.get("Groups"):
            return list(interface["Groups"])
    return list(settings.get("SecurityGroupIds", []))


def _groups(ids: list[str]) -> list[Tree]:
    known = moto_state.security_groups()
    return [{"GroupId": one, "GroupName": known[one][0] if one in known else ""} for one in ids]


def _attached(instance: Instance) -> Tree:
    """What EC2 no longer tells of an instance that is terminated."""
    groups = _groups(group_ids(instance.settings))
    host = "ip-" + instance.address.replace(".", "-")
    return {
        "PrivateDnsName": f"{host}.{moto_state.REGION}.compute.internal",
        "PrivateIpAddress": instance.address,
        "SubnetId": instance.subnet.subnet_id,
        "VpcId": instance.subnet.vpc_id,
        "SecurityGroups": groups,
        "SourceDestCheck": True,
        "BlockDeviceMappings": [_device(instance, volume) for volume in instance.volumes],
        "NetworkInterfaces": [
            _interface(instance, number, asked, groups)
            for number, asked in enumerate(instance.settings.get("NetworkInterfaces") or [{}])
        ],
    }


def _device(instance: Instance, volume: Volume) -> Tree:
    return {
        "DeviceName": volume.device,
        "Ebs": {
            "AttachTime": instance.launched_at,
            "DeleteOnTermination": volume.settings.get("DeleteOnTermination", True),
            "Status": "attached",
            "VolumeId": volume.volume_id,
        },
    }


def _interface(instance: Instance, number: int, asked: Tree, groups: list[Tree]) -> Tree:
    interface_id = f"eni-{instance.instance_id.removeprefix('i-')[:-1]}{number}"
    interface: Tree = {
        "NetworkInterfaceId": interface_id,
        "InterfaceType": asked.get("InterfaceType", "interface"),
        "Status": "in-use",
        "SubnetId": instance.subnet.subnet_id,
        "VpcId": instance.subnet.vpc_id,
        "OwnerId": moto_state.ACCOUNT,
        "Groups": groups,
        "SourceDestCheck": True,
        "Attachment": {
            "AttachTime": instance.launched_at,
            "AttachmentId": interface_id.replace("eni-", "eni-attach-"),
            "DeleteOnTermination": asked.get("DeleteOnTermination", True),
            "DeviceIndex": asked.get("DeviceIndex", 0),
            "NetworkCardIndex": asked.get("NetworkCardIndex", 0),
            "Status": "attached",
        },
    }
    if number == 0:
        interface["PrivateIpAddress"] = instance.address
        interface["PrivateIpAddresses"] = [{"Primary": True, "PrivateIpAddress": instance.address}]
    return interface
