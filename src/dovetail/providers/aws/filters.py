"""Computes the filters of Describe calls from the tags of selector terms, and text about terms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from types_aiobotocore_ec2.type_defs import FilterTypeDef

ANY_VALUE: Final = "*"


class DescribeFilter(msgspec.Struct, frozen=True, gc=False, order=True):
    """A filter of a Describe call: the name with any of the values."""

    name: str
    values: tuple[str, ...]

    def wire(self) -> FilterTypeDef:
        """As EC2 takes it."""
        return {"Name": self.name, "Values": list(self.values)}


def tag_filters(tags: Mapping[str, str]) -> tuple[DescribeFilter, ...]:
    """Filters for resources that have all of these tags; `*` means any value."""
    keys = tuple(sorted(key for key, value in tags.items() if value == ANY_VALUE))
    exact = [
        DescribeFilter(f"tag:{key}", (value,))
        for key, value in sorted(tags.items())
        if value != ANY_VALUE
    ]
    # Values of one filter are alternatives, so every key needs a filter of its own.
    return (*exact, *(DescribeFilter("tag-key", (key,)) for key in keys))


def term_text(fields: Mapping[str, str], tags: Mapping[str, str]) -> str:
    """A selector term as a message shows it: `id subnet-1`, `tags team=a, zone=*`."""
    shown = [f"{key} {value}" for key, value in fields.items() if value]
    if tags:
        pairs = ", ".join(f"{key}={value}" for key, value in sorted(tags.items()))
        shown.append(f"tags {pairs}")
    return "; ".join(shown) or "empty"


def unmatched_text(field: str, indices: Iterable[int], texts: Sequence[str]) -> str:
    """Names the selector terms that matched nothing: `spec.subnetSelectorTerms[1] (id ...)`."""
    return ", ".join(f"{field}[{index}] ({texts[index]})" for index in sorted(set(indices)))
