"""Defines a plugin: everything that a provider brings, from its kinds to its controllers.

An entry point of the group `dovetail.providers` names one. It is loaded by commands that never
launch anything, so what needs the SDK of a cloud is imported inside `make`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

import msgspec

from dovetail import api
from dovetail.api.rbac import ProviderAccess
from dovetail.cloud.context import ProviderContext
from dovetail.cloud.meters import ProviderMetric
from dovetail.cloud.node_pool_form import NodePoolForm
from dovetail.cloud.prerequisites import CloudTemplates
from dovetail.cloud.provider import CloudProvider
from dovetail.model.instance import InstanceType
from dovetail.model.pool import NodePool
from dovetail.settings.table import NoSettings, SettingsTable

KubeT = TypeVar("KubeT")
SettingsT = TypeVar("SettingsT", bound=msgspec.Struct)
Types = tuple[InstanceType, ...]
Made = CloudProvider | AbstractAsyncContextManager[CloudProvider]


class OfflineCatalogue(msgspec.Struct, frozen=True):
    """Instance types by name (`--catalog NAME`), without asking the cloud. `note` is shown wherever
    their prices are.
    """

    name: str
    instance_types: Callable[[], Types]
    note: str = ""


class ProviderPlugin(msgspec.Struct, Generic[KubeT, SettingsT], frozen=True, kw_only=True):
    """Everything that a provider brings. Only `make` is called with a cluster at hand.

    `make` returns a provider, or an async context manager that opens one and closes it at the end.
    `label_keys` are the labels that the provider fixes on its nodes; every instance type states
    each of them. Their domain begins with "karpenter.": decisions tell labels of providers by that.

    `catalogues` are for offline use; the first is the default. `offline` gives the instance types
    of a pool from its node class as it is in the manifests, None if it is not there; without it
    the default catalogue serves every node class. `metrics` are what the provider counts itself.
    `form` is what `dovetail new nodepool` needs to know; None: it generates no pools for it.
    `prerequisites` are what it needs in its cloud, as `dovetail install --cloud` prints it.
    """

    name: str
    make: Callable[[ProviderContext[KubeT], SettingsT], Made]
    extension: api.Extension = api.Extension()
    label_keys: tuple[str, ...] = ()
    settings: SettingsTable = SettingsTable(NoSettings())
    access: ProviderAccess = ProviderAccess()
    catalogues: tuple[OfflineCatalogue, ...] = ()
    offline: Callable[[NodePool, api.Object | None], Types] | None = None
    metrics: tuple[ProviderMetric, ...] = ()
    form: NodePoolForm | None = None
    prerequisites: CloudTemplates = CloudTemplates()

    @property
    def node_classes(self) -> tuple[api.Kind, ...]:
        """The kinds of its node classes."""
        return tuple(item.kind for item in self.extension.node_classes)
