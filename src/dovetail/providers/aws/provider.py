"""Launches nodes on EC2."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

import msgspec

from dovetail import labels
from dovetail.cloud.context import ProviderContext
from dovetail.cloud.errors import CloudError, NodeClaimNotFoundError
from dovetail.cloud.provider import CloudWorker, Instance, NodeClassKind
from dovetail.cloud.repeated_faults import RepeatedFaults
from dovetail.kube.errors import ApiError
from dovetail.kube.seam import Json, Kube
from dovetail.model.claim import ClaimObject
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node, RepairPolicy
from dovetail.model.pool import NodePool
from dovetail.model.resources import MEMORY
from dovetail.providers.aws.apis import AwsApis
from dovetail.providers.aws.bootstrap.families import family_of
from dovetail.providers.aws.calls import CallFailedError
from dovetail.providers.aws.catalogue.class_facts import image_set
from dovetail.providers.aws.catalogue.source import CatalogueSource
from dovetail.providers.aws.instances.conversion import cloud_instance
from dovetail.providers.aws.instances.described import SHUTTING_DOWN, TERMINATED, Ec2Instance
from dovetail.providers.aws.instances.drift import InstanceDriftView, drift_reason
from dovetail.providers.aws.instances.launched import launched_instance, unknown_instance
from dovetail.providers.aws.instances.ownership import ClaimOwner, owners
from dovetail.providers.aws.instances.reading import Ec2Instances
from dovetail.providers.aws.instances.upkeep import (
    ClaimUpkeep,
    claims_without_tag,
    endings,
    outlived_claims,
)
from dovetail.providers.aws.interruption.claims import REBALANCE
from dovetail.providers.aws.launching import keys
from dovetail.providers.aws.launching.class_catalogue import ClassCatalogue
from dovetail.providers.aws.launching.launcher import Launcher, LaunchResult
from dovetail.providers.aws.launching.marks import ClaimRecord, Marks
from dovetail.providers.aws.launching.outcomes import sold_out
from dovetail.providers.aws.node_class.hashing import HASH_VERSION, node_class_hash
from dovetail.providers.aws.node_class.types import CapacityReservation, EC2NodeClass
from dovetail.providers.aws.settings import AwsSettings

REBALANCE_DRIFT: Final = "SpotRebalanceRecommendation"
_HALF_AN_HOUR: Final = timedelta(minutes=30)
_REPAIRS: Final = (
    RepairPolicy("Ready", "False", _HALF_AN_HOUR),
    RepairPolicy("Ready", "Unknown", _HALF_AN_HOUR),
    RepairPolicy("AcceleratedHardwareReady", "False", timedelta(minutes=10)),
    RepairPolicy("StorageReady", "False", _HALF_AN_HOUR),
    RepairPolicy("NetworkingReady", "False", _HALF_AN_HOUR),
    RepairPolicy("KernelReady", "False", _HALF_AN_HOUR),
    RepairPolicy("ContainerRuntimeReady", "False", _HALF_AN_HOUR),
)
_NO_TYPES: Final[dict[str, InstanceType]] = {}
_TEMPLATE_SWEEP: Final = timedelta(seconds=10)
_AVAILABILITY_SWEEP: Final = timedelta(seconds=10)
_LONGEST_PAUSE: Final = timedelta(minutes=1)  # while the work fails
_AT_ONCE: Final = 50
_UPKEEP_PERIOD: Final = timedelta(minutes=1)
_NEW_NODE_PERIOD: Final = timedelta(seconds=5)  # after a node has joined: its instance has no name


class AwsProvider:
    """EC2 as a cloud for nodes. `workers` work for as long as it does."""

    def __init__(
        self,
        context: ProviderContext[Kube],
        apis: AwsApis,
        settings: AwsSettings,
        *,
        source: CatalogueSource,
        workers: tuple[CloudWorker, ...] = (),
    ) -> None:
        self._announce = context.announce
        self._log = context.log
        self._faults = RepeatedFaults(context.clock)
        self.controllers = [*workers]
        self._upkeep = ClaimUpkeep(context, apis.ec2, settings.cluster_name)
        self._clock = context.clock
        self._timer = context.timer
        self._settings = settings
        self._source = source
        self._marks = Marks(context.kube)
        self._instances = Ec2Instances(
            apis.ec2, context.clock, context.timer, settings.cluster_name
        )
        self.catalogue = ClassCatalogue(context, apis, settings, source)
        self.launcher = Launcher(
            context.kube,
            apis.ec2,
            clock=context.clock,
            timer=context.timer,
            catalogue=self.catalogue,
        )
        self._has_new_nodes = False
        self._owners: dict[str, ClaimOwner] = {}  # by the id of the instance
        self._reserved: dict[str, str] = {}  # reservations of instances that are terminating

    def employ(self, *workers: CloudWorker) -> None:
        """These work as well."""
        self.controllers.extend(workers)

    @property
    def name(self) -> str:
        """How metrics and messages name it."""
        return "aws"

    @property
    def supported_node_classes(self) -> tuple[NodeClassKind, ...]:
        """EC2NodeClass alone."""
        return (NodeClassKind(labels.AWS_GROUP, "EC2NodeClass"),)

    @property
    def repair_policies(self) -> tuple[RepairPolicy, ...]:
        """The conditions of kubelet, and those of the EKS node monitoring agent."""
        return _REPAIRS

    # ------------------------------------------------------------ launching

    async def create(self, claim: ClaimObject) -> Instance:
        """Launch an instance for the claim, or find the one that was launched for it before."""
        result = await self.launcher.launch(claim)
        owner = self._owners[result.instance.id] = ClaimOwner(claim.name, claim.uid)
        order, node_class = result.order, result.node_class
        if order is None or node_class is None:
            return await self._adopt(claim, result, owner)
        if order.warning:
            self._log.warning(order.warning, node_claim=claim.name)
        described = launched_instance(claim, result.instance, order, self._clock.now())
        types = {
            option.instance_type.name: option.instance_type for option in order.options.options
        }
        instance = cloud_instance(
            described,
            types.get(described.instance_type),
            owner,
            requests=claim.requests,
            sold_out=sold_out(result.answer, described.capacity_type),
        )
        return self._annotate(instance, node_class)

    async def _adopt(self, claim: ClaimObject, result: LaunchResult, owner: ClaimOwner) -> Instance:
        """The instance of a launch that this process did not see through to its end."""
        unknown = unknown_instance(claim, result.instance)
        try:
            described = await self._instances.get(unknown.provider_id)
        except NodeClaimNotFoundError:
            described = unknown  # EC2 does not tell of it yet, or no longer
        node_class, types = await self._class_and_types(claim.node_class.name)
        kind = types.get(described.instance_type)
        instance = cloud_instance(described, kind, owner, requests=claim.requests)
        return self._annotate(instance, node_class) if node_class is not None else instance

    def _annotate(self, instance: Instance, node_class: EC2NodeClass) -> Instance:
        annotations = {
            keys.NODE_CLASS_HASH: self._hash(node_class),
            keys.NODE_CLASS_HASH_VERSION: HASH_VERSION,
            keys.INSTANCE_PROFILE: node_class.status.instance_profile,
        }
        return msgspec.structs.replace(instance, annotations=annotations)

    def _hash(self, node_class: EC2NodeClass) -> str:
        return node_class_hash(
            node_class,
            family=family_of(node_class.spec),
            ca_bundle=self._settings.cluster_ca_bundle,
        )

    # ------------------------------------------------------------ instances

    async def get(self, provider_id: str) -> Instance:
        """The instance as it is now. Raises NodeClaimNotFoundError."""
        described = await self._instances.get(provider_id)
        if described.id not in self._owners:
            with _as_cloud_error(f"reading instance {provider_id}"):
                records = await self._marks.records()
            siblings = await self._instances.of_token(described.token) if described.token else []
            self._owners |= owners(siblings or [described], records)
        return await self._convert(described)

    async def list(self) -> tuple[Instance, ...]:
        """Every instance of this cluster, also one that is terminating, by provider id."""
        described = await self._instances.all()
        present = [instance for instance in described if instance.state != TERMINATED]
        if any(instance.id not in self._owners for instance in present):
            with _as_cloud_error("listing instances"):
                records = await self._marks.records()
            self._owners |= owners(described, records)
        listed = {instance.id for instance in present}
        self._owners = {key: owner for key, owner in self._owners.items() if key in listed}
        converted: list[Instance] = []
        for start in range(0, len(present), _AT_ONCE):
            converted += [await self._convert(item) for item in present[start : start + _AT_ONCE]]
            await asyncio.sleep(0)  # others may want the event loop
        return tuple(sorted(converted, key=lambda item: item.provider_id))

    async def delete(self, provider_id: str) -> None:
        """Begin to terminate the instance. Raises NodeClaimNotFoundError once it is gone."""
        try:
            described = await self._instances.get(provider_id)
            if described.reservation_id:
                self._reserved[provider_id] = described.reservation_id
            if described.state != SHUTTING_DOWN:
                await self._instances.terminate(provider_id)
        except NodeClaimNotFoundError:
            if provider_id in self._reserved:
                self.catalogue.reservations.note_end(self._reserved.pop(provider_id))
            raise

    async def _convert(self, described: Ec2Instance) -> Instance:
        _, types = await self._class_and_types(described.tags.get(keys.NODE_CLASS_TAG, ""))
        owner = self._owners.get(described.id, ClaimOwner())
        return cloud_instance(described, types.get(described.instance_type), owner)

    async def _class_and_types(
        self, name: str
    ) -> tuple[EC2NodeClass | None, Mapping[str, InstanceType]]:
        """The class, and its types by name; none if the class is gone, or cannot be computed."""
        node_class = await self.catalogue.node_classes.read(name) if name else None
        if node_class is None:
            return None, _NO_TYPES
        with _as_cloud_error(f"computing the instance types of node class {name}"):
            return node_class, await self.catalogue.types_by_name(node_class)

    # ------------------------------------------------------------ node classes

    async def instance_types(self, pool: NodePool) -> tuple[InstanceType, ...]:
        """Everything that the pool's node class could launch, unavailable types included."""
        name = pool.node_class.name
        # It is asked for because the class has changed: an older copy would last for minutes.
        node_class = await self.catalogue.node_classes.read(name, is_fresh=True)
        if node_class is None:
            msg = f"node pool {pool.name}: node class {name} does not exist"
            raise CloudError(msg)
        with _as_cloud_error(f"listing instance types of node pool {pool.name}"):
            return await self.catalogue.types(node_class)

    async def drift_reason(self, node: Node) -> str:
        """Why the instance is no longer what its node class asks for; empty if it still is.

        The last list of all instances tells it for nodes that have not drifted, so that a thousand
        nodes take no call each. An instance that seems to have drifted is read again.
        """
        if self._settings.replace_on_rebalance_recommendation and REBALANCE in node.annotations:
            return REBALANCE_DRIFT
        listed = self._instances.recent(node.provider_id)
        if listed is not None and not await self._drift_of(node, listed):
            return ""
        try:
            described = await self._instances.get(node.provider_id)
        except NodeClaimNotFoundError:
            return ""
        return await self._drift_of(node, described)

    async def _drift_of(self, node: Node, described: Ec2Instance) -> str:
        node_class, types = await self._class_and_types(described.tags.get(keys.NODE_CLASS_TAG, ""))
        if node_class is None or not described.tags.get(labels.NODE_POOL):
            return ""
        with _as_cloud_error(f"looking for drift of node {node.name}"):
            group = await self.catalogue.placement_group(node_class)
        return drift_reason(
            InstanceDriftView(
                node_class=node_class,
                class_hash=self._hash(node_class),
                instance=described,
                held=types.get(described.instance_type),
                labels=node.labels,
                annotations=node.annotations,
                placement_group=group.id,
            )
        )

    # ------------------------------------------------------------ work of its own

    async def registered(self, node: Node) -> timedelta | None:
        """Learn how much memory a new node has, and tell its partition; when to ask again."""
        self._has_new_nodes = True
        described = await self._instances.get(node.provider_id)
        node_class, _ = await self._class_and_types(described.tags.get(keys.NODE_CLASS_TAG, ""))
        if node_class is None:
            return None
        memory = node.capacity.get(MEMORY, 0)
        if memory and any(ami.id == described.image_id for ami in node_class.status.amis):
            self._source.see_memory(described.instance_type, image_set(node_class), memory)
        if described.partition and keys.PARTITION not in node.labels:
            with _as_cloud_error(f"labelling node {node.name} with its partition"):
                changed: dict[str, Json] = {keys.PARTITION: described.partition}
                await self._upkeep.label(node.node_claim, node.name, changed)
        return None

    async def run(self) -> None:
        """Work until cancelled: catalogue, launch templates, tags and reservations."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._source.run())
            group.create_task(self._collect_templates())
            group.create_task(self._repeat_upkeep())
            group.create_task(self._repeat(_AVAILABILITY_SWEEP, self.catalogue.offer_again))
            for worker in self.controllers:
                group.create_task(worker.run())

    async def keep_up(self) -> None:
        """Tag instances of new nodes, follow reservations that ended, announce those that will.

        Raises CloudError, CallFailedError, ApiError.
        """
        claims = await self._marks.records()
        untagged_claims = claims_without_tag(claims)
        reserved = [claim for claim in claims if labels.RESERVATION_ID in claim.labels]
        if not untagged_claims and not reserved:
            return
        instances = {item.provider_id: item for item in await self._instances.all()}
        for claim in outlived_claims(reserved, instances):
            self._log.info("reservation of an instance has ended", node_claim=claim.name)
            await self._upkeep.relabel(claim)
        for ending in endings(reserved, await self._reservations(reserved), self._clock.now()):
            self._announce(ending)
        for claim in untagged_claims:
            if claim.provider_id in instances:
                await self._upkeep.tag(claim, instances[claim.provider_id])

    async def _reservations(self, claims: Sequence[ClaimRecord]) -> Sequence[CapacityReservation]:
        names = sorted({claim.node_class for claim in claims if claim.node_class})
        classes = [await self.catalogue.node_classes.read(name) for name in names]
        return [
            reservation
            for node_class in classes
            if node_class is not None
            for reservation in node_class.status.capacity_reservations
        ]

    async def _collect_templates(self) -> None:
        await self._attempt(self.launcher.templates.prefill)
        await self._repeat(_TEMPLATE_SWEEP, self.launcher.templates.sweep)

    async def _repeat(self, period: timedelta, work: Callable[[], Awaitable[None]]) -> None:
        pause = period
        while True:
            await self._timer.sleep(pause.total_seconds())
            has_worked = await self._attempt(work)
            pause = period if has_worked else min(2 * pause, _LONGEST_PAUSE)

    async def _repeat_upkeep(self) -> None:
        """Every minute, and soon after nodes have joined."""
        while True:
            waited = timedelta()
            while waited < _UPKEEP_PERIOD and not self._has_new_nodes:
                await self._timer.sleep(_NEW_NODE_PERIOD.total_seconds())
                waited += _NEW_NODE_PERIOD
            await self._timer.sleep(_NEW_NODE_PERIOD.total_seconds())  # more may join together
            self._has_new_nodes = False
            await self._attempt(self.keep_up)

    async def _attempt(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Whether it was done; what cannot be done now is done the next time."""
        try:
            await work()
        except (CallFailedError, CloudError, ApiError) as error:
            n_times = self._faults.n_to_report(str(error))
            if n_times:
                self._log.warning(
                    "could not keep instances up to date", error=error, n_times=n_times
                )
            return False
        return True


@contextmanager
def _as_cloud_error(doing: str) -> Iterator[None]:
    """What AWS or the API refuses, told as a cloud tells it."""
    try:
        yield
    except (CallFailedError, ApiError) as error:
        msg = f"{doing}: {error}"
        raise CloudError(msg) from error
