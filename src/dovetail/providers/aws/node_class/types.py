"""Defines EC2NodeClass (`karpenter.k8s.aws/v1`), field for field as the API stores it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar, Final

import msgspec

from dovetail import api
from dovetail.api.facts import Rule, about
from dovetail.api.meta import Condition, Wire
from dovetail.providers.aws.node_class import rules
from dovetail.providers.aws.node_class.kubelet_shape import KubeletShape
from dovetail.providers.aws.node_class.terms import (
    ABSENT_LIST,
    GIVEN,
    NO_TAGS,
    AMISelectorTerm,
    CapacityReservationSelectorTerm,
    PlacementGroupSelector,
    SecurityGroupSelectorTerm,
    SubnetSelectorTerm,
)

__all__ = [
    "ABSENT_LIST",
    "AMI",
    "FAMILIES",
    "NO_TAGS",
    "AMISelectorTerm",
    "BlockDevice",
    "BlockDeviceMapping",
    "CapacityReservation",
    "CapacityReservationSelectorTerm",
    "ConnectionTracking",
    "CpuOptions",
    "EC2NodeClass",
    "EC2NodeClassSpec",
    "EC2NodeClassStatus",
    "MetadataOptions",
    "NetworkInterface",
    "PlacementGroupSelector",
    "SecurityGroup",
    "SecurityGroupSelectorTerm",
    "Subnet",
    "SubnetSelectorTerm",
]

_MOST: Final = 2**31 - 1
_ON_OFF: Final = ("enabled", "disabled")
_SIZE: Final = (
    "^(([1-9][0-9]{0,3}|[1-4][0-9]{4}|5[0-8][0-9]{3}|59000)Gi"
    "|([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-3][0-9]{3}|64000)G"
    "|([1-9]|[1-4][0-9]|5[0-8])Ti|([1-9]|[1-5][0-9]|6[0-4])T)$"
)
FAMILIES: Final = (
    "AL2",
    "AL2023",
    "Bottlerocket",
    "Custom",
    "Windows2019",
    "Windows2022",
    "Windows2025",
)


class BlockDevice(Wire, frozen=True):
    """An EBS volume of a new instance."""

    rules: ClassVar[tuple[Rule, ...]] = (rules.HAS_VOLUME_SOURCE, rules.RATE_HAS_SNAPSHOT)
    delete_on_termination: Annotated[
        bool | None, about("Whether the volume is deleted with its instance.")
    ] = None
    encrypted: Annotated[bool | None, about("Whether the volume is encrypted.")] = None
    iops: Annotated[int | None, about("Operations a second, for gp3, io1 and io2.")] = None
    kms_key_id: Annotated[
        str | None, about("The key of the encryption: an id, an alias or an ARN.")
    ] = msgspec.field(default=None, name="kmsKeyID")
    snapshot_id: Annotated[str | None, about("The snapshot that the volume is made from.")] = (
        msgspec.field(default=None, name="snapshotID")
    )
    throughput: Annotated[int | None, about("Throughput of a gp3 volume, in MiB a second.")] = None
    volume_initialization_rate: Annotated[
        int | None,
        about("How fast the snapshot is loaded, in MiB a second.", minimum=100, maximum=300),
    ] = None
    volume_size: Annotated[
        str | None,
        about(
            "The size of the volume.",
            pattern=_SIZE,
            expected="1Gi to 59000Gi, 1G to 64000G, 1Ti to 58Ti or 1T to 64T",
        ),
    ] = None
    volume_type: Annotated[
        str | None,
        about(
            "The type of the volume.",
            enum=("standard", "io1", "io2", "gp2", "sc1", "st1", "gp3"),
        ),
    ] = None


class BlockDeviceMapping(Wire, frozen=True):
    """Where a volume is attached."""

    device_name: Annotated[str | None, about("The name of the device, such as /dev/xvda.")] = None
    ebs: Annotated[BlockDevice | None, about("The volume.")] = None
    root_volume: Annotated[
        bool, about("Whether this is the disk of the kubelet; at most one is.")
    ] = False


class NetworkInterface(Wire, frozen=True):
    """A network interface of a new instance."""

    network_card_index: Annotated[
        int,
        about("The card that it is attached to.", minimum=0, maximum=_MOST, is_required=True),
    ] = 0
    device_index: Annotated[
        int, about("Its place on the card.", minimum=0, maximum=_MOST, is_required=True)
    ] = 0
    interface_type: Annotated[
        str,
        about("What it is for.", enum=("interface", "efa-only"), is_required=True),
    ] = "interface"


class MetadataOptions(Wire, frozen=True):
    """How instances reach the metadata service."""

    http_endpoint: Annotated[
        str | None, about("Whether there is an endpoint.", enum=_ON_OFF, default="enabled")
    ] = None
    http_protocol_ipv6: Annotated[
        str | None,
        about("Whether it has an IPv6 address.", enum=_ON_OFF, default="disabled"),
    ] = msgspec.field(default=None, name="httpProtocolIPv6")
    http_put_response_hop_limit: Annotated[
        int | None,
        about("How many hops an answer may travel.", minimum=1, maximum=64, default=1),
    ] = None
    http_tokens: Annotated[
        str | None,
        about(
            "Whether requests need a session token.",
            enum=("required", "optional"),
            default="required",
        ),
    ] = None


class ConnectionTracking(Wire, frozen=True):
    """Idle timeouts of tracked connections, in seconds."""

    rules: ClassVar[tuple[Rule, ...]] = (rules.HAS_TIMEOUT,)
    tcp_established_timeout: Annotated[
        int | None, about("Of established TCP connections.", minimum=60, maximum=432000)
    ] = None
    udp_stream_timeout: Annotated[
        int | None, about("Of UDP flows with several requests.", minimum=60, maximum=180)
    ] = None
    udp_timeout: Annotated[
        int | None, about("Of UDP flows with a single request.", minimum=30, maximum=60)
    ] = None


class CpuOptions(Wire, frozen=True):
    """Options of the processor."""

    nested_virtualization: Annotated[
        str,
        GIVEN,
        about("Whether instances can run virtual machines; restricts types.", enum=_ON_OFF),
    ] = ""


class EC2NodeClassSpec(Wire, frozen=True):
    """What instances of this class are like."""

    rules: ClassVar[tuple[Rule, ...]] = (
        rules.HAS_SUBNETS,
        rules.HAS_GROUPS,
        rules.HAS_IMAGES,
        rules.ONE_IDENTITY,
        rules.HAS_FAMILY,
        rules.FAMILY_FITS_ALIAS,
    )
    subnet_selector_terms: Annotated[
        tuple[SubnetSelectorTerm, ...],
        about("The subnets of instances: those of any term.", max_items=30, is_required=True),
    ] = ()
    security_group_selector_terms: Annotated[
        tuple[SecurityGroupSelectorTerm, ...],
        about("The security groups: those of any term.", max_items=30, is_required=True),
    ] = ()
    capacity_reservation_selector_terms: Annotated[
        tuple[CapacityReservationSelectorTerm, ...],
        about("Reservations that launches use: those of any term.", max_items=30),
    ] = ()
    placement_group_selector: Annotated[
        PlacementGroupSelector | None, about("The placement group of all instances.")
    ] = None
    associate_public_ip_address: Annotated[
        bool | None,
        about("Whether instances get a public address. Absent: as the subnet says."),
    ] = msgspec.field(default=None, name="associatePublicIPAddress")
    ip_prefix_count: Annotated[
        int | None,
        about("How many address prefixes an interface gets.", minimum=0, maximum=_MOST),
    ] = None
    ami_selector_terms: Annotated[
        tuple[AMISelectorTerm, ...],
        about(
            "The machine images: those of any term.",
            max_items=30,
            is_required=True,
            rules=(rules.ALIAS_IS_THE_ONLY_TERM,),
        ),
    ] = ()
    ami_family: Annotated[
        str,
        GIVEN,
        about("The format of user data. Absent: the family of the alias.", enum=FAMILIES),
    ] = ""
    user_data: Annotated[
        str | None, about("User data that is merged with that of the controller.")
    ] = None
    role: Annotated[
        str,
        GIVEN,
        about("The IAM role of nodes; the controller makes a profile of it.", min_length=1),
    ] = ""
    instance_profile: Annotated[
        str | None, about("The name of an instance profile that exists.", min_length=1)
    ] = None
    tags: Annotated[
        dict[str, str],
        about(
            "Tags of everything that is created for nodes.",
            rules=(rules.NO_EMPTY_TAG_KEYS, rules.NO_RESTRICTED_TAGS),
        ),
    ] = NO_TAGS
    kubelet: Annotated[
        dict[str, object] | None,
        about(
            "Configuration of the kubelet, in the fields of KubeletConfiguration v1beta1.",
            known_keys=KubeletShape,
        ),
    ] = None
    block_device_mappings: Annotated[
        tuple[BlockDeviceMapping, ...],
        about(
            "The disks. Absent: those of the family.", max_items=50, rules=(rules.ONE_ROOT_VOLUME,)
        ),
    ] = ABSENT_LIST
    instance_store_policy: Annotated[
        str | None,
        about("What local disks are used for: RAID0 makes one disk of them.", enum=("RAID0",)),
    ] = None
    network_interfaces: Annotated[
        tuple[NetworkInterface, ...],
        about(
            "The network interfaces. Absent: one, or EFA as the pods request.",
            max_items=150,
            rules=(rules.HAS_PRIMARY_INTERFACE, rules.PLACES_ARE_UNIQUE, rules.ONE_EFA_PER_CARD),
        ),
    ] = ABSENT_LIST
    detailed_monitoring: Annotated[
        bool | None, about("Whether CloudWatch has metrics of every minute.")
    ] = None
    metadata_options: Annotated[
        MetadataOptions | None,
        about(
            "How instances reach the metadata service.",
            default={
                "httpEndpoint": "enabled",
                "httpProtocolIPv6": "disabled",
                "httpPutResponseHopLimit": 1,
                "httpTokens": "required",
            },
        ),
    ] = None
    connection_tracking: Annotated[
        ConnectionTracking | None,
        about("Idle timeouts of tracked connections; restricts types to Nitro."),
    ] = None
    context: Annotated[str | None, about("A field of CreateFleet that AWS reserves.")] = None
    cpu_options: Annotated[CpuOptions | None, about("Options of the processor.")] = None


class Subnet(Wire, frozen=True):
    """A subnet that the selectors found."""

    id: Annotated[str, about("The id of the subnet.", is_required=True)] = ""
    zone: Annotated[str, about("The name of its zone.", is_required=True)] = ""
    zone_id: Annotated[str, about("The id of its zone.")] = msgspec.field(default="", name="zoneID")


class SecurityGroup(Wire, frozen=True):
    """A security group that the selectors found."""

    id: Annotated[str, about("The id of the group.", is_required=True)] = ""
    name: Annotated[str, about("The name of the group.")] = ""


class AMI(Wire, frozen=True):
    """A machine image that the selectors found, and which instance types can boot it."""

    id: Annotated[str, about("The id of the image.", is_required=True)] = ""
    name: Annotated[str, about("The name of the image.")] = ""
    deprecated: Annotated[bool, about("Whether its owner advises against it.")] = False
    requirements: Annotated[
        tuple[api.NodeSelectorRequirement, ...],
        about("Which instance types can boot it.", is_required=True),
    ] = ()


class CapacityReservation(Wire, frozen=True):
    """A capacity reservation that the selectors found."""

    id: Annotated[str, about("The id of the reservation.", is_required=True)] = ""
    instance_type: Annotated[str, about("The type of its instances.", is_required=True)] = ""
    availability_zone: Annotated[str, about("The zone of its instances.", is_required=True)] = ""
    owner_id: Annotated[str, about("The account that owns it.", is_required=True)] = msgspec.field(
        default="", name="ownerID"
    )
    instance_match_criteria: Annotated[
        str, about("Which instances it takes.", enum=("open", "targeted"), is_required=True)
    ] = ""
    reservation_type: Annotated[
        str,
        about(
            "What kind of reservation it is.",
            enum=("default", "capacity-block"),
            default="default",
        ),
    ] = "default"
    interruptible: Annotated[bool, about("Whether its owner may take it back.")] = False
    end_time: Annotated[datetime | None, about("When it ends.")] = None
    state: Annotated[
        str,
        about("Whether it can be used still.", enum=("active", "expiring"), default="active"),
    ] = "active"


class EC2NodeClassStatus(api.NodeClassStatus, frozen=True):
    """What the selectors found, and whether instances can be launched."""

    subnets: Annotated[tuple[Subnet, ...], about("The subnets that were found.")] = ()
    security_groups: Annotated[
        tuple[SecurityGroup, ...], about("The security groups that were found.")
    ] = ()
    capacity_reservations: Annotated[
        tuple[CapacityReservation, ...], about("The reservations that were found.")
    ] = ()
    amis: Annotated[tuple[AMI, ...], about("The images that were found, newest first.")] = ()
    instance_profile: Annotated[str, about("The instance profile of new instances.")] = ""
    conditions: Annotated[
        tuple[Condition, ...], about("Whether instances can be launched, and what is missing.")
    ] = ()


class EC2NodeClass(api.NodeClass, frozen=True):
    """Settings of EC2 instances."""

    spec: Annotated[EC2NodeClassSpec, about("What instances are like.")] = EC2NodeClassSpec()
    status: Annotated[
        EC2NodeClassStatus, about("What was found, and whether instances can be launched.")
    ] = EC2NodeClassStatus()
