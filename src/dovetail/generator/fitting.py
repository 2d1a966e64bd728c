"""Compares a request with its provider's catalogue: families, GPUs, zones, sizes, node class."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

from dovetail import labels
from dovetail.api.decoding import FieldProblem
from dovetail.generator.checks import amount
from dovetail.generator.request import NodePoolRequest, PerNodeRange
from dovetail.generator.selection import ProviderCatalogue, architectures, gpu_resources, launchable
from dovetail.model.instance import InstanceType
from dovetail.units import quantity

SIZE_FIELDS: Final = frozenset(
    {"cpu", "memory", "gpus", "families", "architectures", "cpuPerNode", "memoryPerNode", "spot"}
)


def misfits(request: NodePoolRequest, catalogue: ProviderCatalogue) -> Iterator[FieldProblem]:
    """Everything that the provider does not have, but for sizes."""
    yield from _families(request, catalogue)
    yield from _architectures(request, catalogue)
    yield from _gpus(request, catalogue)
    yield from _zones(request, catalogue)
    yield from _memory(request, catalogue)
    yield from _node_class(request, catalogue)


def _families(request: NodePoolRequest, catalogue: ProviderCatalogue) -> Iterator[FieldProblem]:
    known = catalogue.families()
    for index, family in enumerate(request.families):
        if family and family not in known:
            close = get_close_matches(family, known, n=3)
            expected = " or ".join(close) if close else "a name such as " + ", ".join(known[:3])
            yield FieldProblem(
                f"families[{index}]",
                f"{family!r} is no instance family of provider {catalogue.name}; "
                f"expected {expected}",
            )


def _architectures(
    request: NodePoolRequest, catalogue: ProviderCatalogue
) -> Iterator[FieldProblem]:
    for index, family in enumerate(request.families):
        known = {
            value
            for item in catalogue.of_family(family)
            for value in item.requirements[labels.ARCH].values
        }
        if known and request.architectures and known.isdisjoint(request.architectures):
            shown = ", ".join(sorted(known))
            yield FieldProblem(
                f"families[{index}]",
                f"{family} is {shown}, which architectures leaves out; "
                f"expected another family, or {shown} in architectures",
            )


def _gpus(request: NodePoolRequest, catalogue: ProviderCatalogue) -> Iterator[FieldProblem]:
    of_family = {family: gpu_resources(catalogue.of_family(family)) for family in request.families}
    known = {family: names for family, names in of_family.items() if catalogue.of_family(family)}
    if not request.gpus:
        with_gpus = [family for family, names in known.items() if names]
        if with_gpus:
            yield FieldProblem(
                "gpus",
                f"is missing, and {_listed(with_gpus)} GPUs; expected the most GPUs of all nodes "
                "together, or other families",
            )
        return
    without = [family for family, names in known.items() if not names]
    if without:
        suitable = ", ".join(_gpu_families(catalogue)) or "none of this provider"
        yield FieldProblem(
            "families",
            f"gpus is {request.gpus}, and {_listed(without)} no GPUs; "
            f"expected families with GPUs ({suitable}), or no gpus",
        )
    kinds = sorted({name for names in known.values() for name in names})
    if len(kinds) > 1:
        yield FieldProblem(
            "families", f"have GPUs of several kinds, {', '.join(kinds)}; expected a pool for each"
        )
    if not request.families and not _gpu_families(catalogue):
        yield FieldProblem(
            "gpus", f"provider {catalogue.name} has no instance types with GPUs; expected no gpus"
        )


def _listed(families: list[str]) -> str:
    return f"{', '.join(families)} {'has' if len(families) == 1 else 'have'}"


def _gpu_families(catalogue: ProviderCatalogue) -> tuple[str, ...]:
    return tuple(
        family for family in catalogue.families() if gpu_resources(catalogue.of_family(family))
    )


def _zones(request: NodePoolRequest, catalogue: ProviderCatalogue) -> Iterator[FieldProblem]:
    form = catalogue.form
    if not form.zone_pattern:
        return
    regions: dict[str, str] = {}
    for index, zone in enumerate(request.zones):
        match = re.fullmatch(form.zone_pattern, zone)
        if match is not None:
            regions.setdefault(match[1], zone)
        elif zone:
            yield FieldProblem(
                f"zones[{index}]",
                f"{zone!r} is no zone of provider {catalogue.name}; expected {form.zone_example}",
            )
    if len(regions) > 1:
        shown = " and ".join(regions.values())
        yield FieldProblem(
            "zones", f"{shown} are in different regions; expected the zones of one cluster"
        )


def _memory(request: NodePoolRequest, catalogue: ProviderCatalogue) -> Iterator[FieldProblem]:
    wanted = request.memory_per_node
    if not catalogue.form.memory_label and (wanted.min is not None or wanted.max is not None):
        yield FieldProblem(
            "memoryPerNode",
            f"nodes of provider {catalogue.name} cannot be chosen by memory; expected cpuPerNode "
            "or families",
        )


def size_problems(request: NodePoolRequest, catalogue: ProviderCatalogue) -> Iterator[FieldProblem]:
    """What no instance type fulfils, and totals that are too small for a single node."""
    types = launchable(request, catalogue)
    if not types:
        chosen = ", ".join(architectures(request, catalogue))
        yield FieldProblem(
            ", ".join(_selecting(request)),
            f"no instance type of provider {catalogue.name} ({chosen}) fulfils the request; "
            "expected wider ranges, or other families",
        )
        return
    limits = {"cpu": request.cpu, "memory": request.memory}
    for resource, total in limits.items():
        limit, least = amount(resource, total), _least(types, resource)
        if limit and limit < least:
            yield FieldProblem(
                resource,
                f"{total} for all nodes is less than the smallest node that fulfils the request "
                f"has, {quantity.render(resource, least)}; expected at least that",
            )
    gpus = [item.capacity[name] for item in types for name in gpu_resources([item])]
    if request.gpus and gpus and request.gpus < min(gpus):
        yield FieldProblem(
            "gpus",
            f"{request.gpus} for all nodes is less than the smallest node that fulfils the "
            f"request has, {min(gpus)}; expected at least that, or other families",
        )


def _selecting(request: NodePoolRequest) -> list[str]:
    """The fields that select instance types, of those that the request has."""
    fields = {
        "gpus": request.gpus,
        "families": request.families,
        "architectures": request.architectures,
        "cpuPerNode": request.cpu_per_node != PerNodeRange(),
        "memoryPerNode": request.memory_per_node != PerNodeRange(),
    }
    return [name for name, value in fields.items() if value] or ["provider"]


def _least(types: tuple[InstanceType, ...], resource: str) -> int:
    return min(item.capacity.get(resource, 0) for item in types)


def _node_class(request: NodePoolRequest, catalogue: ProviderCatalogue) -> Iterator[FieldProblem]:
    form = catalogue.form
    given = settings(request)
    for name in given:
        if name not in form.allows:
            yield FieldProblem(
                f"nodeClass.{name}",
                f"means nothing to provider {catalogue.name}; expected no {name}",
            )
    for problem in form.setting_problems(given):
        yield FieldProblem(f"nodeClass.{problem.field}", problem.message)
    if request.node_class.name and not given:
        return
    missing = [name for name in form.needs if name not in given]
    if missing:
        yield FieldProblem(
            "nodeClass",
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing for a new "
            "node class; expected "
            f"{' and '.join(missing)}, or only the name of a node class that exists",
        )


def settings(request: NodePoolRequest) -> dict[str, str]:
    """What the request says of a new node class, by the name of the field."""
    wanted = request.node_class
    stated = {
        "role": wanted.role,
        "cluster": wanted.cluster,
        "image": wanted.image,
        "disk": wanted.disk,
    }
    return {name: value for name, value in stated.items() if value}
