"""Names what the kwok provider brings: its node class, labels, settings, rights and catalogue."""

from __future__ import annotations

from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.api.facts import keys_of_domain
from dovetail.api.rbac import PolicyRule, ProviderAccess
from dovetail.cloud.context import ProviderContext
from dovetail.cloud.node_pool_form import NodePoolForm
from dovetail.cloud.plugin import OfflineCatalogue, ProviderPlugin
from dovetail.kube.seam import Kube
from dovetail.model.instance import InstanceType
from dovetail.providers.kwok.node_class import DEFINITION, KIND
from dovetail.providers.kwok.provider import KwokProvider
from dovetail.settings.table import Flag, SettingsTable

_PANEL: Final = "Provider kwok"


class KwokSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Files of instance types and of faults; without them the generic grid, and no faults."""

    instance_types_file_path: str = ""
    kwok_faults_file_path: str = ""


TABLE: Final = SettingsTable(
    KwokSettings(),
    (
        Flag(
            "instance-types-file-path",
            "INSTANCE_TYPES_FILE_PATH",
            _PANEL,
            "Instance types of the kwok provider, a file in its format. Default: the generic grid.",
            metavar="FILE",
        ),
        Flag(
            "kwok-faults-file-path",
            "KWOK_FAULTS_FILE_PATH",
            _PANEL,
            "Faults that the kwok provider simulates, a JSON list. Default: none.",
            metavar="FILE",
        ),
    ),
)


_READ: Final = ("get", "list", "watch")
_EDIT: Final = (*_READ, "create", "update", "patch", "delete")
_STATUS: Final = f"{KIND.plural}/status"
LABEL_KEYS: Final = tuple(
    f"{labels.KWOK_GROUP}/{name}"
    for name in ("instance-cpu", "instance-family", "instance-memory", "instance-size")
)
REQUIREMENT_RULE: Final = keys_of_domain(
    labels.KWOK_GROUP, (*LABEL_KEYS, f"{KIND.group}/{KIND.name.lower()}"), owner="kwok"
)


def make(context: ProviderContext[Kube], settings: KwokSettings) -> KwokProvider:
    """The provider. Raises InputError for files that cannot be read."""
    from dovetail.cloud import catalogue_file
    from dovetail.providers.kwok import faults
    from dovetail.providers.kwok.faults import Faults

    types, ordered = settings.instance_types_file_path, settings.kwok_faults_file_path
    return KwokProvider(
        context,
        types=catalogue_file.read(types) if types else _generic(),
        ordered=Faults(faults.read(ordered) if ordered else ()),
    )


def _generic() -> tuple[InstanceType, ...]:
    from dovetail.providers.kwok import catalogue

    return catalogue.instance_types()


PLUGIN: Final = ProviderPlugin[Kube, KwokSettings](
    name="kwok",
    make=make,
    extension=api.Extension(node_classes=(DEFINITION,), requirement_rules=(REQUIREMENT_RULE,)),
    label_keys=LABEL_KEYS,
    settings=TABLE,
    access=ProviderAccess(
        reading=(PolicyRule(KIND.group, (KIND.plural,), _READ),),
        writing=(
            PolicyRule(KIND.group, (_STATUS,), ("patch",)),
            PolicyRule("", ("nodes",), ("create",)),
        ),
        administration=(PolicyRule(KIND.group, (KIND.plural, _STATUS), _EDIT),),
        kubelets=(PolicyRule("", ("nodes/status",), ("patch",)),),
    ),
    catalogues=(OfflineCatalogue("generic", _generic),),
    form=NodePoolForm(
        node_class=KIND,
        family_label=f"{labels.KWOK_GROUP}/instance-family",
        cpu_label=f"{labels.KWOK_GROUP}/instance-cpu",
        node_class_spec=lambda _settings: {},
    ),
)
