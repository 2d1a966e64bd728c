"""A catalogue by name, and the one of a pool."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dovetail.cloud.catalogue_file import render
from dovetail.cloud.catalogues import OfflineCatalogues
from dovetail.errors import InputError
from dovetail.model.pool import NodeClassRef
from dovetail.providers.aws.catalogue import offline as aws
from dovetail.providers.aws.plugin import SYNTHETIC_SPOT
from dovetail.providers.kwok import catalogue as generic
from dovetail.testing import node_pool


def test_catalogues_of_providers_go_by_name() -> None:
    """`generic` and `aws`."""
    catalogues = OfflineCatalogues()
    assert catalogues.by_name("generic") == generic.instance_types()
    assert catalogues.by_name("aws") == aws.instance_types()
    assert catalogues.used_names == ("generic", "aws")


def test_what_must_be_said_of_prices_comes_with_the_catalogue() -> None:
    """A file has no notes."""
    catalogues = OfflineCatalogues()
    assert catalogues.notes(["generic", "aws", "my.json"]) == (SYNTHETIC_SPOT,)
    assert catalogues.notes(["generic"]) == ()


def test_any_other_name_is_a_file(tmp_path: Path) -> None:
    """In the kwok format."""
    path = tmp_path / "types.json"
    path.write_text(render(generic.instance_types()[:3]))
    assert OfflineCatalogues().by_name(str(path)) == generic.instance_types()[:3]


def test_a_name_that_is_neither_says_what_was_expected() -> None:
    """The names of catalogues are listed."""
    with pytest.raises(InputError, match=r"'gcp'.*aws, generic, or a file"):
        OfflineCatalogues().by_name("gcp")


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
    assert OfflineCatalogues().best_name(node_pool(), in_use) == want


@pytest.mark.parametrize(
    ("ref", "want"),
    [
        pytest.param(NodeClassRef(kind="EC2NodeClass"), "aws", id="without a group"),
        pytest.param(NodeClassRef("karpenter.k8s.aws", "EC2NodeClass"), "aws", id="with its group"),
        pytest.param(NodeClassRef("other.sh", "EC2NodeClass"), "generic", id="of another group"),
        pytest.param(NodeClassRef("", "Unknown"), "generic", id="that no provider brings"),
    ],
)
def test_a_pool_has_the_catalogue_of_its_node_class(ref: NodeClassRef, want: str) -> None:
    """Before it has any node; a kind that no provider brings has the default provider's."""
    pool = msgspec.structs.replace(node_pool(), node_class=ref)
    catalogues = OfflineCatalogues()
    assert catalogues.best_name(pool, ()) == want
    assert catalogues.of_pool(pool) == catalogues.by_name(want)
