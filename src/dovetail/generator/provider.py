"""Finds what an installed provider offers to generated pools; no cloud is contacted."""

from __future__ import annotations

import msgspec

from dovetail.cloud import registry
from dovetail.cloud.plugin import ProviderPlugin
from dovetail.errors import InputError
from dovetail.generator.offer import ProviderOffer


def provider_names() -> tuple[str, ...]:
    """The providers that pools can be generated for."""
    return tuple(plugin.name for plugin in _plugins() if plugin.form is not None)


def provider_offer(name: str) -> ProviderOffer:
    """The offer of a provider. Raises InputError when none of this name generates pools."""
    for plugin in _plugins():
        if plugin.name == name and plugin.form is not None:
            types = plugin.catalogues[0].instance_types() if plugin.catalogues else ()
            return ProviderOffer(name, plugin.form, types)
    names = ", ".join(provider_names())
    msg = f"no provider {name!r} generates NodePools; expected one of {names}"
    raise InputError(msg)


def _plugins() -> tuple[ProviderPlugin[None, msgspec.Struct], ...]:
    return registry.plugins()
