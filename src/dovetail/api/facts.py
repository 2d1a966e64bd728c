"""What is known of a field besides its type? Said once, beside the field, and read twice: by the
CRD writer (`crds`) and by the checks made here (`validation`).

    weight: Annotated[int | None, about("Pools of higher weight come first.", minimum=1)] = None
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

import msgspec


class Rule(msgspec.Struct, frozen=True):
    """A law across fields, as the API server checks it (CEL) and as we do (`holds`).

    A law about change has no `holds`: it takes the object as it was to judge it. Nor has one that
    is said more precisely elsewhere.
    """

    cel: str
    message: str
    holds: Callable[[Any], bool] | None = None


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a field's values must be. `expected` says in words what `pattern` does in signs."""

    description: str = ""
    expected: str = ""
    pattern: str = ""
    enum: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    max_items: int | None = None
    max_properties: int | None = None
    format: str = ""
    default: Any = msgspec.UNSET
    is_required: bool = False  # for the CRD, where decoding fills in something of its own
    list_map_keys: tuple[str, ...] = ()
    is_set: bool = False  # no item twice
    rules: tuple[Rule, ...] = ()

    @property
    def has_default(self) -> bool:
        """Whether the API server fills in something where nothing is said."""
        return self.default is not msgspec.UNSET


def about(description: str, **facts: Any) -> Facts:  # noqa: ANN401  passed on to Facts, which is typed
    """Facts, with the description in front."""
    return Facts(description=description, **facts)


_DNS_LABEL: Final = "[a-z0-9]([a-z0-9-]*[a-z0-9])?"
QUALIFIED_NAME: Final = (
    rf"^({_DNS_LABEL}(\.{_DNS_LABEL})*/)?([A-Za-z0-9][A-Za-z0-9_.-]*)?[A-Za-z0-9]$"
)
LABEL_VALUE: Final = r"^(([A-Za-z0-9][A-Za-z0-9_.-]*)?[A-Za-z0-9])?$"
QUANTITY: Final = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"
DURATION: Final = "^([0-9]+(s|m|h))+$"
DURATION_OR_NEVER: Final = "^(([0-9]+(s|m|h))+|Never)$"

A_QUALIFIED_NAME: Final = (
    'a name of letters, digits, "-", "_" and ".", with an optional DNS prefix such as example.com/'
)
A_LABEL_VALUE: Final = (
    'at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends'
)
A_DURATION: Final = 'hours, minutes and seconds such as "30s" or "1h30m"'

LabelValue = Annotated[str, Facts(pattern=LABEL_VALUE, max_length=63, expected=A_LABEL_VALUE)]
