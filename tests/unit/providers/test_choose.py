"""A catalogue by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.cloud.catalogue_file import render
from dovetail.errors import InputError
from dovetail.providers.aws import catalogue as aws
from dovetail.providers.choose import by_name
from dovetail.providers.kwok import catalogue as generic


def test_built_in_catalogues_go_by_name() -> None:
    """`generic` and `aws`."""
    assert by_name("generic") == generic.instance_types()
    assert by_name("aws") == aws.instance_types()


def test_any_other_name_is_a_file(tmp_path: Path) -> None:
    """In the kwok format."""
    path = tmp_path / "types.json"
    path.write_text(render(generic.instance_types()[:3]))
    assert by_name(str(path)) == generic.instance_types()[:3]


def test_a_name_that_is_neither_says_what_was_expected() -> None:
    """The built-in names are listed."""
    with pytest.raises(InputError, match=r"'gcp'.*aws, generic, or a file"):
        by_name("gcp")
