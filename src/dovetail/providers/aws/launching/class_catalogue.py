"""Knows what each node class can launch now: types, prices, subnets, and what is used up."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from dovetail import labels
from dovetail.cloud.context import ProviderContext
from dovetail.cloud.price_list import PriceList
from dovetail.kube.seam import Kube
from dovetail.model.claim import ClaimObject
from dovetail.model.instance import InstanceType
from dovetail.providers.aws.apis import AwsApis
from dovetail.providers.aws.bootstrap.families import family_of
from dovetail.providers.aws.catalogue.class_facts import NO_GROUP, ClassFacts, class_facts
from dovetail.providers.aws.catalogue.inputs import (
    CatalogueInputs,
    PlacementGroupFacts,
    UnavailableOffering,
)
from dovetail.providers.aws.catalogue.instance_types import resolve
from dovetail.providers.aws.catalogue.machines import MachineType
from dovetail.providers.aws.catalogue.source import CatalogueSource
from dovetail.providers.aws.cluster import ClusterFacts
from dovetail.providers.aws.launching.cluster_network import ClusterNetworkReader
from dovetail.providers.aws.launching.fleet_answer import FleetAnswer
from dovetail.providers.aws.launching.node_classes import NodeClassReader
from dovetail.providers.aws.launching.orders import LaunchOrder, OrderInputs
from dovetail.providers.aws.launching.outcomes import OrderPlace, unavailability
from dovetail.providers.aws.launching.overlaid_prices import with_overlays
from dovetail.providers.aws.launching.reservations import ReservationCounts
from dovetail.providers.aws.launching.subnets import FreeAddresses, zonal_subnets
from dovetail.providers.aws.launching.unavailable import UnavailableOfferings
from dovetail.providers.aws.node_class.types import EC2NodeClass
from dovetail.providers.aws.settings import AwsSettings
from dovetail.providers.aws.status.placement_groups import PlacementGroups

Types = tuple[InstanceType, ...]


def knows_reservations(gates: Mapping[str, bool]) -> bool:
    """Whether instances use capacity reservations only if they were launched for them."""
    return gates.get("ReservedCapacity", True)


class _Resolved:
    """The types of a class, and what is looked up in them."""

    def __init__(self, facts: ClassFacts, inputs: CatalogueInputs) -> None:
        self.facts = facts
        self.inputs = inputs
        self.types = resolve(facts, inputs)
        self.by_name = {kind.name: kind for kind in self.types}
        self.prices = PriceList(self.types)
        self.machines: Mapping[str, MachineType] = {
            machine.name: machine for machine in inputs.machines
        }


class _Overlaid(NamedTuple):
    """Prices with those of overlays among them, and what they were worked out from."""

    resolved: _Resolved
    planned: Types
    prices: PriceList


class ClassCatalogue:
    """What the node classes can launch; launches teach it what there is no capacity for."""

    def __init__(
        self,
        context: ProviderContext[Kube],
        apis: AwsApis,
        settings: AwsSettings,
        source: CatalogueSource,
    ) -> None:
        kube, clock = context.kube, context.clock
        self._knows_reservations = knows_reservations(context.gates)
        self.settings = settings
        self.node_classes = NodeClassReader(kube, clock)
        self.unavailable = UnavailableOfferings(clock)
        self.reservations = ReservationCounts(apis.ec2, clock)
        self._source = source
        self._groups = PlacementGroups(apis.ec2, clock)
        self._addresses = FreeAddresses(apis.ec2, clock, settings.subnet_refresh_interval)
        self._network = ClusterNetworkReader(
            kube, ClusterFacts(apis.eks, settings, clock=clock), clock
        )
        self._resolved: dict[str, _Resolved] = {}
        self._resolving = asyncio.Lock()
        self._planned_types = context.planned_types
        self._types_changed = context.types_changed
        self._left_out: frozenset[UnavailableOffering | str] = frozenset()  # of types given out
        self._overlaid: dict[str, _Overlaid] = {}  # by pool

    async def types(self, node_class: EC2NodeClass) -> Types:
        """Everything that the class could launch. Raises CallFailedError."""
        types = (await self._resolve(node_class)).types
        self._left_out |= self.unavailable.all_unavailable()
        return types

    async def offer_again(self) -> None:
        """Have pools ask for their types again, if those were given out without what may be had
        by now.
        """
        unavailable = self.unavailable.all_unavailable()
        if not self._left_out <= unavailable:
            self._left_out = unavailable
            self._types_changed()

    async def types_by_name(self, node_class: EC2NodeClass) -> Mapping[str, InstanceType]:
        """The same by name. Raises CallFailedError."""
        return (await self._resolve(node_class)).by_name

    async def order_inputs(self, node_class: EC2NodeClass, claim: ClaimObject) -> OrderInputs:
        """Everything that the order for a claim depends on. Raises CallFailedError."""
        resolved = await self._resolve(node_class)
        without = self.unavailable.subnets()
        subnets = [subnet for subnet in node_class.status.subnets if subnet.id not in without]
        free = await self._addresses.free(subnets)
        return OrderInputs(
            node_class=node_class,
            facts=resolved.facts,
            prices=self._prices(resolved, claim),
            machines=resolved.machines,
            subnets=zonal_subnets(subnets, free),
            network=await self._network.read(family_of(node_class.spec)),
            settings=self.settings,
            knows_reservations=self._knows_reservations,
        )

    def _prices(self, resolved: _Resolved, claim: ClaimObject) -> PriceList:
        """The prices that the claim was planned with: those of overlays where these apply."""
        if labels.PRICE_OVERLAY_APPLIED not in claim.annotations:
            return resolved.prices
        planned = self._planned_types(claim.node_pool)
        kept = self._overlaid.get(claim.node_pool)
        if kept is None or kept.resolved is not resolved or kept.planned is not planned:
            prices = PriceList(with_overlays(resolved.types, planned))
            kept = self._overlaid[claim.node_pool] = _Overlaid(resolved, planned, prices)
        return kept.prices

    async def placement_group(self, node_class: EC2NodeClass) -> PlacementGroupFacts:
        """The placement group that the class selects; one without an id if it selects none.

        Raises CallFailedError.
        """
        selector = node_class.spec.placement_group_selector
        group = await self._groups.find(selector) if selector is not None else None
        if group is None:
            return NO_GROUP
        n_partitions = group.n_partitions if group.strategy == "partition" else 0
        return PlacementGroupFacts(group.id, group.strategy, n_partitions)

    def note_launch(self, order: LaunchOrder, n_instances: int) -> None:
        """Instances are about to take addresses, in any of the subnets."""
        for subnet_id, n_pods in order.pods_by_subnet.items():
            self._addresses.take(subnet_id, n_pods * n_instances)

    def note_answer(self, order: LaunchOrder, answer: FleetAnswer, n_instances: int) -> None:
        """Learn from an answer: which addresses are taken, and what there was no capacity for."""
        for subnet_id, n_pods in order.pods_by_subnet.items():
            self._addresses.take(subnet_id, -n_pods * n_instances)
        for instance in answer.instances:
            self._addresses.take(
                instance.subnet_id, order.pods_by_subnet.get(instance.subnet_id, 0)
            )
            self.reservations.note_launch(order.reservation(instance.instance_type, instance.zone))
        options = order.options
        missing = unavailability(
            answer,
            OrderPlace(options.capacity_type, order.placement_group, order.partition),
            [option.instance_type.name for option in options.options],
        )
        self.unavailable.mark(*missing.offerings)
        for capacity_type in missing.capacity_types:
            self.unavailable.mark_capacity_type(capacity_type)
        for subnet_id in missing.subnets:
            self.unavailable.mark_subnet(subnet_id)
            self._addresses.exhaust(subnet_id)
        for instance_type, zone in missing.reserved:
            self.reservations.exhaust(order.reservation(instance_type, zone))

    async def _resolve(self, node_class: EC2NodeClass) -> _Resolved:
        await self.reservations.refresh(item.id for item in node_class.status.capacity_reservations)
        facts = class_facts(node_class, self.settings, await self.placement_group(node_class))
        name = node_class.metadata.name
        async with self._resolving:
            inputs = self._inputs()
            kept = self._resolved.get(name)
            if kept is None or kept.inputs is not inputs or kept.facts != facts:
                # Hundreds of types are computed anew: not in the event loop.
                kept = await asyncio.to_thread(_Resolved, facts, inputs)
                self._resolved[name] = kept
            return kept

    def _inputs(self) -> CatalogueInputs:
        self._source.set_unavailable(
            self.unavailable.offerings(),
            capacity_types=self.unavailable.capacity_types(),
            subnets=self.unavailable.subnets(),
        )
        self._source.set_reservations(self.reservations.counts())
        return self._source.inputs()
