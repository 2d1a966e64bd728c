"""Launches one instance, or says why EC2 would not."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_network

from tests.ec2.extension import moto_state, placement_groups, reservations
from tests.ec2.extension.catalogue import ON_DEMAND, SPOT, Pool, architecture, shapes
from tests.ec2.extension.instances import Instance, Volume, group_ids, profile_name
from tests.ec2.extension.moto_state import Subnet
from tests.ec2.extension.wire import AwsError, Tree
from tests.ec2.extension.world import World, tags_for

_USER_DATA_BYTES = 16384


@dataclass(frozen=True)
class Order:
    """What is to be launched: settings of the template with those of the override over them."""

    settings: Tree
    instance_type: str
    capacity_type: str  # of the pool: on-demand or spot
    subnet: Subnet
    tags: dict[str, str]
    volume_tags: dict[str, str]
    max_price_nanousd: int | None = None

    @property
    def pool(self) -> Pool:
        """Where the capacity comes from."""
        return self.instance_type, self.subnet.zone, self.capacity_type


def find_subnet(settings: Tree, zone: str) -> Subnet:
    """The subnet of a launch: its own, or the default one of its zone."""
    interfaces = settings.get("NetworkInterfaces") or [{}]
    subnet_id = settings.get("SubnetId") or interfaces[0].get("SubnetId")
    subnet = moto_state.subnet_by_id(subnet_id) if subnet_id else moto_state.default_subnet(zone)
    if subnet is None:
        msg = f"The subnet ID '{subnet_id}' does not exist"
        raise AwsError("InvalidSubnetID.NotFound", msg)
    if zone and zone != subnet.zone:
        msg = f"The subnet '{subnet.subnet_id}' is not in the Availability Zone '{zone}'"
        raise AwsError("InvalidParameterValue", msg)
    return subnet


def check(world: World, order: Order) -> None:
    """Raise the error that EC2 would give for an order that can never be launched."""
    _check_type_and_image(world, order)
    _check_network_and_profile(order)
    user_data = order.settings.get("UserData", "")
    if len(user_data) * 3 // 4 - user_data.count("=") > _USER_DATA_BYTES:
        msg = f"User data is limited to {_USER_DATA_BYTES} bytes"
        raise AwsError("InvalidParameterValue", msg)


def _check_type_and_image(world: World, order: Order) -> None:
    if order.instance_type not in shapes():
        msg = f"Invalid value '{order.instance_type}' for InstanceType."
        raise AwsError("InvalidParameterValue", msg)
    image_id = order.settings.get("ImageId", "")
    image = world.images.get(image_id)
    if image is None:
        msg = f"The image id '[{image_id}]' does not exist"
        raise AwsError("InvalidAMIID.NotFound", msg)
    if image.architecture != architecture(order.instance_type):
        msg = (
            f"The architecture '{architecture(order.instance_type)}' of the specified instance "
            f"type does not match the architecture '{image.architecture}' of the specified AMI."
        )
        raise AwsError("InvalidParameterValue", msg)


def _check_network_and_profile(order: Order) -> None:
    known = moto_state.security_groups()
    for group_id in group_ids(order.settings):
        if group_id not in known:
            msg = f"The security group '{group_id}' does not exist"
            raise AwsError("InvalidGroup.NotFound", msg)
        if known[group_id][1] != order.subnet.vpc_id:
            msg = (
                f"Security group {group_id} and subnet {order.subnet.subnet_id} belong to "
                "different networks."
            )
            raise AwsError("InvalidParameter", msg)
    profile = profile_name(order.settings)
    if profile and profile not in moto_state.instance_profiles():
        msg = (
            f"Value ({profile}) for parameter iamInstanceProfile.name is invalid. "
            "Invalid IAM Instance Profile name"
        )
        raise AwsError("InvalidParameterValue", msg)


def check_capacity(world: World, order: Order) -> str:
    """Raise the error for what is used up; else the capacity reservation that the launch uses."""
    free = free_addresses(world, order.subnet)
    if free <= 0:
        msg = f"There are not enough free addresses in subnet '{order.subnet.subnet_id}'"
        raise AwsError("InsufficientFreeAddressesInSubnet", msg)
    reservation_id = _reservation(world, order)
    if reservation_id:
        return reservation_id
    market = world.market
    if not market.is_offered(order.pool):
        msg = (
            f"Your requested instance type ({order.instance_type}) is not supported in your "
            f"requested Availability Zone ({order.subnet.zone})."
        )
        raise AwsError("Unsupported", msg)
    ceiling = order.max_price_nanousd
    if order.capacity_type == SPOT and ceiling is not None and ceiling < market.price(order.pool):
        msg = "Your Spot request price is lower than the minimum required Spot request price"
        raise AwsError("SpotMaxPriceTooLow", msg)
    left = market.free(order.pool)
    if left is not None and left <= 0:
        msg = (
            f"We currently do not have sufficient {order.instance_type} capacity in the "
            f"Availability Zone you requested ({order.subnet.zone})."
        )
        raise AwsError("InsufficientInstanceCapacity", msg)
    return ""


def free_addresses(world: World, subnet: Subnet) -> int:
    """How many more instances a subnet has addresses for."""
    base = world.free_addresses.get(subnet.subnet_id, subnet.n_addresses)
    return base - world.used_addresses(subnet.subnet_id)


def _reservation(world: World, order: Order) -> str:
    """The reservation that a launch uses: its target, or an open one that fits."""
    asked = order.settings.get("CapacityReservationSpecification", {})
    target = asked.get("CapacityReservationTarget", {}).get("CapacityReservationId")
    if target:
        return _targeted(world, order, target)
    if order.capacity_type != ON_DEMAND or asked.get("CapacityReservationPreference") == "none":
        return ""
    for reservation in world.reservations.values():
        if (
            (reservation.instance_type, reservation.zone) == order.pool[:2]
            and reservation.criteria == "open"
            and reservations.state(world, reservation) == "active"
            and reservations.n_free(world, reservation) > 0
        ):
            return reservation.reservation_id
    return ""


def _targeted(world: World, order: Order, reservation_id: str) -> str:
    reservation = world.reservations.get(reservation_id)
    if reservation is None:
        msg = f"The capacity reservation ID '{reservation_id}' does not exist"
        raise AwsError("InvalidCapacityReservationId.NotFound", msg)
    fits = (reservation.instance_type, reservation.zone) == order.pool[:2]
    is_active = reservations.state(world, reservation) == "active"
    if not fits or not is_active or reservations.n_free(world, reservation) <= 0:
        msg = f"The requested capacity reservation {reservation_id} has no free capacity."
        raise AwsError("ReservationCapacityExceeded", msg)
    return reservation_id


def launch(world: World, order: Order, batch: str, token: str) -> Instance:
    """A new instance; `batch` is the reservation that EC2 lists it in."""
    reservation_id = check_capacity(world, order)
    settings = order.settings
    if not group_ids(settings):
        settings = {**settings, "SecurityGroupIds": _default_groups(order.subnet.vpc_id)}
    instance = Instance(
        instance_id=world.new_id("i"),
        reservation_id=batch,
        launched_at=world.clock.now(),
        pool=order.pool,
        subnet=order.subnet,
        settings=settings,
        address=_address(world, order.subnet),
        tags=dict(order.tags),
        volumes=_volumes(world, order),
        network_tags=tags_for(settings, "network-interface"),
        client_token=token,
        spot_request_id=world.new_id("sir") if order.capacity_type == SPOT else "",
        capacity_reservation_id=reservation_id,
        placement=placement_groups.place(world, settings.get("Placement", {})),
    )
    world.add(instance)
    return instance


def _default_groups(vpc_id: str) -> list[str]:
    known = moto_state.security_groups()
    return [one for one, (name, vpc) in known.items() if vpc == vpc_id and name == "default"]


def _address(world: World, subnet: Subnet) -> str:
    network = ip_network(subnet.cidr)
    # The first four addresses and the last one of a subnet are AWS's own.
    return str(network[4 + world.next_number() % (network.num_addresses - 5)])


def _volumes(world: World, order: Order) -> tuple[Volume, ...]:
    image = world.images[order.settings["ImageId"]]
    root = {"DeviceName": image.root_device, "Ebs": {"VolumeSize": 8, "VolumeType": "gp3"}}
    asked = [one for one in order.settings.get("BlockDeviceMappings", []) if "Ebs" in one]
    if all(one["DeviceName"] != image.root_device for one in asked):
        asked = [root, *asked]
    return tuple(
        Volume(world.new_id("vol"), one["DeviceName"], one["Ebs"], order.volume_tags)
        for one in asked
    )
