"""What DescribeImages is asked for."""

from __future__ import annotations

from dovetail.providers.aws.filters import DescribeFilter
from dovetail.providers.aws.images.queries import (
    ImageQuery,
    NamedImage,
    ami_term_text,
    image_queries,
)
from dovetail.providers.aws.node_class.types import AMISelectorTerm

AVAILABLE = DescribeFilter("state", ("available",))


def test_images_that_are_named_by_id_are_asked_for_together() -> None:
    """However they were named; only available ones count."""
    terms = (AMISelectorTerm(id="ami-2"), AMISelectorTerm(ssm_parameter="/a"))
    named = (NamedImage("ami-2", 0), NamedImage("ami-1", 1))
    (query,) = image_queries(terms, named)
    ids = DescribeFilter("image-id", ("ami-1", "ami-2"))
    assert query == ImageQuery((ids, AVAILABLE), named=named)


def test_every_other_term_is_a_query_of_its_own() -> None:
    """A name without an owner means ours and Amazon's; tags mean anybody's."""
    terms = (
        AMISelectorTerm(name="my-*"),
        AMISelectorTerm(name="my-*", owner="123456789012"),
        AMISelectorTerm(tags={"team": "a", "env": "*"}),
        AMISelectorTerm(tags={"team": "a"}, owner="self"),
    )
    by_name, by_tag = DescribeFilter("name", ("my-*",)), DescribeFilter("tag:team", ("a",))
    assert image_queries(terms, ()) == (
        ImageQuery((by_name, AVAILABLE), ("self", "amazon"), 0),
        ImageQuery((by_name, AVAILABLE), ("123456789012",), 1),
        ImageQuery((by_tag, DescribeFilter("tag-key", ("env",)), AVAILABLE), (), 2),
        ImageQuery((by_tag, AVAILABLE), ("self",), 3),
    )


def test_an_owner_alone_selects_nothing() -> None:
    """It would select every image of that owner."""
    assert image_queries((AMISelectorTerm(owner="self"), AMISelectorTerm()), ()) == ()


def test_a_message_shows_a_term_with_all_of_its_fields() -> None:
    """So that users find it in their manifest."""
    term = AMISelectorTerm(name="my-*", owner="self", tags={"team": "a", "env": "*"})
    assert ami_term_text(term) == "name my-*; owner self; tags env=*, team=a"
