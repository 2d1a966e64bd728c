"""Tests of drift: each reason, and that nothing else is one."""

from __future__ import annotations

import msgspec
import pytest

from dovetail import api, labels
from dovetail.cloud.declare import absent, single
from dovetail.model.instance import InstanceType
from dovetail.model.requirements import Requirements
from dovetail.providers.aws.instances.described import Ec2Instance
from dovetail.providers.aws.instances.drift import InstanceDriftView, drift_reason
from dovetail.providers.aws.launching import keys
from dovetail.providers.aws.node_class.types import (
    AMI,
    CapacityReservation,
    EC2NodeClass,
    EC2NodeClassStatus,
    SecurityGroup,
    Subnet,
)

ARM = api.NodeSelectorRequirement(key=labels.ARCH, operator="In", values=("arm64",))
AMD = api.NodeSelectorRequirement(key=labels.ARCH, operator="In", values=("amd64",))
HASHES = {keys.NODE_CLASS_HASH: "1", keys.NODE_CLASS_HASH_VERSION: "v5"}
STATUS = EC2NodeClassStatus(
    subnets=(Subnet(id="subnet-1"), Subnet(id="subnet-2")),
    security_groups=(SecurityGroup(id="sg-1"), SecurityGroup(id="sg-2")),
    amis=(AMI(id="ami-arm", requirements=(ARM,)), AMI(id="ami-amd", requirements=(AMD,))),
    capacity_reservations=(CapacityReservation(id="cr-1"),),
)
CLASS = EC2NodeClass(metadata=api.ObjectMeta(name="default", annotations=HASHES), status=STATUS)
INSTANCE = Ec2Instance(
    id="i-1",
    instance_type="m5.large",
    zone="us-west-2a",
    image_id="ami-amd",
    subnet_id="subnet-2",
    security_groups=frozenset({"sg-2", "sg-1"}),
    reservation_id="cr-1",
)
HELD = InstanceType(
    "m5.large",
    Requirements([single(labels.ARCH, "amd64"), absent(keys.GPU_COUNT)]),
    {},
    {},
    (),
)
VIEW = InstanceDriftView(
    node_class=CLASS,
    class_hash="1",
    instance=INSTANCE,
    held=HELD,
    labels={labels.RESERVATION_ID: "cr-1", keys.PLACEMENT_GROUP: "pg-1"},
    annotations=HASHES,
    placement_group="pg-1",
)


def with_status(**changes: object) -> InstanceDriftView:
    """The same with another status of the class."""
    status = msgspec.structs.replace(STATUS, **changes)
    return msgspec.structs.replace(VIEW, node_class=msgspec.structs.replace(CLASS, status=status))


def with_instance(**changes: object) -> InstanceDriftView:
    """The same with another instance."""
    return msgspec.structs.replace(VIEW, instance=msgspec.structs.replace(INSTANCE, **changes))


def test_an_instance_as_its_class_asks_for_has_not_drifted() -> None:
    """The order of groups and subnets does not matter."""
    assert drift_reason(VIEW) == ""


DRIFTED = [
    pytest.param(
        msgspec.structs.replace(VIEW, annotations={**HASHES, keys.NODE_CLASS_HASH: "2"}),
        "NodeClassDrift",
        id="NodeClassDrift: the hash of the class has changed",
    ),
    pytest.param(
        with_status(amis=(AMI(id="ami-new", requirements=(AMD,)), *STATUS.amis)),
        "AMIDrift",
        id="AMIDrift: a newer image comes first",
    ),
    pytest.param(
        with_status(amis=STATUS.amis[:1]),
        "AMIDrift",
        id="AMIDrift: no image boots the type any more",
    ),
    pytest.param(
        with_instance(security_groups=frozenset({"sg-1"})),
        "SecurityGroupDrift",
        id="SecurityGroupDrift: a group is missing",
    ),
    pytest.param(
        with_instance(security_groups=frozenset({"sg-1", "sg-2", "sg-3"})),
        "SecurityGroupDrift",
        id="SecurityGroupDrift: there is one group too many",
    ),
    pytest.param(
        with_instance(subnet_id="subnet-3"),
        "SubnetDrift",
        id="SubnetDrift: the subnet is not selected",
    ),
    pytest.param(
        with_status(capacity_reservations=(CapacityReservation(id="cr-2"),)),
        "CapacityReservationDrift",
        id="CapacityReservationDrift: the reservation is not selected",
    ),
    pytest.param(
        msgspec.structs.replace(VIEW, placement_group="pg-2"),
        "PlacementGroupDrift",
        id="PlacementGroupDrift: another placement group is selected",
    ),
    pytest.param(
        msgspec.structs.replace(VIEW, placement_group=""),
        "PlacementGroupDrift",
        id="PlacementGroupDrift: no placement group is selected any more",
    ),
]
ROWS = {
    "NodeClassDrift",
    "AMIDrift",
    "SecurityGroupDrift",
    "SubnetDrift",
    "CapacityReservationDrift",
    "PlacementGroupDrift",
}


def test_every_reason_has_a_row() -> None:
    """A reason that disappears is missed here."""
    assert {want for _, want in (row.values for row in DRIFTED)} == ROWS


@pytest.mark.parametrize(("view", "want"), DRIFTED)
def test_each_reason_for_drift(view: InstanceDriftView, want: str) -> None:
    """One thing differs."""
    assert drift_reason(view) == want


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(
            msgspec.structs.replace(
                VIEW,
                annotations={keys.NODE_CLASS_HASH: "2", keys.NODE_CLASS_HASH_VERSION: "v4"},
            ),
            id="hashes of different versions",
        ),
        pytest.param(msgspec.structs.replace(VIEW, annotations={}), id="a claim without a hash"),
        pytest.param(msgspec.structs.replace(VIEW, held=None), id="a type that is not known"),
        pytest.param(
            msgspec.structs.replace(
                with_status(capacity_reservations=()),
                instance=msgspec.structs.replace(INSTANCE, reservation_id=""),
            ),
            id="an instance that has left its reservation",
        ),
        pytest.param(with_status(subnets=(), security_groups=(), amis=()), id="an empty status"),
    ],
)
def test_what_is_no_drift(view: InstanceDriftView) -> None:
    """Nothing is replaced because something is not known."""
    assert drift_reason(view) == ""


def test_the_first_reason_counts() -> None:
    """In the order of the reference."""
    view = msgspec.structs.replace(with_instance(subnet_id="x", image_id="y"), placement_group="")
    assert drift_reason(view) == "AMIDrift"
