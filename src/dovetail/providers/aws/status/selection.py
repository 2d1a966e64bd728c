"""Finds the resources that selector terms match, and tells which terms matched nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Generic, TypeVar

import msgspec

from dovetail.clock import Clock
from dovetail.providers.aws.expiring_cache import ExpiringCache
from dovetail.providers.aws.filters import DescribeFilter, unmatched_text
from dovetail.providers.aws.status.conditions import ClassCondition, ConditionUpdate, fails, holds

T = TypeVar("T")
DescribeFilters = tuple[DescribeFilter, ...]


class SelectorTerm(msgspec.Struct, frozen=True):
    """A term as it is asked for: by id, or by filters. `text` is how messages show it."""

    text: str
    id: str = ""
    filters: DescribeFilters = ()


class SelectorQuery(msgspec.Struct, frozen=True):
    """One Describe call: for one term, or for all terms with an id (`term` None)."""

    filters: DescribeFilters
    term: int | None = None


class Selection(msgspec.Struct, Generic[T], frozen=True):
    """The resources by id, and the terms that matched none of them."""

    by_id: Mapping[str, T]
    unmatched: tuple[int, ...] = ()


class SelectorField(msgspec.Struct, frozen=True):
    """A list of selector terms in the spec that must match something: its condition, the reason
    where it matches nothing, what messages call a resource, and the remedy.
    """

    field: str
    condition: ClassCondition
    not_found: str
    resource: str
    remedy: str


def selector_condition(
    field: SelectorField, selection: Selection[T], terms: Sequence[SelectorTerm]
) -> ConditionUpdate:
    """Whether anything is selected; the message names terms that match nothing."""
    unmatched = unmatched_text(field.field, selection.unmatched, [term.text for term in terms])
    problem = f"no {field.resource} matches"
    if not selection.by_id:
        message = f"{problem} {unmatched or field.field}: {field.remedy}, or change the selector"
        return fails(field.condition, field.not_found, message)
    return holds(field.condition, f"{problem} {unmatched}" if unmatched else "")


def selector_queries(terms: Sequence[SelectorTerm], id_filter: str) -> tuple[SelectorQuery, ...]:
    """The calls that the terms need; ids are asked for together."""
    ids = tuple(sorted({term.id for term in terms if term.id}))
    pooled = (SelectorQuery((DescribeFilter(id_filter, ids),)),) if ids else ()
    # A term without filters would select everything in the account, so it selects nothing.
    searched = [
        SelectorQuery(term.filters, index)
        for index, term in enumerate(terms)
        if term.filters and not term.id
    ]
    return (*pooled, *searched)


def selection(
    terms: Sequence[SelectorTerm], answers: Sequence[tuple[SelectorQuery, Mapping[str, T]]]
) -> Selection[T]:
    """The union of all answers, by id."""
    by_id = {key: selected for _, answer in answers for key, selected in answer.items()}
    matched = {query.term for query, answer in answers if answer}
    return Selection(
        {key: by_id[key] for key in sorted(by_id)},
        tuple(
            index
            for index, term in enumerate(terms)
            if (term.id not in by_id if term.id else index not in matched)
        ),
    )


class SelectorSource(Generic[T]):
    """Resources of one kind. `describe` asks AWS for those that match filters, by id."""

    def __init__(
        self,
        describe: Callable[[DescribeFilters], Awaitable[Mapping[str, T]]],
        *,
        id_filter: str,
        clock: Clock,
        keep_for: timedelta,
    ) -> None:
        self._describe = describe
        self._id_filter = id_filter
        self._keep_for = keep_for
        self._answers: ExpiringCache[DescribeFilters, Mapping[str, T]] = ExpiringCache(clock)

    async def select(self, terms: Sequence[SelectorTerm]) -> Selection[T]:
        """What the terms match. Raises CallFailedError."""
        queries = selector_queries(terms, self._id_filter)
        answers = [(query, await self._answer(query.filters)) for query in queries]
        return selection(terms, answers)

    async def _answer(self, filters: DescribeFilters) -> Mapping[str, T]:
        kept = self._answers.get(filters)
        if kept is not None:
            return kept
        answer = await self._describe(filters)
        if answer:  # what is missing is looked for again at once
            self._answers.put(filters, answer, keep_for=self._keep_for)
        return answer
