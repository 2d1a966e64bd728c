"""How much does a pod take of its node? As kube-scheduler counts it.

Containers run side by side and add up. Init containers run one after the other beside the sidecars
started before them, so the largest moment counts. Pod-level requests replace what the containers
come to; overhead is added on top.

    containers 1 + 2 cpu, sidecar 1, later init container 4: max(1 + 2 + 1, 1 + 4) = 5 cpu
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from dovetail import api
from dovetail.model.resources import CPU, MEMORY, PODS, peak, total, without_zeros
from dovetail.state.amounts import resources, with_defaults

_ALWAYS: Final = "Always"  # an init container that is restarted is a sidecar
_CONTAINER: Final = "Container"
_HUGE_PAGES: Final = "hugepages-"

Allocated = Mapping[str, Mapping[str, int]]  # what running containers were given, by name
NOT_ALLOCATED: Final[Allocated] = {}


class Defaults(msgspec.Struct, frozen=True):
    """What a namespace's LimitRanges give to containers that ask for nothing."""

    requests: Mapping[str, int] = {}
    limits: Mapping[str, int] = {}


NO_DEFAULTS: Final = Defaults()


def namespace_defaults(limit_ranges: Sequence[api.LimitRange]) -> Defaults:
    """All LimitRanges of one namespace as one; the first by name that says something counts."""
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    for limit_range in sorted(limit_ranges, key=lambda one: one.metadata.name):
        for item in limit_range.spec.limits:
            if item.type == _CONTAINER:
                default = with_defaults(resources(item.default), resources(item.max))
                asked = with_defaults(resources(item.default_request), default)
                requests = with_defaults(requests, with_defaults(asked, resources(item.min)))
                limits = with_defaults(limits, default)
    return Defaults(requests, limits) if requests or limits else NO_DEFAULTS


def pod_requests(
    parts: api.PodParts,
    *,
    overhead: api.ResourceList,
    defaults: Defaults = NO_DEFAULTS,
    allocated: Allocated = NOT_ALLOCATED,
) -> dict[str, int]:
    """What the pod takes, `pods: 1` included and zeros left out."""
    amounts = _containers(parts, defaults, allocated)
    if parts.resources is not None:
        amounts = _pod_level(amounts, parts.resources)
    amounts = total((amounts, resources(overhead)))
    return {**without_zeros(amounts), PODS: 1}


def _containers(parts: api.PodParts, defaults: Defaults, allocated: Allocated) -> dict[str, int]:
    running = total(_container(one, defaults, allocated) for one in parts.containers)
    sidecars: dict[str, int] = {}
    moments: list[Mapping[str, int]] = []
    for one in parts.init_containers:
        amounts = _container(one, defaults, allocated)
        moments.append(total((sidecars, amounts)))
        if one.restart_policy == _ALWAYS:
            sidecars = total((sidecars, amounts))
    return peak((total((running, sidecars)), *moments))


def _container(
    container: api.Container, defaults: Defaults, allocated: Allocated
) -> Mapping[str, int]:
    limits = resources(container.resources.limits)
    asked = with_defaults(resources(container.resources.requests), limits)
    asked = with_defaults(asked, defaults.requests)
    given = allocated.get(container.name)
    return asked if given is None else peak((asked, given))


def _pod_level(amounts: dict[str, int], wire: api.ResourceRequirements) -> dict[str, int]:
    limits = {name: one for name, one in resources(wire.limits).items() if _has_pod_level(name)}
    asked = {name: one for name, one in resources(wire.requests).items() if _has_pod_level(name)}
    return {**with_defaults(amounts, limits), **asked}


def _has_pod_level(name: str) -> bool:
    return name in (CPU, MEMORY) or name.startswith(_HUGE_PAGES)


def allocated_resources(status: api.core.PodStatus) -> Allocated:
    """What running containers were given, which after a resize may be more than they ask for."""
    found: dict[str, Mapping[str, int]] = {}
    for one in (*status.container_statuses, *status.init_container_statuses):
        actual = one.resources.requests if one.resources is not None else {}
        if one.allocated_resources or actual:
            found[one.name] = peak((resources(one.allocated_resources), resources(actual)))
    return found
