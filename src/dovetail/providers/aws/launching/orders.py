"""Computes what is asked of EC2 for a claim: launch templates, and the fleet request over them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from dovetail import labels
from dovetail.cloud.errors import InsufficientCapacityError
from dovetail.cloud.price_list import PriceList
from dovetail.model.claim import ClaimObject
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.requirements import Requirements
from dovetail.model.resources import PODS
from dovetail.providers.aws.bootstrap.families import Family, family_of
from dovetail.providers.aws.bootstrap.user_data import BootstrapInputs, user_data
from dovetail.providers.aws.catalogue.capacity import kubelet_for
from dovetail.providers.aws.catalogue.class_facts import ClassFacts
from dovetail.providers.aws.catalogue.machines import MachineType
from dovetail.providers.aws.images.resolution import image_for
from dovetail.providers.aws.launching import keys
from dovetail.providers.aws.launching.fleet_request import (
    FleetOverride,
    FleetTerms,
    TemplateUse,
    fleet_request,
)
from dovetail.providers.aws.launching.marks import Request
from dovetail.providers.aws.launching.options import (
    LaunchOption,
    LaunchOptions,
    is_capacity_block,
    is_interruptible,
    launch_options,
)
from dovetail.providers.aws.launching.templates import (
    DEDICATED,
    INTERRUPTIBLE,
    LaunchTemplate,
    TemplateInputs,
    launch_template,
    static_tags,
)
from dovetail.providers.aws.node_class.kubelet import ResolvedKubelet
from dovetail.providers.aws.node_class.types import AMI, EC2NodeClass
from dovetail.providers.aws.settings import AwsSettings

_FEW_TYPES: Final = 5
_DEFAULT: Final = "default"
_ANNOTATIONS: Final = (
    labels.MIN_VALUES_RELAXED,
    labels.PRICE_OVERLAY_APPLIED,
    labels.CAPACITY_OVERLAY_APPLIED,
)


class ClusterNetwork(msgspec.Struct, frozen=True):
    """What instances must know of the cluster's network: Services, and the address of its DNS."""

    service_cidr: str = ""
    dns_ips: tuple[str, ...] = ()

    @property
    def is_ipv6(self) -> bool:
        """Whether the cluster speaks IPv6."""
        return ":" in "".join(self.dns_ips[:1]) or ":" in self.service_cidr


class OrderInputs(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that an order depends on besides its claim."""

    node_class: EC2NodeClass
    facts: ClassFacts
    prices: PriceList
    machines: Mapping[str, MachineType]
    subnets: Mapping[str, str]  # the subnet to launch into, by zone
    network: ClusterNetwork
    settings: AwsSettings
    knows_reservations: bool = True


class LaunchOrder(msgspec.Struct, frozen=True):
    """What is asked of EC2. `pods_by_subnet` is how many addresses a node takes at least."""

    request: Request
    templates: tuple[LaunchTemplate, ...]
    options: LaunchOptions
    tenancy: str
    partition: str
    placement_group: str
    pods_by_subnet: Mapping[str, int]

    def reservation(self, instance_type: str, zone: str) -> str:
        """The reservation that an instance of this type in this zone is launched into, if any."""
        for option in self.options.options:
            if option.instance_type.name == instance_type:
                return next((at.reservation_id for at in option.offerings if at.zone == zone), "")
        return ""

    @property
    def warning(self) -> str:
        """What is worth telling the operator."""
        n_types = len(self.options.options)
        is_narrow = self.options.capacity_type == labels.ON_DEMAND and n_types < _FEW_TYPES
        if self.options.is_flexible_to_spot and is_narrow:
            return (
                f"launching on-demand with only {n_types} instance types although spot may be used"
            )
        return ""


class _Group(msgspec.Struct, frozen=True, gc=False):
    """What types must have in common to share a launch template."""

    image: str
    max_pods: int
    n_efas: int
    kubelet: bytes
    reservation_id: str
    market_type: str


class _Member(msgspec.Struct, frozen=True, gc=False):
    instance_type: InstanceType
    offering: Offering
    image: AMI
    kubelet: ResolvedKubelet


def asks_alike(claim: ClaimObject, other: ClaimObject) -> bool:
    """Whether the orders for two claims are the same, all else being equal."""
    return (
        claim.requirements == other.requirements
        and claim.requests == other.requests
        and claim.labels == other.labels
        and _overlays(claim) == _overlays(other)
        and claim.taints == other.taints
        and claim.startup_taints == other.startup_taints
        and claim.node_pool == other.node_pool
    )


def _overlays(claim: ClaimObject) -> tuple[str | None, ...]:
    """The annotations that an order depends on."""
    return tuple(claim.annotations.get(key) for key in _ANNOTATIONS)


def launch_order(claim: ClaimObject, inputs: OrderInputs) -> LaunchOrder:
    """The order for a claim. Raises InsufficientCapacityError if nothing can be asked for,
    KubeletError, and UserDataError.
    """
    options = launch_options(claim, inputs.prices)
    groups = _groups(claim, options, inputs)
    if not groups:
        msg = (
            f"launching node claim {claim.name}: no image of node class "
            f"{inputs.node_class.metadata.name} boots any of the instance types, or it has no "
            "subnet where they are offered"
        )
        raise InsufficientCapacityError(msg)
    order = _Order(claim, options, inputs)
    templates, uses = [], []
    for group, members in groups.items():
        template = order.template(group, members[0])
        templates.append(template)
        uses.append(TemplateUse(template.name, tuple(order.override(member) for member in members)))
    return LaunchOrder(
        request=fleet_request(uses, order.terms()),
        templates=tuple(templates),
        options=options,
        tenancy=order.tenancy,
        partition=order.partition,
        placement_group=inputs.facts.placement_group.id,
        pods_by_subnet=_pods_by_subnet(groups, inputs),
    )


def _groups(
    claim: ClaimObject, options: LaunchOptions, inputs: OrderInputs
) -> dict[_Group, list[_Member]]:
    groups: dict[_Group, list[_Member]] = {}
    for option in options.options:
        image = image_for(option.instance_type.requirements, inputs.node_class.status.amis)
        machine = inputs.machines.get(option.instance_type.name)
        if image is None or machine is None:
            continue
        kubelet = kubelet_for(machine, inputs.facts.capacity)
        for offering in option.offerings:
            if offering.zone not in inputs.subnets:
                continue
            group = _group(claim, option, offering, (image, kubelet))
            member = _Member(option.instance_type, offering, image, kubelet)
            groups.setdefault(group, []).append(member)
    return groups


def _group(
    claim: ClaimObject, option: LaunchOption, offering: Offering, boot: tuple[AMI, ResolvedKubelet]
) -> _Group:
    image, kubelet = boot
    capacity = option.instance_type.capacity
    return _Group(
        image=image.id,
        max_pods=capacity.get(PODS, 0),
        n_efas=capacity.get(keys.EFA, 0) if claim.requests.get(keys.EFA) else 0,
        kubelet=msgspec.json.encode(kubelet, order="sorted"),
        reservation_id=offering.reservation_id,
        market_type=_market_type(offering),
    )


def _market_type(offering: Offering) -> str:
    if is_capacity_block(offering):
        return keys.CAPACITY_BLOCK
    return INTERRUPTIBLE if is_interruptible(offering) else ""


class _Order:
    """One order: what all of its templates have in common is worked out once."""

    def __init__(self, claim: ClaimObject, options: LaunchOptions, inputs: OrderInputs) -> None:
        self._claim = claim
        self._options = options
        self._inputs = inputs
        wanted = Requirements(claim.requirements)
        tenancy = wanted.get(keys.TENANCY)
        self.tenancy = _DEFAULT if tenancy is None or tenancy.has(_DEFAULT) else DEDICATED
        self.partition = _partition(wanted, options)
        node_class = inputs.node_class
        self._tags = static_tags(
            cluster_name=inputs.settings.cluster_name,
            node_pool=claim.node_pool,
            node_class=node_class.metadata.name,
            own=node_class.spec.tags,
        )

    def terms(self) -> FleetTerms:
        first = self._options.options[0].offerings[0]
        target = self._options.capacity_type
        if target == labels.RESERVED:
            market_type = _market_type(first)
            by_market = {
                keys.CAPACITY_BLOCK: keys.CAPACITY_BLOCK,
                INTERRUPTIBLE: "reserved-capacity",
            }
            target = by_market.get(market_type, labels.ON_DEMAND)
        # Karpenter writes "false" where they are not.
        is_relaxed = self._claim.annotations.get(labels.MIN_VALUES_RELAXED) == "true"
        context = "" if is_relaxed else self._inputs.node_class.spec.context or ""
        return FleetTerms(
            target=target,
            is_price_overlaid=labels.PRICE_OVERLAY_APPLIED in self._claim.annotations,
            context=context,
            tags=self._tags,
        )

    def override(self, member: _Member) -> FleetOverride:
        zone = member.offering.zone
        return FleetOverride(
            price_nanousd=member.offering.price_nanousd,
            instance_type=member.instance_type.name,
            zone=zone,
            subnet_id=self._inputs.subnets[zone],
            image_id=member.image.id,
        )

    def template(self, group: _Group, member: _Member) -> LaunchTemplate:
        status = self._inputs.node_class.status
        claim = self._claim
        return launch_template(
            TemplateInputs(
                spec=self._inputs.node_class.spec,
                image_id=group.image,
                user_data=self._user_data(group, member),
                instance_profile=status.instance_profile,
                security_groups=tuple(group.id for group in status.security_groups),
                region=self._inputs.settings.region,
                capacity_type=self._options.capacity_type,
                tags=self._tags,
                n_efas=group.n_efas,
                is_ipv6=self._inputs.network.is_ipv6,
                has_enclave=bool(claim.requests.get(keys.NITRO_SANDBOX)),
                tenancy=self.tenancy,
                placement_group=self._inputs.facts.placement_group.id,
                partition=self.partition,
                reservation_id=group.reservation_id,
                market_type=group.market_type,
                knows_reservations=self._inputs.knows_reservations,
            )
        )

    def _user_data(self, group: _Group, member: _Member) -> str:
        settings, spec = self._inputs.settings, self._inputs.node_class.spec
        family = family_of(spec)
        if family is Family.CUSTOM:
            return spec.user_data or ""
        return user_data(
            family,
            BootstrapInputs(
                cluster_name=settings.cluster_name,
                kubelet=member.kubelet,
                cluster_endpoint=settings.cluster_endpoint,
                ca_bundle=settings.cluster_ca_bundle,
                cluster_cidr=self._inputs.network.service_cidr,
                dns_ips=self._inputs.network.dns_ips,
                max_pods=group.max_pods,
                labels=self._claim.labels,
                capacity_type=self._options.capacity_type,
                taints=self._claim.taints,
                startup_taints=self._claim.startup_taints,
                instance_store_policy=spec.instance_store_policy,
                image_names=(member.image.name,),
                ami_selector_terms=spec.ami_selector_terms,
                custom=spec.user_data,
            ),
        )


def _partition(wanted: Requirements, options: LaunchOptions) -> str:
    """The lowest partition that the claim asks for; empty if it leaves the choice to EC2."""
    asked = wanted.get(keys.PARTITION)
    if asked is None or asked.complement:
        return ""
    offered = {
        value
        for option in options.options
        for at in option.offerings
        for stated in [at.requirements.get(keys.PARTITION)]
        if stated is not None
        for value in stated.values
        if asked.has(value)
    }
    return min(offered, key=lambda subnet: (len(subnet), subnet), default="")


def _pods_by_subnet(
    groups: Mapping[_Group, Iterable[_Member]], inputs: OrderInputs
) -> dict[str, int]:
    least: dict[str, int] = {}
    for group, members in groups.items():
        for member in members:
            subnet = inputs.subnets[member.offering.zone]
            least[subnet] = min(least.get(subnet, group.max_pods), group.max_pods)
    return least
