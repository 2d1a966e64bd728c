"""Chooses among described images those of the status, and the one that an instance type boots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from dovetail import api, labels
from dovetail.model.requirements import Requirements, requirement
from dovetail.providers.aws.images.aliases import Variant
from dovetail.providers.aws.images.queries import ImageQuery
from dovetail.providers.aws.images.variants import architecture_of, image_requirements
from dovetail.providers.aws.node_class.types import AMI

if TYPE_CHECKING:
    from types_aiobotocore_ec2.type_defs import ImageTypeDef

_AmiRequirements = tuple[api.NodeSelectorRequirement, ...]


class MachineImage(msgspec.Struct, frozen=True, gc=False):
    """What is read of a described image."""

    id: str
    name: str
    architecture: str  # as Kubernetes names it; empty: no node has it
    created_at: str  # ISO 8601, which sorts as time does
    is_deprecated: bool


class ImageCandidate(msgspec.Struct, frozen=True, gc=False):
    """An image that a selector term matched, with what it is made for."""

    image: MachineImage
    requirements: _AmiRequirements
    term: int


def machine_image(described: ImageTypeDef, now: datetime) -> MachineImage:
    """The image, judged at this time."""
    deprecated_at = described.get("DeprecationTime", "")
    return MachineImage(
        id=described.get("ImageId", ""),
        name=described.get("Name", ""),
        architecture=architecture_of(described.get("Architecture", "")),
        created_at=described.get("CreationDate", ""),
        is_deprecated=bool(deprecated_at) and datetime.fromisoformat(deprecated_at) <= now,
    )


def candidates(query: ImageQuery, images: Sequence[MachineImage]) -> tuple[ImageCandidate, ...]:
    """What one call answered, once for each term and variant that an image serves."""
    bootable = [image for image in images if image.architecture]
    if query.term is not None:
        term = query.term
        return tuple(
            ImageCandidate(image, image_requirements(image.architecture, None), term)
            for image in bootable
        )
    by_id = {image.id: image for image in bootable}
    no_variant: tuple[Variant | None, ...] = (None,)
    return tuple(
        ImageCandidate(image, image_requirements(image.architecture, variant), named.term)
        for named in query.named
        if (image := by_id.get(named.image_id)) is not None
        for variant in named.variants or no_variant
    )


def amis(candidates: Iterable[ImageCandidate]) -> tuple[AMI, ...]:
    """The images of the status: one for each set of requirements, the newest first.

    One that is not deprecated is preferred, then the newer one, then the larger name.
    """
    best: dict[_AmiRequirements, MachineImage] = {}
    for candidate in candidates:
        known = best.get(candidate.requirements)
        if known is None or _rank(candidate.image) > _rank(known):
            best[candidate.requirements] = candidate.image
    chosen = sorted(best.items(), key=lambda pair: (pair[1].id, api.encode(pair[0])))
    chosen.sort(key=lambda pair: pair[1].created_at, reverse=True)  # stable: ties stay by id
    return tuple(
        AMI(id=image.id, name=image.name, deprecated=image.is_deprecated, requirements=required)
        for required, image in chosen
    )


def _rank(image: MachineImage) -> tuple[bool, str, str, str]:
    return not image.is_deprecated, image.created_at, image.name, image.id


def image_for(machine_requirements: Requirements, amis: Sequence[AMI]) -> AMI | None:
    """The image that an instance type boots: the first compatible one of the status."""
    for ami in amis:
        if _can_boot(machine_requirements, ami):
            return ami
    return None


def _can_boot(machine: Requirements, ami: AMI) -> bool:
    wanted = Requirements(
        requirement(need.key, need.operator, need.values)
        for need in ami.requirements
        if labels.normalize(need.key) in machine or not _may_be_undefined(need.key)
    )
    return machine.compatible(wanted)


def _may_be_undefined(key: str) -> bool:
    """Labels of Kubernetes that a type need not state; those of devices it lacks are absent."""
    return labels.is_well_known(key) and labels.domain(key) != labels.AWS_GROUP
