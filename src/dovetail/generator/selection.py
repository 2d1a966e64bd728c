"""Defines what is known of a provider offline, and selects the instance types of a request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from dovetail import labels
from dovetail.cloud.node_pool_form import NodePoolForm, UsualRequirement
from dovetail.generator.checks import amount
from dovetail.generator.request import NodePoolRequest
from dovetail.model.instance import InstanceType
from dovetail.model.requirements import Operator, Requirement, Requirements, requirement

GPU_SUFFIX: Final = "/gpu"
MEBIBYTE: Final = 1 << 20


class ProviderCatalogue(msgspec.Struct, frozen=True):
    """A provider by name, with its form and its instance types as they are known offline."""

    name: str
    form: NodePoolForm
    types: tuple[InstanceType, ...]

    def families(self) -> tuple[str, ...]:
        """Every instance family, in order."""
        return tuple(sorted({family_of(self, item) for item in self.types} - {""}))

    def of_family(self, family: str) -> tuple[InstanceType, ...]:
        """The instance types of a family."""
        return tuple(item for item in self.types if family_of(self, item) == family)

    def zones(self) -> frozenset[str]:
        """The zones that are known offline."""
        return frozenset(offering.zone for item in self.types for offering in item.offerings)


def family_of(catalogue: ProviderCatalogue, item: InstanceType) -> str:
    """The family of an instance type; empty if it has none."""
    family = item.requirements.get(catalogue.form.family_label)
    return min(family.values, default="") if family is not None else ""


def gpu_resources(types: Sequence[InstanceType]) -> tuple[str, ...]:
    """The names of the GPUs of these instance types."""
    return tuple(
        sorted({name for item in types for name in item.capacity if name.endswith(GPU_SUFFIX)})
    )


def architectures(request: NodePoolRequest, catalogue: ProviderCatalogue) -> tuple[str, ...]:
    """The architectures of the pool: those requested, else those of its families, else amd64."""
    if request.architectures:
        return request.architectures
    types = [item for family in request.families for item in catalogue.of_family(family)]
    known = {value for item in types for value in item.requirements[labels.ARCH].values}
    return tuple(sorted(known)) or ("amd64",)


def capacity_types(request: NodePoolRequest) -> tuple[str, ...]:
    """The capacity types of the pool."""
    both = (labels.SPOT, labels.ON_DEMAND)
    return {"only": both[:1], "never": both[1:]}.get(request.spot, both)


def requirements(request: NodePoolRequest, catalogue: ProviderCatalogue) -> tuple[Requirement, ...]:
    """The requirements of the pool without its zones, as decisions see them."""
    form = catalogue.form
    listed = [
        requirement(labels.CAPACITY_TYPE, Operator.IN, capacity_types(request)),
        requirement(labels.ARCH, Operator.IN, architectures(request, catalogue)),
        requirement(labels.OS, Operator.IN, ("linux",)),
    ]
    if request.families:
        listed.append(requirement(form.family_label, Operator.IN, request.families))
    listed += (requirement(item.key, item.operator, item.values) for item in usual(request, form))
    return (*listed, *(requirement(key, how, [value]) for key, how, value in bounds(request, form)))


def usual(request: NodePoolRequest, form: NodePoolForm) -> tuple[UsualRequirement, ...]:
    """The requirements that take the place of families where none are requested."""
    if request.families:
        return ()
    return form.usual_gpu if request.gpus else form.usual


def bounds(request: NodePoolRequest, form: NodePoolForm) -> list[tuple[str, Operator, str]]:
    """The least and the most of CPU, memory and GPUs on one node, as key, operator and value."""
    rows = []
    cpu, memory = request.cpu_per_node, request.memory_per_node
    for how, cpu_millis in (
        (Operator.GTE, amount("cpu", cpu.min)),
        (Operator.LTE, amount("cpu", cpu.max)),
    ):
        if cpu_millis is not None:
            rows.append((form.cpu_label, how, str(cpu_millis // 1000)))
    for how, memory_bytes in (
        (Operator.GTE, amount("memory", memory.min)),
        (Operator.LTE, amount("memory", memory.max)),
    ):
        if memory_bytes is not None and form.memory_label:
            rows.append((form.memory_label, how, str(memory_bytes // MEBIBYTE)))
    if request.gpus and form.gpu_label:
        rows.append((form.gpu_label, Operator.GT, "0"))
    return rows


def launchable(request: NodePoolRequest, catalogue: ProviderCatalogue) -> tuple[InstanceType, ...]:
    """The instance types that fulfil the request, wherever they are offered."""
    wanted = Requirements(requirements(request, catalogue))
    return tuple(
        item
        for item in catalogue.types
        if wanted.intersects(item.requirements) and (not request.gpus or gpu_resources([item]))
    )
