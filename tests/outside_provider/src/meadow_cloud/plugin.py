"""Names what the meadow brings to Dovetail."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from dovetail import api
from dovetail.api.facts import keys_of_domain
from dovetail.api.rbac import PolicyRule, ProviderAccess
from dovetail.cloud.context import ProviderContext
from dovetail.cloud.plugin import OfflineCatalogue, ProviderPlugin
from dovetail.cloud.provider import CloudProvider
from dovetail.kube.seam import Kube
from dovetail.model.instance import InstanceType
from dovetail.model.pool import NodePool
from dovetail.settings.table import Flag, SettingsTable
from meadow_cloud.catalogue import SIZES, instance_types
from meadow_cloud.node_class import DEFINITION, GROUP, KIND, MeadowNodeClass
from meadow_cloud.provider import LABEL_KEYS, MeadowProvider
from meadow_cloud.region import region


class MeadowSettings(msgspec.Struct, frozen=True):
    """Where machines are launched."""

    meadow_region: str = "home"


@asynccontextmanager
async def make(
    context: ProviderContext[Kube], settings: MeadowSettings
) -> AsyncIterator[CloudProvider]:
    """Open the provider."""
    context.log.info("opened the meadow", region=settings.meadow_region)
    yield MeadowProvider(context, region(settings.meadow_region))


def offline(pool: NodePool, node_class: api.Object | None) -> tuple[InstanceType, ...]:
    """The sizes that the node class allows; all without one."""
    del pool  # the node class says it all
    return instance_types(
        node_class.spec.cpus if isinstance(node_class, MeadowNodeClass) else SIZES
    )


PLUGIN: Final = ProviderPlugin[Kube, MeadowSettings](
    name="meadow",
    make=make,
    extension=api.Extension(
        node_classes=(DEFINITION,),
        requirement_rules=(
            keys_of_domain(GROUP, (*LABEL_KEYS, f"{GROUP}/meadownodeclass"), owner="meadow"),
        ),
    ),
    label_keys=LABEL_KEYS,
    settings=SettingsTable(
        MeadowSettings(),
        (
            Flag(
                "meadow-region",
                "MEADOW_REGION",
                "Provider meadow",
                "The region of the meadow in which machines are launched.",
                metavar="NAME",
            ),
        ),
    ),
    access=ProviderAccess(
        reading=(PolicyRule(KIND.group, (KIND.plural,), ("get", "list", "watch")),),
        writing=(PolicyRule("", ("nodes",), ("create",)),),
    ),
    catalogues=(OfflineCatalogue("meadow", instance_types, "Prices of the meadow are invented."),),
    offline=offline,
)
