"""User data of all families: golden files, and how large it may be."""

from __future__ import annotations

import pytest

from dovetail.providers.aws.bootstrap.families import Family
from dovetail.providers.aws.bootstrap.inputs import UserDataError
from dovetail.providers.aws.bootstrap.user_data import SIZE_LIMIT, user_data, user_data_size
from tests.unit.providers.aws.bootstrap.cases import CASES, GOLDEN, inputs


@pytest.mark.parametrize("name", CASES)
def test_user_data_is_as_it_was(name: str) -> None:
    """Launch templates are named for it: a change makes new ones, and must be meant."""
    family, given = CASES[name]
    got = user_data(family, given)
    want = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    assert got == want


def test_every_family_has_cases_of_its_name() -> None:
    """A family without cases would be one without tests."""
    assert {family for family, _ in CASES.values()} == set(Family)
    for name, (family, _) in CASES.items():
        assert name.partition("-")[0] == family.lower()


def test_every_golden_file_is_of_a_case() -> None:
    """None is left over."""
    assert sorted(path.stem for path in GOLDEN.iterdir()) == sorted(CASES)


def test_all_windows_are_alike() -> None:
    """The same script bootstraps them."""
    years = (Family.WINDOWS2019, Family.WINDOWS2022, Family.WINDOWS2025)
    assert len({user_data(family, inputs()) for family in years}) == 1


@pytest.mark.parametrize("custom", ["#!/bin/sh\r\n", "\n", "", None], ids=repr)
def test_user_data_of_custom_images_is_the_users(custom: str | None) -> None:
    """Byte for byte; nothing is put in, and nothing is checked."""
    given = inputs(custom=custom, labels={"a": "not a label!"})
    assert user_data(Family.CUSTOM, given) == (custom or "")


def test_an_error_names_the_field_and_can_be_shown() -> None:
    """Others put both into a status condition."""
    with pytest.raises(UserDataError) as caught:
        user_data(Family.BOTTLEROCKET, inputs(custom="="))
    assert caught.value.field == "spec.userData"
    assert str(caught.value) == f"spec.userData: {caught.value.message}"


@pytest.mark.parametrize(
    ("n_bytes", "near", "over"),
    [
        pytest.param(14745, False, False, id="less than nine tenths"),
        pytest.param(14746, True, False, id="nine tenths"),
        pytest.param(SIZE_LIMIT, True, False, id="as much as EC2 takes"),
        pytest.param(SIZE_LIMIT + 1, True, True, id="a byte more"),
    ],
)
def test_size_is_counted_in_bytes_before_base64(n_bytes: int, *, near: bool, over: bool) -> None:
    """A warning comes before the error."""
    size = user_data_size("é" + "x" * (n_bytes - 2))
    assert (size.n_bytes, size.is_near_limit, size.exceeds_limit) == (n_bytes, near, over)
