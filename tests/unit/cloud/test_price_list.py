"""Which offerings would serve a claim, cheapest first."""

from __future__ import annotations

import pytest

from dovetail import labels
from dovetail.cloud.price_list import Priced, PriceList, labels_of
from dovetail.model.claim import ClaimObject
from dovetail.model.requirements import Requirement, requirement
from dovetail.providers.kwok.catalogue import instance_types
from dovetail.testing import instance_type

SMALL = instance_type("small", cpu=2, price=0.1, spot=0.03, zones=["a", "b"])
LARGE = instance_type("large", cpu=8, price=0.4, spot=0.12, zones=["b"])
ARM = instance_type("arm", cpu=2, price=0.01, arch="arm64", zones=["a"])
PRICES = PriceList([LARGE, SMALL, ARM])


def claim(*requirements: Requirement, cpu: int = 0, **annotations: str) -> ClaimObject:
    """A claim for an amd64 node."""
    arch = requirement(labels.ARCH, "In", ["amd64"])
    return ClaimObject(
        "c",
        "u",
        requirements=(arch, *requirements),
        requests={"cpu": cpu},
        annotations=annotations,
    )


def served(asked: ClaimObject) -> list[str]:
    """Every choice in short."""
    return [str(one.sold_out) for one in PRICES.serving(asked)]


def test_choices_come_in_the_order_of_price_and_then_of_name() -> None:
    """So that a launch can fall back on the next, and two replicas fall back alike."""
    assert served(claim()) == [
        "small spot in a",
        "small spot in b",
        "small on-demand in a",
        "small on-demand in b",
        "large spot in b",
        "large on-demand in b",
    ]


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param(
            claim(requirement(labels.INSTANCE_TYPE, "In", ["large"])),
            ["large spot in b", "large on-demand in b"],
            id="by type",
        ),
        pytest.param(
            claim(
                requirement(labels.ZONE, "In", ["a"]),
                requirement(labels.CAPACITY_TYPE, "NotIn", ["spot"]),
            ),
            ["small on-demand in a"],
            id="by zone and capacity type",
        ),
        pytest.param(
            claim(cpu=3000), ["large spot in b", "large on-demand in b"], id="by what it holds"
        ),
        pytest.param(claim(cpu=9000), [], id="nothing is large enough"),
        pytest.param(
            claim(requirement("karpenter.kwok.sh/instance-family", "In", ["c"])),
            [],
            id="a label of a provider that the types do not have",
        ),
        pytest.param(
            claim(
                requirement("team", "In", ["a"]),
                requirement(labels.NODE_POOL, "In", ["default"]),
                requirement(labels.INSTANCE_TYPE, "In", ["large"]),
            ),
            ["large spot in b", "large on-demand in b"],
            id="labels that the claim brings itself do not matter",
        ),
    ],
)
def test_only_what_meets_every_requirement_is_offered(asked: ClaimObject, want: list[str]) -> None:
    """Type, offering and size each have their say."""
    assert served(asked) == want


def test_an_offering_that_is_not_available_is_no_choice() -> None:
    """Whatever it would cost."""
    offerings = [{"zone": "a", "price": 0.01, "is_available": False}, {"zone": "a", "price": 1.0}]
    prices = PriceList([instance_type("t", offerings=offerings)])
    assert [one.offering.price_nanousd for one in prices.serving(claim())] == [10**9]


def test_what_an_overlay_promised_need_not_be_in_the_catalogue() -> None:
    """The claim says that an overlay was at work; without that, the type must have it."""
    asked = ClaimObject("c", "u", requests={"cpu": 3000, "example.com/gpu": 1})
    overlaid = ClaimObject(
        "c", "u", requests=asked.requests, annotations={labels.CAPACITY_OVERLAY_APPLIED: "x"}
    )
    assert served(asked) == []
    assert served(overlaid) == ["large spot in b", "large on-demand in b"]


def test_a_node_has_one_value_of_every_label_that_its_type_leaves_open() -> None:
    """The least that the claim allows; labels that the type lacks stay away."""
    both = instance_type("both", price=0.1, labels={"example.com/disk": ["hdd", "nvme", "ssd"]})
    choice = Priced(both, both.offerings[1])
    asked = claim(requirement("example.com/disk", "NotIn", ["hdd"]))
    assert labels_of(choice, asked) == {
        labels.INSTANCE_TYPE: "both",
        labels.ARCH: "amd64",
        labels.OS: "linux",
        labels.ZONE: "b",
        labels.CAPACITY_TYPE: "on-demand",
        "example.com/disk": "nvme",
    }


def test_the_generic_catalogue_serves_a_plain_claim_with_its_smallest_type() -> None:
    """Spot, in the first zone."""
    asked = claim(requirement(labels.OS, "In", ["linux"]), cpu=500)
    first = next(PriceList(instance_types()).serving(asked))
    assert str(first.sold_out) == "c-1x-amd64-linux spot in test-zone-a"
