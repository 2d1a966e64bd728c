"""Filters of EC2's Describe calls, and an index of tags."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from tests.ec2.extension.wire import AwsError, Tree

Item = TypeVar("Item")
# What an item has under the name of a filter; tags are not among them.
Values = Callable[[Item], Mapping[str, Any]]
Tags = Callable[[Item], Mapping[str, str]]


def matching(
    items: Iterable[Item], filters: list[Tree], *, values: Values[Item], tags: Tags[Item]
) -> list[Item]:
    """Those items that pass every filter; a filter with a name that EC2 does not know is an error.

    A value may hold `*` and `?`. Values of one filter are alternatives.
    """
    return [item for item in items if all(_passes(item, f, values, tags) for f in filters)]


def _passes(item: Item, wanted: Tree, values: Values[Item], tags: Tags[Item]) -> bool:
    name, patterns = wanted["Name"], wanted.get("Values", [])
    if name.startswith("tag:"):
        have = tags(item).get(name.removeprefix("tag:"))
        return have is not None and _any_matches([have], patterns)
    if name == "tag-key":
        return _any_matches(tags(item), patterns)
    known = values(item)
    if name not in known:
        msg = f"The filter '{name}' is invalid"
        raise AwsError("InvalidParameterValue", msg)
    return _any_matches(_texts(known[name]), patterns)


def _texts(value: Any) -> list[str]:
    if isinstance(value, list | tuple | set):
        return [str(each) for each in value]
    if isinstance(value, bool):
        return ["true" if value else "false"]
    return [] if value is None else [str(value)]


def _any_matches(have: Iterable[str], patterns: list[str]) -> bool:
    return any(
        text == pattern or (_is_wild(pattern) and fnmatchcase(text, pattern))
        for text in have
        for pattern in patterns
    )


def _is_wild(pattern: str) -> bool:
    return "*" in pattern or "?" in pattern


class TagIndex:
    """Which resources carry a tag, so that a listing by tag need not look at all of them."""

    def __init__(self) -> None:
        self._by_key: dict[str, dict[str, None]] = {}
        self._by_tag: dict[tuple[str, str], dict[str, None]] = {}

    def add(self, resource: str, tags: Mapping[str, str]) -> None:
        """Take the tags of a resource in."""
        for key, value in tags.items():
            self._by_key.setdefault(key, {})[resource] = None
            self._by_tag.setdefault((key, value), {})[resource] = None

    def remove(self, resource: str, tags: Mapping[str, str]) -> None:
        """Forget the tags of a resource."""
        for key, value in tags.items():
            self._by_key.get(key, {}).pop(resource, None)
            self._by_tag.get((key, value), {}).pop(resource, None)

    def candidates(self, filters: list[Tree]) -> list[str] | None:
        """Resources that can pass the narrowest filter by tag; None if no filter is by tag."""
        found = [ids for ids in map(self._with, filters) if ids is not None]
        return min(found, key=len) if found else None

    def _with(self, wanted: Tree) -> list[str] | None:
        name, values = wanted["Name"], wanted.get("Values", [])
        if any(_is_wild(value) for value in values):
            return None
        if name == "tag-key":
            return [one for value in values for one in self._by_key.get(value, {})]
        if name.startswith("tag:"):
            key = name.removeprefix("tag:")
            return [one for value in values for one in self._by_tag.get((key, value), {})]
        return None
