"""Aliases of machine images and the SSM parameters behind them."""

from __future__ import annotations

import pytest

from dovetail.providers.aws.images.aliases import (
    Alias,
    image_parameters,
    minor_of,
    parse_alias,
    unsupported_alias,
)

EKS = "/aws/service/eks/optimized-ami/1.32"
AL2023 = f"{EKS}/amazon-linux-2023"
RELEASE = "amazon-eks-node-al2023"
WINDOWS = "/aws/service/ami-windows-latest"
WANTED = {
    "al2@latest": [
        (f"{EKS}/amazon-linux-2/recommended/image_id", "standard"),
        (f"{EKS}/amazon-linux-2-arm64/recommended/image_id", "standard"),
        (f"{EKS}/amazon-linux-2-gpu/recommended/image_id", "nvidia neuron"),
    ],
    "al2@v20240807": [
        (f"{EKS}/amazon-linux-2/amazon-eks-node-1.32-v20240807/image_id", "standard"),
        (f"{EKS}/amazon-linux-2-arm64/amazon-eks-arm64-node-1.32-v20240807/image_id", "standard"),
        (f"{EKS}/amazon-linux-2-gpu/amazon-eks-gpu-node-1.32-v20240807/image_id", "nvidia neuron"),
    ],
    "al2023@v1": [
        (
            f"{AL2023}/{architecture}/{variant}/{RELEASE}-{architecture}-{variant}-1.32-v1/image_id",
            variant,
        )
        for architecture, variant in (
            ("x86_64", "standard"),
            ("x86_64", "nvidia"),
            ("x86_64", "neuron"),
            ("arm64", "standard"),
            ("arm64", "nvidia"),
        )
    ],
    "bottlerocket@v1.20.3": [
        ("/aws/service/bottlerocket/aws-k8s-1.32/x86_64/1.20.3/image_id", "standard neuron"),
        ("/aws/service/bottlerocket/aws-k8s-1.32/arm64/1.20.3/image_id", "standard"),
        ("/aws/service/bottlerocket/aws-k8s-1.32-nvidia/x86_64/1.20.3/image_id", "nvidia"),
        ("/aws/service/bottlerocket/aws-k8s-1.32-nvidia/arm64/1.20.3/image_id", "nvidia"),
    ],
    "windows2022@latest": [
        (f"{WINDOWS}/Windows_Server-2022-English-Core-EKS_Optimized-1.32/image_id", "windows2022"),
    ],
    "unheard@latest": [],
}


@pytest.mark.parametrize("alias", WANTED)
def test_an_alias_names_the_parameters_of_its_family_version_and_kubernetes(alias: str) -> None:
    """One for each image, with what the image serves."""
    got = image_parameters(parse_alias(alias), "1.32")
    assert [(one.name, " ".join(one.variants)) for one in got] == WANTED[alias]


def test_only_the_latest_images_change() -> None:
    """A version names the same image for ever; Windows has no versions."""
    got = {
        alias: {one.is_mutable for one in image_parameters(parse_alias(alias), "1.32")}
        for alias in ("al2023@latest", "al2023@v1", "bottlerocket@latest", "windows2019@latest")
    }
    assert got == {
        "al2023@latest": {True},
        "al2023@v1": {False},
        "bottlerocket@latest": {True},
        "windows2019@latest": {True},
    }


def test_an_alias_without_a_version_is_the_latest() -> None:
    """As is one with it."""
    assert parse_alias("AL2023") == parse_alias("al2023@latest") == Alias("al2023", "latest")
    assert str(parse_alias("al2023@v1")) == "al2023@v1"


@pytest.mark.parametrize(
    ("alias", "version", "is_supported"),
    [
        ("al2@latest", "1.32", True),
        ("al2@latest", "1.33", False),
        ("windows2025@latest", "1.34", False),
        ("windows2025@latest", "1.35", True),
        ("al2023@latest", "1.36", True),
    ],
)
def test_some_images_exist_for_some_versions_of_kubernetes(
    alias: str,
    version: str,
    is_supported: bool,  # noqa: FBT001  a column of the table
) -> None:
    """AL2 ends with 1.32, Windows 2025 begins with 1.35."""
    assert (unsupported_alias(parse_alias(alias), version) == "") == is_supported


@pytest.mark.parametrize(
    ("version", "minor"), [("1.35", 35), ("v1.31.4-eks-123", 31), ("1.29+", 29), ("", 0)]
)
def test_the_minor_version_is_read_from_any_spelling(version: str, minor: int) -> None:
    """As EKS and the API server write it."""
    assert minor_of(version) == minor
