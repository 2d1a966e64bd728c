"""Defines how an EC2NodeClass selects subnets, security groups, reservations and images.

A text that a pattern or an enumeration refuses when it is empty is refused by decoding as well, so
that an empty text always means that the field is absent.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Never

import msgspec

from dovetail.api.facts import Rule, about
from dovetail.api.meta import Wire
from dovetail.providers.aws.node_class import rules


class _AbsentMap(dict[str, str]):
    """An empty map that nobody wrote down."""


class _AbsentList(tuple[Never, ...]):
    """An empty list that nobody wrote down."""

    __slots__ = ()


# Equal to what is empty, but not the same: the drift hash of the reference counts `tags: {}`.
NO_TAGS: Final[dict[str, str]] = _AbsentMap()
ABSENT_LIST: Final[tuple[Never, ...]] = _AbsentList()

GIVEN: Final = msgspec.Meta(min_length=1)
_ACCOUNT: Final = "^[0-9]{12}$"
_AN_ACCOUNT: Final = "an AWS account of 12 digits"
_ALIAS: Final = (
    r"^((al2|al2023|bottlerocket)@[^@\s]+|(windows2019|windows2022|windows2025)@latest)$"
)
SelectorTags = Annotated[
    dict[str, str],
    about(
        'The tags that it has, all of them; "*" stands for any value.',
        max_properties=20,
        rules=(rules.NO_EMPTY_SELECTOR_TAGS,),
    ),
]


class SubnetSelectorTerm(Wire, frozen=True):
    """Selects subnets by tags, or one by id."""

    rules: ClassVar[tuple[Rule, ...]] = (rules.SUBNET_HAS_SELECTOR, rules.SUBNET_ID_ALONE)
    tags: SelectorTags = NO_TAGS
    id: Annotated[
        str,
        GIVEN,
        about("The id of a subnet.", pattern="^subnet-[0-9a-z]+$", expected="subnet-0123abcd"),
    ] = ""


class SecurityGroupSelectorTerm(Wire, frozen=True):
    """Selects security groups by tags, or one by id or name."""

    rules: ClassVar[tuple[Rule, ...]] = (
        rules.GROUP_HAS_SELECTOR,
        rules.GROUP_ID_ALONE,
        rules.GROUP_NAME_ALONE,
    )
    tags: SelectorTags = NO_TAGS
    id: Annotated[
        str,
        GIVEN,
        about("The id of a security group.", pattern="^sg-[0-9a-z]+$", expected="sg-0123abcd"),
    ] = ""
    name: Annotated[str, about("The name of a security group, which is not its tag Name.")] = ""


class CapacityReservationSelectorTerm(Wire, frozen=True):
    """Selects capacity reservations."""

    rules: ClassVar[tuple[Rule, ...]] = (
        rules.RESERVATION_HAS_SELECTOR,
        rules.RESERVATION_ID_ALONE,
    )
    tags: SelectorTags = NO_TAGS
    id: Annotated[
        str,
        GIVEN,
        about("The id of a reservation.", pattern="^cr-[0-9a-z]+$", expected="cr-0123abcd"),
    ] = ""
    owner_id: Annotated[
        str,
        GIVEN,
        about("The account that owns the reservation.", pattern=_ACCOUNT, expected=_AN_ACCOUNT),
    ] = msgspec.field(default="", name="ownerID")
    instance_match_criteria: Annotated[
        str,
        GIVEN,
        about("Which instances the reservation takes.", enum=("open", "targeted")),
    ] = ""


class PlacementGroupSelector(Wire, frozen=True):
    """Selects one placement group."""

    rules: ClassVar[tuple[Rule, ...]] = (rules.ONE_PLACEMENT_GROUP,)
    name: Annotated[str, GIVEN, about("The name of a placement group.", min_length=1)] = ""
    id: Annotated[
        str,
        GIVEN,
        about("The id of a placement group.", pattern="^pg-[0-9a-z]+$", expected="pg-0123abcd"),
    ] = ""


class AMISelectorTerm(Wire, frozen=True):
    """Selects machine images."""

    rules: ClassVar[tuple[Rule, ...]] = (
        rules.IMAGE_HAS_SELECTOR,
        rules.IMAGE_ID_ALONE,
        rules.IMAGE_ALIAS_ALONE,
    )
    alias: Annotated[
        str,
        GIVEN,
        about(
            "An image that AWS publishes for EKS, as family@version; latest is a version.",
            pattern=_ALIAS,
            max_length=30,
            expected=(
                "family@version with one of the families al2, al2023, bottlerocket, windows2019, "
                "windows2022, windows2025; the version of Windows is latest"
            ),
        ),
    ] = ""
    tags: SelectorTags = NO_TAGS
    id: Annotated[
        str,
        GIVEN,
        about("The id of an image.", pattern="^ami-[0-9a-z]+$", expected="ami-0123abcd"),
    ] = ""
    name: Annotated[str, about("The name of an image; wildcards are * and ?.")] = ""
    owner: Annotated[
        str,
        about("The owner of the image: an account, self, amazon or aws-marketplace."),
    ] = ""
    ssm_parameter: Annotated[
        str, about("The name or ARN of an SSM parameter that holds the id of an image.")
    ] = ""
