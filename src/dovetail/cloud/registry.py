"""Finds the clouds that are installed under the entry point group `dovetail.providers`.

Built-in providers come through the same door. An entry point names a function that is given the
`ProviderContext` and makes the provider:

    [project.entry-points."dovetail.providers"]
    mycloud = "mycloud.provider:provider"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Final, Generic, TypeVar

import msgspec

from dovetail.clock import Clock, Timer
from dovetail.cloud.provider import CloudProvider
from dovetail.errors import InputError

GROUP: Final = "dovetail.providers"
KubeT_co = TypeVar("KubeT_co", covariant=True)


class ProviderContext(msgspec.Struct, Generic[KubeT_co], frozen=True):
    """What a provider is given to work with. `kube` is a `dovetail.kube.seam.Kube`;
    `environment` holds the operator's settings by their environment names.
    """

    kube: KubeT_co
    clock: Clock
    timer: Timer
    environment: Mapping[str, str] = {}


def names() -> tuple[str, ...]:
    """Every provider that is installed."""
    return tuple(sorted({one.name for one in entry_points(group=GROUP)}))


def load(name: str) -> Callable[[ProviderContext[KubeT_co]], CloudProvider]:
    """What makes the provider of this name. Raises InputError when there is none, or no one."""
    found = {one.value: one for one in entry_points(group=GROUP) if one.name == name}
    if not found:
        msg = f"no provider {name!r}: expected one of {', '.join(names()) or 'none installed'}"
        raise InputError(msg)
    if len(found) > 1:
        msg = f"provider {name!r} is installed more than once: {', '.join(sorted(found))}"
        raise InputError(msg)
    (entry,) = found.values()
    return _loaded(entry)


def _loaded(entry: EntryPoint) -> Callable[[ProviderContext[KubeT_co]], CloudProvider]:
    try:
        make = entry.load()
    except (ImportError, AttributeError) as error:
        msg = f"provider {entry.name!r} cannot be loaded from {entry.value}: {error}"
        raise InputError(msg) from error

    def provider(surroundings: ProviderContext[KubeT_co]) -> CloudProvider:
        made = make(surroundings)
        if not isinstance(made, CloudProvider):
            msg = f"provider {entry.name!r}: {entry.value} made {type(made).__name__}, no provider"
            raise InputError(msg)
        return made

    if not callable(make):
        msg = f"provider {entry.name!r}: {entry.value} cannot be called"
        raise InputError(msg)
    return provider
