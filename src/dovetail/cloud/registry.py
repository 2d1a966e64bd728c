"""Finds the providers that are installed under the entry point group `dovetail.providers`.

Built-in providers come through the same door. An entry point names a `ProviderPlugin`:

    [project.entry-points."dovetail.providers"]
    mycloud = "mycloud.plugin:PLUGIN"
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from importlib.metadata import EntryPoint, entry_points
from typing import Final, Generic, TypeVar

import msgspec

from dovetail import api
from dovetail.cloud.context import ProviderContext
from dovetail.cloud.plugin import ProviderPlugin
from dovetail.cloud.provider import CloudProvider
from dovetail.errors import InputError, PluginWarning

GROUP: Final = "dovetail.providers"
KubeT = TypeVar("KubeT")
_Plugin = ProviderPlugin[KubeT, msgspec.Struct]


class InstalledPlugins(msgspec.Struct, Generic[KubeT], frozen=True):
    """The plugins that could be loaded, by name, and for each of the others the problem."""

    plugins: tuple[_Plugin[KubeT], ...]
    problems: tuple[str, ...] = ()


def names() -> tuple[str, ...]:
    """Every provider that is installed."""
    return tuple(sorted({entry.name for entry in entry_points(group=GROUP)}))


def load(name: str) -> _Plugin[KubeT]:
    """The plugin of this name. Raises InputError when there is none, or more than one."""
    entries = {entry.value: entry for entry in entry_points(group=GROUP) if entry.name == name}
    if not entries:
        msg = f"no provider {name!r}: expected one of {', '.join(names()) or 'none installed'}"
        raise InputError(msg)
    if len(entries) > 1:
        msg = f"provider {name!r} is installed more than once: {', '.join(sorted(entries))}"
        raise InputError(msg)
    (entry,) = entries.values()
    return _load(entry)


def plugins() -> tuple[_Plugin[KubeT], ...]:
    """All that can be loaded, by name; a PluginWarning names each of the others. Raises InputError
    when two bring the same kind.
    """
    installed_plugins: InstalledPlugins[KubeT] = load_plugins()
    return installed_plugins.plugins


def load_plugins() -> InstalledPlugins[KubeT]:
    """All plugins, and what is wrong with those that cannot be loaded, which is a PluginWarning as
    well. Raises InputError when two bring the same kind.
    """
    loaded: dict[str, _Plugin[KubeT]] = {}
    problems: list[str] = []
    for name in names():
        try:
            loaded[name] = load(name)
        except InputError as error:
            problems.append(str(error))
    for problem in problems:
        warnings.warn(f"{problem}; what it brings is unknown", PluginWarning, stacklevel=2)
    _refuse_shared_kinds(loaded)
    distinct = {id(plugin): plugin for plugin in loaded.values()}
    return InstalledPlugins(tuple(distinct.values()), tuple(problems))


def _refuse_shared_kinds(loaded: Mapping[str, _Plugin[KubeT]]) -> None:
    owners: dict[tuple[str, str], tuple[str, api.Kind]] = {}
    for name, plugin in loaded.items():
        for kind in plugin.node_classes:
            owner, other = owners.setdefault((kind.group, kind.name), (name, kind))
            if other != kind:
                msg = f"providers {owner!r} and {name!r} both bring {kind.name}.{kind.group}"
                raise InputError(msg)


def extensions(name: str = "") -> tuple[api.Extension, ...]:
    """What this provider adds to the API, or without a name all that are installed."""
    loaded: tuple[_Plugin[None], ...] = (load(name),) if name else plugins()
    return tuple(plugin.extension for plugin in loaded)


def start_provider(
    plugin: ProviderPlugin[KubeT, msgspec.Struct],
    context: ProviderContext[KubeT],
    settings: msgspec.Struct | None = None,
) -> AbstractAsyncContextManager[CloudProvider]:
    """The provider, for as long as the block lasts; without `settings`, with the defaults. Raises
    InputError for what is no provider.
    """
    chosen = plugin.settings.defaults if settings is None else settings
    provider: object = plugin.make(context, chosen)
    if isinstance(provider, CloudProvider):
        return nullcontext(provider)
    if isinstance(provider, AbstractAsyncContextManager):
        return provider
    msg = f"provider {plugin.name!r} made {type(provider).__name__}, no provider"
    raise InputError(msg)


def _load(entry: EntryPoint) -> _Plugin[KubeT]:
    try:
        plugin = entry.load()
    except Exception as error:  # whatever the package of somebody else raises
        reason = str(error) or type(error).__name__
        msg = f"provider {entry.name!r} cannot be loaded from {entry.value}: {reason}"
        raise InputError(msg) from error
    if not isinstance(plugin, ProviderPlugin):
        kind = type(plugin).__name__
        msg = f"provider {entry.name!r}: {entry.value} is {kind}, expected a ProviderPlugin"
        raise InputError(msg)
    return plugin
