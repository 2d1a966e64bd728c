"""Names what the AWS provider brings: EC2NodeClass, its labels, settings, rights and catalogue.

It is loaded by commands that never speak to AWS; the SDK is imported in `make`.
"""

from __future__ import annotations

from typing import Final

from dovetail import api
from dovetail.api.rbac import PolicyRule, ProviderAccess
from dovetail.cloud.context import ProviderContext
from dovetail.cloud.plugin import Made, OfflineCatalogue, ProviderPlugin
from dovetail.errors import InputError
from dovetail.kube.seam import Kube
from dovetail.model.instance import InstanceType
from dovetail.model.pool import NodePool
from dovetail.providers.aws.flags import TABLE
from dovetail.providers.aws.installation.templates import TEMPLATES
from dovetail.providers.aws.interruption.metrics import METRICS
from dovetail.providers.aws.label_keys import LABEL_KEYS, REQUIREMENT_RULE
from dovetail.providers.aws.node_class.definition import DEFINITION, KIND
from dovetail.providers.aws.node_class.node_pool_form import FORM
from dovetail.providers.aws.node_class.types import EC2NodeClass
from dovetail.providers.aws.older.door import OLDER
from dovetail.providers.aws.settings import AwsSettings

_READ: Final = ("get", "list", "watch")
_EDIT: Final = (*_READ, "create", "update", "patch", "delete")
SYNTHETIC_SPOT: Final = (
    "Spot prices of the built-in aws catalogue are synthetic: "
    "25 to 70 % of the on-demand list price, fixed per type and zone. Spot has no list price."
)


def make(context: ProviderContext[Kube], settings: AwsSettings) -> Made:
    """The provider, which launches instances. Raises InputError without the AWS SDK."""
    try:
        from dovetail.providers.aws.opening import open_provider
    except ModuleNotFoundError as error:
        msg = f"provider 'aws' needs the AWS SDK ({error}): install dovetail[aws]"
        raise InputError(msg) from error
    return open_provider(context, settings)


def _instance_types() -> tuple[InstanceType, ...]:
    from dovetail.providers.aws.catalogue import offline

    return offline.instance_types()


def _offline(pool: NodePool, node_class: api.Object | None) -> tuple[InstanceType, ...]:
    """The packaged catalogue as nodes of the pool's class would be; the plain one without it."""
    from dovetail.providers.aws.catalogue import offline

    del pool
    return offline.offline_types(node_class if isinstance(node_class, EC2NodeClass) else None)


PLUGIN: Final = ProviderPlugin[Kube, AwsSettings](
    name="aws",
    make=make,
    extension=api.Extension(
        node_classes=(DEFINITION,), requirement_rules=(REQUIREMENT_RULE,), older=OLDER
    ),
    label_keys=LABEL_KEYS,
    settings=TABLE,
    access=ProviderAccess(
        reading=(PolicyRule(KIND.group, (KIND.plural,), _READ),),
        writing=(
            PolicyRule(KIND.group, (KIND.plural,), ("patch",)),
            PolicyRule(KIND.group, (f"{KIND.plural}/status",), ("patch",)),
            PolicyRule(KIND.group, (f"{KIND.plural}/finalizers",), ("update",)),
        ),
        administration=(PolicyRule(KIND.group, (KIND.plural, f"{KIND.plural}/status"), _EDIT),),
    ),
    catalogues=(OfflineCatalogue("aws", _instance_types, SYNTHETIC_SPOT),),
    offline=_offline,
    metrics=METRICS,
    form=FORM,
    prerequisites=TEMPLATES,
)
