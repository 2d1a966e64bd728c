"""What does every Kubernetes object carry? Names, labels, owners, conditions, selectors."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

import msgspec

from dovetail.api.facts import A_QUALIFIED_NAME, QUALIFIED_NAME, about

Quantity = str | int | float  # manifests say `cpu: 1` as often as `cpu: "1"`
ResourceList = dict[str, Quantity]
IntOrString = int | str

NO_LABELS: Final[dict[str, str]] = {}
NO_RESOURCES: Final[ResourceList] = {}


class _NoEntries(dict[str, str]):
    """A map that a manifest does not give; one that it gives empty is a plain one."""


class _NoItems(tuple[()]):
    """The same for a list."""

    __slots__ = ()


NOT_GIVEN_MAP: Final[dict[str, str]] = _NoEntries()
NOT_GIVEN_LIST: Final[tuple[()]] = _NoItems()
ABSENT: Final = msgspec.Raw(b"")  # a part that was not there


class Wire(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Anything that Kubernetes writes down. Unknown fields are passed over."""


class OwnerReference(Wire, frozen=True):
    """Who made an object, and takes it along when it goes."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(Wire, frozen=True):
    """Who an object is."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = NO_LABELS
    annotations: dict[str, str] = NO_LABELS
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    owner_references: tuple[OwnerReference, ...] = ()
    resource_version: str = ""
    generation: int = 0
    finalizers: tuple[str, ...] = ()


class Object(Wire, frozen=True, kw_only=True):
    """Any object that has a name of its own."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()


class Envelope(Wire, frozen=True):
    """Just enough of an object to tell what it is, and of a List to take it apart."""

    api_version: str = ""
    kind: str = ""
    items: tuple[msgspec.Raw, ...] = ()


class Condition(Wire, frozen=True):
    """One status condition, of whatever object. Its reason may be empty, as Karpenter writes it."""

    type: Annotated[
        str,
        about(
            "What the condition is about.",
            pattern=QUALIFIED_NAME,
            max_length=316,
            expected=A_QUALIFIED_NAME,
        ),
    ]
    status: Annotated[
        str,
        about("Whether it holds.", enum=("True", "False", "Unknown"), is_required=True),
    ] = "Unknown"
    reason: Annotated[
        str,
        about(
            "Why, in one word.",
            pattern="^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?)?$",
            max_length=1024,
            expected="one word in CamelCase",
        ),
    ] = ""
    message: Annotated[str, about("Why, for people.", max_length=32768)] = ""
    last_transition_time: Annotated[
        datetime | None, about("When the status last changed.", is_required=True)
    ] = None
    observed_generation: Annotated[
        int, about("The generation of the object that this was said of.", minimum=0)
    ] = 0


class LabelSelectorRequirement(Wire, frozen=True):
    """One expression of a label selector."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(Wire, frozen=True):
    """Which objects are meant, by their labels. Empty means all of them."""

    match_labels: dict[str, str] = NO_LABELS
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()
