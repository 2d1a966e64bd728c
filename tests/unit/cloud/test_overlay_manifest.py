"""NodeOverlay manifests as overlays."""

from __future__ import annotations

import pytest

from dovetail import api
from dovetail.cloud.overlays import Overlay, PriceScale, overlay
from dovetail.errors import InputError
from dovetail.model.requirements import requirement


def manifest(**spec: object) -> api.NodeOverlay:
    """A NodeOverlay with this spec."""
    tree = {"metadata": {"name": "gpu"}, "spec": {"requirements": [], **spec}}
    return api.decode(api.NodeOverlay, api.encode(tree))


def test_every_field_is_read() -> None:
    """Quantities and prices become exact integers."""
    got = overlay(
        manifest(
            weight=5,
            priceAdjustment="-50%",
            capacity={"example.com/fpga": "2"},
            requirements=[{"key": "a.io/b", "operator": "NotIn", "values": ["c"]}],
        )
    )
    assert got == Overlay(
        "gpu",
        5,
        (requirement("a.io/b", "NotIn", ["c"]),),
        price=PriceScale(1, 2),
        capacity={"example.com/fpga": 2},
    )


def test_a_wrong_value_is_refused_with_the_name_of_the_overlay() -> None:
    """Also when nobody has checked the manifest before."""
    with pytest.raises(InputError, match="NodeOverlay gpu: 'many' is not a quantity"):
        overlay(manifest(capacity={"example.com/fpga": "many"}))
