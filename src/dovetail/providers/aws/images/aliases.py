"""Computes which SSM parameters name the images of an alias such as `al2023@latest`."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final

import msgspec

_EKS: Final = "/aws/service/eks/optimized-ami"
_LATEST: Final = "latest"
_FIRST_WITHOUT_AL2: Final = 33  # minor versions of Kubernetes
_FIRST_WITH_WINDOWS2025: Final = 35
OLDEST_MINOR: Final = 26
NEWEST_MINOR: Final = 36


class Variant(StrEnum):
    """Which instance types an image is made for."""

    STANDARD = "standard"
    NVIDIA = "nvidia"
    NEURON = "neuron"
    WINDOWS2019 = "windows2019"
    WINDOWS2022 = "windows2022"
    WINDOWS2025 = "windows2025"


class Alias(msgspec.Struct, frozen=True, gc=False):
    """`family@version` of an AMI selector term."""

    family: str
    version: str

    @property
    def is_latest(self) -> bool:
        """Whether the images change over time."""
        return self.version == _LATEST

    def __str__(self) -> str:
        return f"{self.family}@{self.version}"


class ImageParameter(msgspec.Struct, frozen=True, gc=False):
    """An SSM parameter that names an image, and what the image is made for."""

    name: str
    variants: tuple[Variant, ...]
    is_mutable: bool


def parse_alias(text: str) -> Alias:
    """The alias; without a version it is the latest."""
    family, _, version = text.partition("@")
    return Alias(family.lower(), version or _LATEST)


def minor_of(kubernetes_version: str) -> int:
    """The minor version: 35 of `1.35`; 0 if there is none."""
    minor = kubernetes_version.removeprefix("v").split(".")[1:2]
    digits = "".join(char for char in "".join(minor) if char.isdecimal())
    return int(digits) if digits else 0


def unsupported_alias(alias: Alias, kubernetes_version: str) -> str:
    """Why there are no images of this alias for this version of Kubernetes; empty if there are."""
    minor = minor_of(kubernetes_version)
    if alias.family == "al2" and minor >= _FIRST_WITHOUT_AL2:
        return (
            f"AL2 images end with Kubernetes 1.{_FIRST_WITHOUT_AL2 - 1}, and this cluster runs "
            f"{kubernetes_version}: use al2023 or bottlerocket"
        )
    if alias.family == "windows2025" and minor < _FIRST_WITH_WINDOWS2025:
        return (
            f"Windows 2025 images begin with Kubernetes 1.{_FIRST_WITH_WINDOWS2025}, and this "
            f"cluster runs {kubernetes_version}: use windows2022"
        )
    return ""


def image_parameters(alias: Alias, kubernetes_version: str) -> tuple[ImageParameter, ...]:
    """Every parameter of the alias; none for a family that is not known."""
    parameters = _FAMILIES.get(alias.family)
    return parameters(alias, kubernetes_version) if parameters else ()


def _al2(alias: Alias, version: str) -> tuple[ImageParameter, ...]:
    def parameter(suffix: str, *variants: Variant) -> ImageParameter:
        release = f"amazon-eks{suffix}-node-{version}-{alias.version}"
        which = "recommended" if alias.is_latest else release
        name = f"{_EKS}/{version}/amazon-linux-2{suffix}/{which}/image_id"
        return ImageParameter(name, variants, alias.is_latest)

    return (
        parameter("", Variant.STANDARD),
        parameter("-arm64", Variant.STANDARD),
        parameter("-gpu", Variant.NVIDIA, Variant.NEURON),
    )


def _al2023(alias: Alias, version: str) -> tuple[ImageParameter, ...]:
    def parameter(architecture: str, variant: Variant) -> ImageParameter:
        release = f"amazon-eks-node-al2023-{architecture}-{variant}-{version}-{alias.version}"
        which = "recommended" if alias.is_latest else release
        folder = f"{_EKS}/{version}/amazon-linux-2023/{architecture}/{variant}"
        return ImageParameter(f"{folder}/{which}/image_id", (variant,), alias.is_latest)

    return (
        parameter("x86_64", Variant.STANDARD),
        parameter("x86_64", Variant.NVIDIA),
        parameter("x86_64", Variant.NEURON),
        parameter("arm64", Variant.STANDARD),
        parameter("arm64", Variant.NVIDIA),
    )


def _bottlerocket(alias: Alias, version: str) -> tuple[ImageParameter, ...]:
    release = alias.version.removeprefix("v")

    def parameter(flavour: str, architecture: str, *variants: Variant) -> ImageParameter:
        folder = f"/aws/service/bottlerocket/aws-k8s-{version}{flavour}/{architecture}"
        return ImageParameter(f"{folder}/{release}/image_id", variants, alias.is_latest)

    return (
        parameter("", "x86_64", Variant.STANDARD, Variant.NEURON),
        parameter("", "arm64", Variant.STANDARD),
        parameter("-nvidia", "x86_64", Variant.NVIDIA),
        parameter("-nvidia", "arm64", Variant.NVIDIA),
    )


def _windows(alias: Alias, version: str) -> tuple[ImageParameter, ...]:
    year = alias.family.removeprefix("windows")
    stem = f"Windows_Server-{year}-English-Core-EKS_Optimized-{version}"
    name = f"/aws/service/ami-windows-latest/{stem}/image_id"
    return (ImageParameter(name, (Variant(alias.family),), is_mutable=True),)


_FAMILIES: Final[dict[str, Callable[[Alias, str], tuple[ImageParameter, ...]]]] = {
    "al2": _al2,
    "al2023": _al2023,
    "bottlerocket": _bottlerocket,
    "windows2019": _windows,
    "windows2022": _windows,
    "windows2025": _windows,
}
