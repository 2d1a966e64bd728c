"""Opens the AWS provider: clients, catalogue, launches, and the controllers of node classes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from dovetail.cloud.context import ProviderContext
from dovetail.cloud.provider import CloudProvider
from dovetail.kube.seam import Kube
from dovetail.providers.aws.apis import connect
from dovetail.providers.aws.catalogue.prices import pricing_region
from dovetail.providers.aws.catalogue.source import CatalogueSource
from dovetail.providers.aws.interruption.workers import interruption_workers
from dovetail.providers.aws.launching.class_catalogue import knows_reservations
from dovetail.providers.aws.provider import AwsProvider
from dovetail.providers.aws.settings import AwsSettings, check_settings
from dovetail.providers.aws.startup import region_of, with_cluster
from dovetail.providers.aws.status.controller import NodeClassController
from dovetail.providers.aws.status.parts import ControllerOptions


@asynccontextmanager
async def open_provider(
    context: ProviderContext[Kube], settings: AwsSettings
) -> AsyncIterator[CloudProvider]:
    """The provider, until the end of the block. Raises InputError for settings that cannot work."""
    check_settings(settings)
    region = await region_of(settings)
    async with connect(
        region=region,
        pricing_region=pricing_region(region),
        endpoint_url=settings.endpoint_url or None,
    ) as apis:
        located = msgspec.structs.replace(settings, region=region)
        known = await with_cluster(located, apis.eks, api_authority=context.api_authority)
        source = CatalogueSource(
            apis, known, clock=context.clock, timer=context.timer, report=context.log.warning
        )
        await source.begin()
        source.call_on_change(context.types_changed)
        options = ControllerOptions(
            catalogue=source.inputs,
            knows_reservations=knows_reservations(context.gates),
            discover_version=context.kubernetes_version,
        )
        classes = NodeClassController(context, apis, known, options)
        provider = AwsProvider(context, apis, known, source=source, workers=(classes,))
        interruptions = await interruption_workers(
            context, apis, known, catalogue=provider.catalogue, source=source
        )
        provider.employ(*interruptions)
        yield provider
