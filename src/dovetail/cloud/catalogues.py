"""Finds instance types without asking a cloud: a catalogue by name, or the one that fits a pool.

Providers bring catalogues by name, and may make one from a node class of the manifests. Any other
name is a file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from dovetail import api
from dovetail.cloud import catalogue_file, registry
from dovetail.cloud.plugin import OfflineCatalogue, ProviderPlugin, Types
from dovetail.cloud.registry import InstalledPlugins
from dovetail.errors import InputError
from dovetail.model.pool import NodeClassRef, NodePool
from dovetail.settings.operator import DEFAULT_PROVIDER

NodeClasses = Mapping[NodeClassRef, api.Object]
_Plugin = ProviderPlugin[None, msgspec.Struct]
NO_NODE_CLASSES: Final[NodeClasses] = {}


def node_classes(objects: Iterable[api.Object]) -> NodeClasses:
    """The node classes among these objects, by the reference that pools name them with."""
    classes = (item for item in objects if isinstance(item, api.NodeClass))
    return {
        NodeClassRef(item.api_version.partition("/")[0], item.kind, item.metadata.name): item
        for item in classes
    }


class OfflineCatalogues:
    """The catalogues of all providers that are installed, each read once."""

    def __init__(self) -> None:
        installed: InstalledPlugins[None] = registry.load_plugins()
        self._problems = installed.problems
        self._plugins = {plugin.name: plugin for plugin in installed.plugins}
        self._named: dict[str, OfflineCatalogue] = {
            catalogue.name: catalogue
            for plugin in self._plugins.values()
            for catalogue in plugin.catalogues
        }
        self._types: dict[str, Types] = {}
        self._used: dict[str, None] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all catalogues that need no file."""
        return tuple(sorted(self._named))

    @property
    def used_names(self) -> tuple[str, ...]:
        """The names of all that were read so far."""
        return tuple(self._used)

    def notes(self, used: Iterable[str]) -> tuple[str, ...]:
        """What must be said about the prices of these catalogues wherever they are shown."""
        known = (self._named[name].note for name in used if name in self._named)
        return tuple(dict.fromkeys(note for note in known if note))

    def by_name(self, name_or_path: str) -> Types:
        """The catalogue. Raises InputError when there is none, or its file is broken."""
        if name_or_path not in self._types:
            self._types[name_or_path] = self._read(name_or_path)
        self._used[name_or_path] = None
        return self._types[name_or_path]

    def default_name(self, pool: NodePool) -> str:
        """The name of the default catalogue of the pool's kind of node class."""
        plugin = self._plugin(pool.node_class)
        if plugin is None and pool.node_class.kind and self._problems:
            msg = (
                f"NodePool {pool.name}: no provider that can be loaded has node classes of kind "
                f"{pool.node_class.kind!r}; {'; '.join(self._problems)}"
            )
            raise InputError(msg)
        plugin = plugin or self._plugins.get(DEFAULT_PROVIDER)
        if plugin is None or not plugin.catalogues:
            kind = pool.node_class.kind
            msg = (
                f"NodePool {pool.name}: no provider has instance types for {kind!r} offline; "
                "expected --catalog NAME or FILE"
            )
            raise InputError(msg)
        return plugin.catalogues[0].name

    def of_pool(self, pool: NodePool, classes: NodeClasses = NO_NODE_CLASSES) -> Types:
        """What this pool could launch, before its own requirements, by its node class."""
        plugin = self._plugin(pool.node_class)
        if plugin is None or plugin.offline is None:
            return self.by_name(self.default_name(pool))
        self._used.update((offline.name, None) for offline in plugin.catalogues[:1])
        return plugin.offline(pool, classes.get(pool.node_class))

    def best_name(self, pool: NodePool, in_use: Collection[str]) -> str:
        """The name of the catalogue that has these types of nodes. Where none has, or there are no
        nodes yet, that of the pool's node class.
        """
        usual = self.default_name(pool)
        for name in (usual, *(other for other in self.names if other != usual)):
            if any(kind.name in in_use for kind in self._named[name].instance_types()):
                return name
        return usual

    def _plugin(self, node_class: NodeClassRef) -> _Plugin | None:
        """The provider that brings this kind. Pools may leave the group out."""
        for plugin in self._plugins.values():
            for kind in plugin.node_classes:
                if kind.name == node_class.kind and node_class.group in {"", kind.group}:
                    return plugin
        return None

    def _read(self, name_or_path: str) -> Types:
        if name_or_path in self._named:
            return self._named[name_or_path].instance_types()
        if not Path(name_or_path).exists():
            names = ", ".join(self.names)
            expected = f"expected one of {names}, or a file in kwok format"
            msg = f"no catalogue {name_or_path!r}: {expected}"
            raise InputError(msg)
        return catalogue_file.read(name_or_path)
