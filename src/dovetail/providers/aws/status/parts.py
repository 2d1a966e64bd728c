"""Puts together what the status of node classes is evaluated with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from dovetail import api
from dovetail.clock import Clock
from dovetail.model.backoff import Chance
from dovetail.providers.aws.apis import AwsApis
from dovetail.providers.aws.catalogue.inputs import CatalogueInputs
from dovetail.providers.aws.cluster import ClusterFacts, DiscoverVersion
from dovetail.providers.aws.images.source import ImageSource
from dovetail.providers.aws.settings import AwsSettings
from dovetail.providers.aws.status.capacity_reservations import CapacityReservationStep
from dovetail.providers.aws.status.finalization import Finalizer
from dovetail.providers.aws.status.machine_images import ImageStep
from dovetail.providers.aws.status.placement_groups import PlacementGroups, PlacementGroupStep
from dovetail.providers.aws.status.profiles.collection import ProfileCollector, ProfileProtection
from dovetail.providers.aws.status.profiles.instance_profiles import InstanceProfiles
from dovetail.providers.aws.status.profiles.step import ProfileStep
from dovetail.providers.aws.status.security_groups import SecurityGroupStep
from dovetail.providers.aws.status.step import StatusStep
from dovetail.providers.aws.status.subnets import SubnetSource, SubnetStep
from dovetail.providers.aws.status.validating.dry_runs import DryRuns
from dovetail.providers.aws.status.validating.step import ValidationSources, ValidationStep


def _without_jitter() -> float:
    return 1.0


class ControllerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the controller is given besides clients and settings.

    `knows_reservations` is the gate ReservedCapacity; `discover_version` asks the API server for
    its version, where EKS is not to be asked.
    """

    catalogue: Callable[[], CatalogueInputs]
    knows_reservations: bool = True
    discover_version: DiscoverVersion | None = None
    chance: Chance = _without_jitter


class StatusParts:
    """The steps of a pass in their order, and the sources behind them."""

    def __init__(
        self,
        apis: AwsApis,
        settings: AwsSettings,
        clock: Clock,
        options: ControllerOptions,
        pools: Callable[[str], Sequence[api.NodePool]],
    ) -> None:
        self.cluster = ClusterFacts(
            apis.eks, settings, clock=clock, discover=options.discover_version
        )
        self.images = ImageSource(apis, settings, clock=clock, cluster=self.cluster)
        self.subnets = SubnetSource(
            apis.ec2, clock=clock, keep_for=settings.subnet_refresh_interval
        )
        self.placement_groups = PlacementGroups(apis.ec2, clock)
        self.profiles = InstanceProfiles(apis.iam, clock)
        protection = ProfileProtection(clock)
        self.profile_collector = ProfileCollector(self.profiles, settings, protection)
        self.finalizer = Finalizer(apis.ec2, self.profiles, settings)
        self.validation = ValidationStep(
            ValidationSources(options.catalogue, pools),
            settings,
            dry_runs=DryRuns(apis),
            cluster=self.cluster,
            clock=clock,
        )
        reservations: tuple[StatusStep, ...] = (
            (CapacityReservationStep(apis.ec2, clock),) if options.knows_reservations else ()
        )
        self.steps: tuple[StatusStep, ...] = (
            ImageStep(self.images),
            *reservations,
            PlacementGroupStep(self.placement_groups),
            SubnetStep(self.subnets),
            SecurityGroupStep(apis.ec2, clock),
            ProfileStep(self.profiles, settings, protection),
            self.validation,
        )
