"""Which images the status lists, in which order, and which one an instance type boots."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dovetail import labels
from dovetail.model.requirements import Requirements, requirement
from dovetail.providers.aws.catalogue.class_facts import PlaceFacts
from dovetail.providers.aws.catalogue.machines import packaged_types
from dovetail.providers.aws.catalogue.node_labels import offered_labels, requirements
from dovetail.providers.aws.images.aliases import Variant
from dovetail.providers.aws.images.queries import ImageQuery, NamedImage
from dovetail.providers.aws.images.resolution import (
    ImageCandidate,
    MachineImage,
    amis,
    candidates,
    image_for,
    machine_image,
)
from dovetail.providers.aws.images.variants import image_requirements
from dovetail.providers.aws.node_class.types import AMI

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STANDARD = image_requirements("amd64", Variant.STANDARD)
ARM = image_requirements("arm64", Variant.STANDARD)


def image(
    name: str, day: int = 1, *, is_deprecated: bool = False, architecture: str = "amd64"
) -> MachineImage:
    """An image of that day."""
    created_at = f"2025-12-{day:02d}T00:00:00.000Z"
    return MachineImage(f"ami-{name}", name, architecture, created_at, is_deprecated)


def chosen(*images: MachineImage) -> list[str]:
    """The names in the status, of images for the same machines."""
    return [ami.name for ami in amis(ImageCandidate(one, STANDARD, 0) for one in images)]


def test_of_images_for_the_same_machines_one_is_chosen() -> None:
    """One that is not deprecated, then the newest, then the larger name; in any order of input."""
    old, new = image("old", 1), image("new", 2)
    late = image("late", 3, is_deprecated=True)
    assert chosen(old, new, late) == chosen(late, new, old) == ["new"]
    assert chosen(image("a"), image("b")) == chosen(image("b"), image("a")) == ["b"]


def test_deprecated_images_are_used_where_there_are_no_others() -> None:
    """The status says that they are deprecated."""
    (got,) = amis([ImageCandidate(image("late", is_deprecated=True), STANDARD, 0)])
    assert got.deprecated


def test_the_newest_images_come_first_then_by_id() -> None:
    """The order of the status decides which image is booted."""
    found = [
        ImageCandidate(image("b", 1), STANDARD, 0),
        ImageCandidate(image("a", 1), ARM, 0),
        ImageCandidate(image("c", 2), image_requirements("amd64", Variant.NVIDIA), 0),
    ]
    assert [ami.name for ami in amis(found)] == ["c", "a", "b"]
    assert amis(found) == amis(reversed(found))


def test_an_image_counts_for_every_variant_that_it_serves() -> None:
    """A GPU image of AL2 is for NVIDIA and for Neuron machines."""
    named = NamedImage("ami-gpu", 0, (Variant.NVIDIA, Variant.NEURON))
    query = ImageQuery((), named=(named, NamedImage("ami-missing", 1)))
    got = candidates(query, [image("gpu")])
    assert [one.requirements for one in got] == [
        image_requirements("amd64", Variant.NVIDIA),
        image_requirements("amd64", Variant.NEURON),
    ]
    assert len(amis(got)) == 2


def test_images_that_no_node_can_boot_are_left_out() -> None:
    """A Mac is no node."""
    assert candidates(ImageQuery((), term=0), [image("mac", architecture="")]) == ()


def test_an_image_is_deprecated_from_its_time_on() -> None:
    """Not before."""
    described = {"ImageId": "ami-1", "Architecture": "x86_64"}
    deprecations = {"": False, "2026-01-01T00:00:00.000Z": True, "2026-01-02T00:00:00.000Z": False}
    for moment, want in deprecations.items():
        got = machine_image({**described, "DeprecationTime": moment}, NOW)  # type: ignore[typeddict-item]  # a part of it
        assert got.is_deprecated == want
        assert got.architecture == "amd64"


AL2023 = tuple(
    AMI(id=f"{architecture}-{variant}", requirements=image_requirements(architecture, variant))
    for architecture in ("amd64", "arm64")
    for variant in (Variant.STANDARD, Variant.NVIDIA, Variant.NEURON)
)


@pytest.mark.parametrize(
    ("machine", "want"),
    [
        ("m5.large", "amd64-standard"),
        ("m6g.large", "arm64-standard"),
        ("g5.xlarge", "amd64-nvidia"),
        ("inf2.xlarge", "amd64-neuron"),
        ("g5g.xlarge", "arm64-nvidia"),
    ],
)
def test_an_instance_type_boots_the_image_for_its_devices(machine: str, want: str) -> None:
    """With the labels that the catalogue gives it."""
    (found,) = [one for one in packaged_types() if one.name == machine]
    got = image_for(
        requirements(found, PlaceFacts(region="us-west-2"), offered_labels((), ())), AL2023
    )
    assert got is not None
    assert got.id == want


def test_the_first_image_that_an_instance_type_can_boot_counts() -> None:
    """And none if it can boot none."""
    both = (AMI(id="first", requirements=STANDARD), AMI(id="second", requirements=STANDARD))
    machine = Requirements.of_labels({labels.ARCH: "amd64"})
    assert image_for(machine, both) == both[0]
    assert image_for(Requirements.of_labels({labels.ARCH: "arm64"}), both) is None


def test_a_windows_image_boots_machines_of_its_build() -> None:
    """The build is a label of the machine; where it states none, any will do."""
    ami = AMI(id="w", requirements=image_requirements("amd64", Variant.WINDOWS2022))
    plain = Requirements.of_labels({labels.ARCH: "amd64"})
    other = plain & [requirement(labels.WINDOWS_BUILD, "In", ["10.0.17763"])]
    assert image_for(plain, (ami,)) == ami
    assert image_for(other, (ami,)) is None
