"""Parses and matches label and field selectors, written as kubectl writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from dovetail import api
from dovetail.apiserver.refusals import bad_request
from dovetail.apiserver.table import Stored
from dovetail.apiserver.traits import Traits
from dovetail.apiserver.trees import items, labels_of, mapping, text, texts
from dovetail.kube.seam import Json, Scope

_KEY: Final = r"(?P<{}>[A-Za-z0-9][\w./-]*)"
_TERM: Final = re.compile(
    rf"\s*(?:!\s*{_KEY.format('absent')}"
    rf"|{_KEY.format('set')}\s+(?P<how>in|notin)\s*\((?P<values>[^()]*)\)"
    rf"|{_KEY.format('key')}\s*(?:(?P<sign>==|!=|=|>|<)\s*(?P<value>[^,()\s]*))?)\s*(?:,|$)"
)
_BEGUN: Final = re.compile(r"\s*[\w./-]+\s*(?:==|!=|=)")
_FIELD: Final = re.compile(r"\s*(?P<key>[\w.]+)\s*(?P<sign>==|!=|=)\s*(?P<value>.*?)\s*$")
_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")
_SIGNS: Final = {"=": "in", "==": "in", "!=": "notin", ">": "gt", "<": "lt"}
_ALWAYS: Final = ("metadata.name", "metadata.namespace")


class SelectorTerm(msgspec.Struct, frozen=True, gc=False):
    """One demand on one label."""

    key: str
    how: str
    values: frozenset[str] = frozenset()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet it. What must not be may also be absent."""
        value = labels.get(self.key)
        match self.how:
            case "in":
                return value in self.values
            case "notin":
                return value not in self.values
            case "exists":
                return value is not None
            case "absent":
                return value is None
            case _:
                return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        if not _INTEGER.fullmatch(value):
            return False
        bound = int(next(iter(self.values)))
        return int(value) > bound if self.how == "gt" else int(value) < bound


class Selector(msgspec.Struct, frozen=True, gc=False):
    """All demands of a scope together."""

    labels: tuple[SelectorTerm, ...] = ()
    fields: tuple[tuple[str, str, bool], ...] = ()  # field, value, whether they must be equal

    def matches(self, stored: Stored) -> bool:
        """Whether an object is meant."""
        return all(term.holds(stored.labels) for term in self.labels) and all(
            (stored.fields.get(field) == value) is is_equal
            for field, value, is_equal in self.fields
        )


def of_scope(scope: Scope, traits: Traits) -> Selector:
    """What a scope demands. Raises InvalidError where it cannot be read."""
    return Selector(label_terms(scope.labels), tuple(_field_terms(scope.fields, traits)))


@lru_cache(maxsize=1024)
def label_terms(written: str) -> tuple[SelectorTerm, ...]:
    """A label selector in any of its forms."""
    terms: list[SelectorTerm] = []
    place = 0
    while place < len(written):
        match = _TERM.match(written, place)
        if match is None:
            msg = f"unable to parse requirement: {_unreadable(written[place:])}"
            raise bad_request(msg)
        terms.append(_term(match))
        place = match.end()
    return tuple(terms)


def _unreadable(rest: str) -> str:
    """What stands where a word should."""
    begun = _BEGUN.match(rest)
    left = rest[begun.end() :].lstrip() if begun is not None else rest
    return f"found '{left[:1]}', expected: identifier"


def _term(match: re.Match[str]) -> SelectorTerm:
    if match["absent"]:
        return SelectorTerm(match["absent"], "absent")
    if match["set"]:
        values = frozenset(item.strip() for item in match["values"].split(","))
        return SelectorTerm(match["set"], match["how"], values)
    if not match["sign"]:
        return SelectorTerm(match["key"], "exists")
    how = _SIGNS[match["sign"]]
    if how in {"gt", "lt"} and not _INTEGER.fullmatch(match["value"]):
        msg = f"for {match['sign']!r} the value must be an integer: {match['value']!r}"
        raise bad_request(msg)
    return SelectorTerm(match["key"], how, frozenset({match["value"]}))


def _field_terms(written: str, traits: Traits) -> Iterator[tuple[str, str, bool]]:
    for item in filter(None, written.split(",")):
        match = _FIELD.match(item)
        if match is None:
            msg = f"invalid selector: {item!r}; can't understand it"
            raise bad_request(msg)
        if match["key"] not in _ALWAYS and match["key"] not in traits.fields:
            msg = f"field label not supported: {match['key']}"
            raise bad_request(msg)
        yield match["key"], match["value"], match["sign"] != "!="


def selects(selector: Json, labels: Mapping[str, str]) -> bool:
    """Whether an object's own selector means these labels: absent none, empty all of them."""
    if selector is None:
        return False
    wanted = labels_of(selector, "matchLabels")
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    expressions = items(mapping(selector).get("matchExpressions"))
    return all(_expression(expression).holds(labels) for expression in expressions)


def _expression(expression: Json) -> SelectorTerm:
    how = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "absent"}
    return SelectorTerm(
        text(expression, "key"),
        how.get(text(expression, "operator"), "in"),
        frozenset(texts(expression, "values")),
    )


def prefix_of(kind: api.Kind, namespace: str) -> str:
    """How the keys of one namespace begin; all of them where none is named."""
    return f"{namespace}/" if kind.is_namespaced and namespace else ""
