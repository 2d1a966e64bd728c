"""Makes what watches for interruptions: as much of it as the settings ask for."""

from __future__ import annotations

from dovetail.cloud.context import ProviderContext
from dovetail.cloud.provider import CloudWorker
from dovetail.kube.seam import Kube
from dovetail.providers.aws.apis import AwsApis
from dovetail.providers.aws.catalogue.source import CatalogueSource
from dovetail.providers.aws.interruption.handler import InterruptionHandler
from dovetail.providers.aws.interruption.instance_status import InstanceStatusChecks
from dovetail.providers.aws.interruption.queue import InterruptionQueue
from dovetail.providers.aws.interruption.zonal_shift import ZonalShifts
from dovetail.providers.aws.launching.class_catalogue import ClassCatalogue
from dovetail.providers.aws.settings import AwsSettings


async def interruption_workers(
    context: ProviderContext[Kube],
    apis: AwsApis,
    settings: AwsSettings,
    *,
    catalogue: ClassCatalogue,
    source: CatalogueSource,
) -> tuple[CloudWorker, ...]:
    """Instance status checks always; the queue and zonal shifts where they are set. Zonal shifts
    are asked for once before anything is launched.
    """
    handler = InterruptionHandler(
        context,
        catalogue.unavailable,
        catalogue.reservations,
        replaces_rebalanced=settings.replace_on_rebalance_recommendation,
    )
    workers: list[CloudWorker] = [InstanceStatusChecks(context, apis.ec2, handler)]
    if settings.interruption_queue:
        queue = InterruptionQueue(context, apis.sqs, settings.interruption_queue, handler)
        workers.append(queue)
    if settings.enable_zonal_shift:
        shifts = ZonalShifts(
            context, apis.zonal_shift, apis.eks, cluster_name=settings.cluster_name, source=source
        )
        await shifts.attempt()
        workers.append(shifts)
    return tuple(workers)
