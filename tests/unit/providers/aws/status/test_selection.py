"""What selector terms ask for and match."""

from __future__ import annotations

from datetime import timedelta

from dovetail.providers.aws.filters import DescribeFilter
from dovetail.providers.aws.status.selection import (
    DescribeFilters,
    Selection,
    SelectorQuery,
    SelectorSource,
    SelectorTerm,
    selection,
    selector_queries,
)
from dovetail.testing.virtual_time import VirtualTime

BY_TAG = (DescribeFilter("tag:team", ("a",)),)
TERMS = (
    SelectorTerm("id b", "b"),
    SelectorTerm("team a", filters=BY_TAG),
    SelectorTerm("id a", "a"),
)
POOLED = SelectorQuery((DescribeFilter("group-id", ("a", "b")),))


def test_ids_are_asked_for_together_and_other_terms_each_by_itself() -> None:
    """Few calls, and still each term can be told whether it matched."""
    assert selector_queries(TERMS, "group-id") == (POOLED, SelectorQuery(BY_TAG, 1))
    assert selector_queries((), "group-id") == ()


def test_the_results_of_all_terms_count_and_those_without_any_are_told() -> None:
    """Results are ordered by id; a term whose results another has too has matched."""
    tagged = SelectorQuery(BY_TAG, 1)
    got = selection(TERMS, [(POOLED, {"b": 2}), (tagged, {"c": 3, "b": 2})])
    assert got == Selection({"b": 2, "c": 3}, (2,))
    assert list(got.by_id) == ["b", "c"]
    assert selection(TERMS, [(POOLED, {}), (tagged, {})]).unmatched == (0, 1, 2)


def test_a_term_that_says_nothing_selects_nothing() -> None:
    """It would select everything in the account."""
    terms = (SelectorTerm("empty"),)
    assert selector_queries(terms, "group-id") == ()
    assert selection(terms, []) == Selection({}, (0,))


async def test_answers_are_kept_and_what_is_missing_is_looked_for_again() -> None:
    """So that a tag that was just set is seen at the next look."""
    time, asked = VirtualTime(), []

    async def describe(filters: DescribeFilters) -> dict[str, int]:
        asked.append(filters)
        return {"c": 3} if filters == BY_TAG else {}

    source = SelectorSource(
        describe, id_filter="group-id", clock=time, keep_for=timedelta(minutes=1)
    )
    for _ in range(2):
        await source.select(TERMS)
    assert asked == [POOLED.filters, BY_TAG, POOLED.filters]
    await time.advance(timedelta(minutes=1))
    await source.select(TERMS[1:2])
    assert asked[3:] == [BY_TAG]
