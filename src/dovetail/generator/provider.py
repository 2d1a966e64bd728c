"""Finds the catalogue of an installed provider for generated pools; no cloud is contacted."""

from __future__ import annotations

import msgspec

from dovetail.api.decoding import FieldProblem, Tree
from dovetail.cloud import registry
from dovetail.cloud.plugin import ProviderPlugin
from dovetail.errors import InputError
from dovetail.generator.generate import Generated, generate, problems
from dovetail.generator.reading import RequestError, read_request
from dovetail.generator.selection import ProviderCatalogue


def provider_names() -> tuple[str, ...]:
    """The providers that pools can be generated for."""
    return tuple(plugin.name for plugin in _plugins() if plugin.form is not None)


def provider_catalogue(name: str) -> ProviderCatalogue:
    """The catalogue of a provider. Raises InputError when none of this name generates pools."""
    for plugin in _plugins():
        if plugin.name == name and plugin.form is not None:
            types = plugin.catalogues[0].instance_types() if plugin.catalogues else ()
            return ProviderCatalogue(name, plugin.form, types)
    names = ", ".join(provider_names())
    msg = f"no provider {name!r} generates NodePools; expected one of {names}"
    raise InputError(msg)


def generate_installed(tree: Tree, file: str = "") -> Generated:
    """The documents of a request for a provider that is installed. Raises RequestError; a provider
    that is not installed is one of the problems.
    """
    refusals = problems_installed(tree)
    if refusals:
        raise RequestError(refusals, file)
    return generate(tree, provider_catalogue(read_request(tree).request.provider))


def problems_installed(tree: Tree) -> tuple[FieldProblem, ...]:
    """Everything wrong with a request for a provider that is installed."""
    read = read_request(tree)
    name = read.request.provider
    if name in provider_names():
        return problems(read, provider_catalogue(name))
    message = f"{name!r} generates no NodePools; expected one of {', '.join(provider_names())}"
    return problems(read, None, [FieldProblem("provider", message)])


def _plugins() -> tuple[ProviderPlugin[None, msgspec.Struct], ...]:
    return registry.plugins()
