"""Families of machine images and what depends on them."""

from __future__ import annotations

import pytest

from dovetail.providers.aws.bootstrap.families import Family, alias_of, family_of, traits
from dovetail.providers.aws.node_class.types import AMISelectorTerm, EC2NodeClassSpec


def spec(family: str = "", alias: str = "") -> EC2NodeClassSpec:
    """A node class with a family, an alias or both."""
    terms = (AMISelectorTerm(alias=alias),) if alias else (AMISelectorTerm(id="ami-1"),)
    return EC2NodeClassSpec(ami_family=family, ami_selector_terms=terms)


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param(spec("AL2"), Family.AL2, id="by name"),
        pytest.param(spec(alias="al2023@latest"), Family.AL2023, id="by alias"),
        pytest.param(spec(alias="bottlerocket@v1.46.0"), Family.BOTTLEROCKET, id="with a version"),
        pytest.param(spec(alias="windows2025@latest"), Family.WINDOWS2025, id="Windows by alias"),
        pytest.param(spec("AL2023", "al2023@latest"), Family.AL2023, id="both say the same"),
        pytest.param(spec("Custom", "al2023@latest"), Family.CUSTOM, id="Custom beside an alias"),
        pytest.param(spec(), Family.CUSTOM, id="neither"),
    ],
)
def test_the_family_is_named_by_the_class_or_by_its_alias(
    given: EC2NodeClassSpec, want: Family
) -> None:
    """Custom beside an alias takes the image, and leaves user data to the user."""
    assert family_of(given) is want


def test_the_alias_is_that_of_the_term_that_has_one() -> None:
    """Empty where images are selected otherwise."""
    assert alias_of(spec(alias="al2@latest")) == "al2@latest"
    assert alias_of(spec("AL2")) == ""


@pytest.mark.parametrize(
    ("family", "want"),
    [
        pytest.param(Family.AL2, [("/dev/xvda", "20Gi")], id="AL2"),
        pytest.param(Family.AL2023, [("/dev/xvda", "20Gi")], id="AL2023"),
        pytest.param(
            Family.BOTTLEROCKET, [("/dev/xvda", "4Gi"), ("/dev/xvdb", "20Gi")], id="Bottlerocket"
        ),
        pytest.param(Family.WINDOWS2019, [("/dev/sda1", "50Gi")], id="Windows2019"),
        pytest.param(Family.WINDOWS2022, [("/dev/sda1", "50Gi")], id="Windows2022"),
        pytest.param(Family.WINDOWS2025, [("/dev/sda1", "50Gi")], id="Windows2025"),
        pytest.param(Family.CUSTOM, [], id="Custom has none"),
    ],
)
def test_each_family_has_its_volumes(family: Family, want: list[tuple[str, str]]) -> None:
    """Encrypted, and of the type gp3. The last one is where pods' files are."""
    devices = traits(family).block_devices
    volumes = [(one.device_name, one.ebs) for one in devices]
    assert [(name, ebs and ebs.volume_size) for name, ebs in volumes] == want
    assert {(ebs.volume_type, ebs.encrypted) for _, ebs in volumes if ebs} <= {("gp3", True)}
    assert traits(family).ephemeral_device == (want[-1][0] if want else "")


@pytest.mark.parametrize(
    ("families", "want"),
    [
        pytest.param(
            (Family.AL2, Family.AL2023, Family.CUSTOM), ("linux", True, True, True), id="Linux"
        ),
        pytest.param((Family.BOTTLEROCKET,), ("linux", False, False, True), id="Bottlerocket"),
        pytest.param(
            (Family.WINDOWS2019, Family.WINDOWS2022, Family.WINDOWS2025),
            ("windows", False, True, False),
            id="Windows",
        ),
    ],
)
def test_each_family_supports_its_own_settings(
    families: tuple[Family, ...], want: tuple[str, bool, bool, bool]
) -> None:
    """ENI-limited memory overhead, pods per core, ENI-limited density."""
    for family in families:
        got = traits(family)
        assert (
            got.os,
            got.uses_eni_limited_memory_overhead,
            got.supports_pods_per_core,
            got.supports_eni_limited_density,
        ) == want
