"""Computes the DescribeImages queries of AMI selector terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from dovetail.providers.aws.filters import DescribeFilter, tag_filters, term_text
from dovetail.providers.aws.images.aliases import Variant
from dovetail.providers.aws.node_class.types import AMISelectorTerm

_USUAL_OWNERS: Final = ("self", "amazon")
_AVAILABLE: Final = DescribeFilter("state", ("available",))


class NamedImage(msgspec.Struct, frozen=True, gc=False):
    """An image that a term names by its id, directly or through SSM; `variants` of an alias."""

    image_id: str
    term: int
    variants: tuple[Variant, ...] = ()


class ImageQuery(msgspec.Struct, frozen=True):
    """One DescribeImages call: for one term, or for all images that are named by id."""

    filters: tuple[DescribeFilter, ...]
    owners: tuple[str, ...] = ()
    term: int | None = None  # None: `named` tells which terms an image belongs to
    named: tuple[NamedImage, ...] = ()


def image_queries(
    terms: Sequence[AMISelectorTerm], named: Sequence[NamedImage]
) -> tuple[ImageQuery, ...]:
    """All calls that the terms need. `named` holds the images of terms with an id, an SSM
    parameter or an alias.
    """
    pooled = []
    if named:
        ids = tuple(sorted({image.image_id for image in named}))
        filters = (DescribeFilter("image-id", ids), _AVAILABLE)
        pooled.append(ImageQuery(filters, named=tuple(named)))
    searched = [_search(term, index) for index, term in enumerate(terms) if _is_search(term)]
    return (*pooled, *searched)


def _is_search(term: AMISelectorTerm) -> bool:
    """A term with an owner alone would select all of the owner's images, so it selects none."""
    is_named = bool(term.alias or term.id or term.ssm_parameter)
    return not is_named and bool(term.name or term.tags)


def _search(term: AMISelectorTerm, index: int) -> ImageQuery:
    by_name = (DescribeFilter("name", (term.name,)),) if term.name else ()
    owners = (term.owner,) if term.owner else (_USUAL_OWNERS if term.name else ())
    return ImageQuery((*by_name, *tag_filters(term.tags), _AVAILABLE), owners, index)


def ami_term_text(term: AMISelectorTerm) -> str:
    """The term as a message shows it."""
    fields: Mapping[str, str] = {
        "alias": term.alias,
        "id": term.id,
        "ssmParameter": term.ssm_parameter,
        "name": term.name,
        "owner": term.owner,
    }
    return term_text(fields, term.tags)
