"""Which machine types a node class can use."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.providers.aws.bootstrap.families import Family
from dovetail.providers.aws.catalogue.class_facts import FitFacts
from dovetail.providers.aws.catalogue.compatibility import is_compatible
from dovetail.providers.aws.node_class.types import NetworkInterface
from tests.unit.providers.aws.catalogue.setting import machine

PRIMARY = NetworkInterface(0, 0)
TWO_CARDS = {"card_interfaces": (2, 2), "efas": 2}


@pytest.mark.parametrize(
    ("figures", "fit", "want"),
    [
        pytest.param({}, {}, True, id="nothing special is asked for"),
        pytest.param({"name": "a1.large", "arch": "arm64"}, {}, False, id="AL2023 on a1"),
        pytest.param(
            {"name": "a1.large", "arch": "arm64"},
            {"family": Family.BOTTLEROCKET},
            True,
            id="Bottlerocket on a1",
        ),
        pytest.param({"arch": "arm64"}, {"family": Family.WINDOWS2022}, False, id="Windows, arm64"),
        pytest.param({}, {"nests_virtualization": True}, False, id="no nested virtualisation"),
        pytest.param(
            {"nests_virtualization": True},
            {"nests_virtualization": True},
            True,
            id="nested virtualisation",
        ),
        pytest.param({"hypervisor": "xen"}, {"tracks_connections": True}, False, id="Xen"),
        pytest.param({}, {"tracks_connections": True}, True, id="Nitro tracks connections"),
        pytest.param(
            {"hypervisor": "", "is_metal": True},
            {"tracks_connections": True},
            True,
            id="bare metal with ENA is Nitro",
        ),
        pytest.param({}, {"placement_strategy": "cluster"}, True, id="cluster placement"),
        pytest.param(
            {"placement_strategies": ("partition", "spread")},
            {"placement_strategy": "cluster"},
            False,
            id="no cluster placement",
        ),
        pytest.param({}, {"interfaces": (PRIMARY,)}, True, id="the primary interface"),
        pytest.param({"has_ena": False}, {"interfaces": (PRIMARY,)}, False, id="no ENA"),
        pytest.param(
            {}, {"interfaces": (PRIMARY, NetworkInterface(1, 1))}, False, id="no second card"
        ),
        pytest.param(
            TWO_CARDS, {"interfaces": (PRIMARY, NetworkInterface(1, 1))}, True, id="two cards"
        ),
        pytest.param(
            TWO_CARDS, {"interfaces": (PRIMARY, NetworkInterface(1, 2))}, False, id="device index"
        ),
        pytest.param(
            TWO_CARDS,
            {"interfaces": (PRIMARY, NetworkInterface(1, 1, "efa-only"))},
            True,
            id="an EFA interface",
        ),
        pytest.param(
            TWO_CARDS | {"efas": 0},
            {"interfaces": (PRIMARY, NetworkInterface(1, 1, "efa-only"))},
            False,
            id="no EFA interface",
        ),
    ],
)
def test_a_machine_is_compatible_if_it_can_do_all_that_the_class_asks(
    figures: dict[str, Any], fit: dict[str, Any], *, want: bool
) -> None:
    """Image, virtualisation, connection tracking, placement, network interfaces."""
    name = str(figures.get("name", "m5.large"))
    rest = {key: value for key, value in figures.items() if key != "name"}
    asked = FitFacts(**({"family": Family.AL2023} | fit))
    assert is_compatible(machine(name, **rest), asked) is want
