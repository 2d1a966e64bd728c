"""Filters of Describe calls."""

from __future__ import annotations

from dovetail.providers.aws.filters import (
    DescribeFilter,
    tag_filters,
    term_text,
    unmatched_text,
)


def test_all_tags_of_a_term_must_be_there() -> None:
    """A star asks for the key alone; each key is a filter of its own, since values are or-ed."""
    assert tag_filters({"b": "*", "a": "1", "c": "*"}) == (
        DescribeFilter("tag:a", ("1",)),
        DescribeFilter("tag-key", ("b",)),
        DescribeFilter("tag-key", ("c",)),
    )


def test_a_filter_is_written_as_ec2_takes_it() -> None:
    """Name and values."""
    assert DescribeFilter("tag:a", ("1",)).wire() == {"Name": "tag:a", "Values": ["1"]}


def test_terms_without_a_match_are_named_by_index_and_content() -> None:
    """Each once, in order."""
    texts = [term_text({"id": "subnet-1"}, {}), term_text({"id": ""}, {"a": "1"}), "x"]
    got = unmatched_text("spec.terms", (1, 0, 1), texts)
    assert got == "spec.terms[0] (id subnet-1), spec.terms[1] (tags a=1)"
    assert term_text({}, {}) == "empty"
