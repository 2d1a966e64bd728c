"""A catalogue by name."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dovetail.cloud.catalogue_file import render
from dovetail.errors import InputError
from dovetail.model.pool import NodeClassRef
from dovetail.providers.aws import catalogue as aws
from dovetail.providers.choose import by_name, fitting
from dovetail.providers.kwok import catalogue as generic
from dovetail.testing import node_pool


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


@pytest.mark.parametrize(
    ("in_use", "want"),
    [
        pytest.param((), "generic", id="no nodes yet: that of the node class"),
        pytest.param(("m5.large",), "aws", id="nodes of EC2"),
        pytest.param(("c-4x-amd64-linux",), "generic", id="nodes of the generic grid"),
        pytest.param(("unheard-of",), "generic", id="nodes that nobody knows"),
    ],
)
def test_the_catalogue_that_knows_the_nodes_fits_a_pool(in_use: tuple[str, ...], want: str) -> None:
    """Whatever its node class."""
    assert fitting(node_pool(), in_use) == want


def test_a_pool_of_ec2_nodes_has_the_catalogue_of_ec2() -> None:
    """Before it has any node."""
    pool = msgspec.structs.replace(node_pool(), node_class=NodeClassRef(kind="EC2NodeClass"))
    assert fitting(pool, ()) == "aws"
