"""What does a NodeOverlay say? Prices and capacities that differ from the catalogue's."""

from __future__ import annotations

from typing import Annotated, ClassVar

from dovetail.api.facts import EXTENDED_RESOURCES_ONLY, NOT_IN_HAS_VALUES, ONE_PRICE, Rule, about
from dovetail.api.karpenter import ClaimRequirement
from dovetail.api.meta import (
    NO_RESOURCES,
    Condition,
    Object,
    ResourceList,
    Wire,
)


class OverlayRequirement(ClaimRequirement, frozen=True):
    """As in a claim, but NotIn without values is refused too."""

    rules: ClassVar[tuple[Rule, ...]] = (*ClaimRequirement.rules, NOT_IN_HAS_VALUES)


class NodeOverlaySpec(Wire, frozen=True):
    """Which instance types and offerings are meant, and what is different about them."""

    rules: ClassVar[tuple[Rule, ...]] = (ONE_PRICE,)
    requirements: Annotated[
        tuple[OverlayRequirement, ...],
        about("Which instance types and offerings are meant; all must hold.", max_items=100),
    ]
    price_adjustment: Annotated[
        str | None,
        about(
            "What is added to the price per hour: an amount with its sign, or a percentage.",
            pattern=(
                r"^([+-][0-9]+(\.[0-9]+)?|\+[0-9]+(\.[0-9]+)?%"
                r"|-[0-9]{1,2}(\.[0-9]+)?%|-100%)$"
            ),
            expected='a signed amount such as "-0.5", or a percentage from "-100%" up',
        ),
    ] = None
    price: Annotated[
        str | None,
        about(
            "The price per hour instead of the catalogue's.",
            pattern=r"^\d+(\.\d+)?$",
            expected='a price in dollars such as "0.25"',
        ),
    ] = None
    capacity: Annotated[
        ResourceList,
        about(
            "Resources that nodes have besides those of the catalogue.",
            rules=(EXTENDED_RESOURCES_ONLY,),
        ),
    ] = NO_RESOURCES
    weight: Annotated[
        int | None,
        about(
            "Where overlays disagree, the one of higher weight counts. Absent counts as 0.",
            minimum=1,
            maximum=10000,
            format="int32",
        ),
    ] = None


class NodeOverlayStatus(Wire, frozen=True):
    """Whether the overlay is in use."""

    conditions: Annotated[
        tuple[Condition, ...], about("Whether the overlay is in use, and if not, why.")
    ] = ()


class NodeOverlay(Object, frozen=True):
    """A correction of the catalogue."""

    spec: Annotated[NodeOverlaySpec, about("What is different, and where.")]
    status: Annotated[NodeOverlayStatus, about("Whether it is in use.")] = NodeOverlayStatus()
