"""Converts the selector maps of v1alpha1 to selector terms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from dovetail.api.older.draft import Draft, Fields, as_fields, texts

MOST_TERMS: Final = 30
_IDS: Final = ("aws-ids", "aws::ids")
_NAMES: Final = "aws::name"
_OWNERS: Final = "aws::owners"


class SelectorMap(msgspec.Struct, frozen=True):
    """A selector map: its field, the field of the terms, and what terms of v1 can select by."""

    field: str
    terms_field: str
    has_names: bool = False
    has_owners: bool = False


SUBNETS: Final = SelectorMap("subnetSelector", "subnetSelectorTerms")
GROUPS: Final = SelectorMap("securityGroupSelector", "securityGroupSelectorTerms", has_names=True)
IMAGES: Final = SelectorMap("amiSelector", "amiSelectorTerms", has_names=True, has_owners=True)


def put_terms(draft: Draft, prefix: str, selector: SelectorMap) -> None:
    """Set the terms of a selector map, if it is there."""
    where = f"{prefix}.{selector.field}"
    given = dict(texts(draft.fields(where)))
    if not given:
        return
    ids = _split(",".join(given[key] for key in _IDS if key in given))
    names, owners = _split(given.get(_NAMES, "")), _split(given.get(_OWNERS, ""))
    tags = {key: _split(value) or [value] for key, value in given.items() if not _is_special(key)}
    names = _allowed_values(draft, (where, _NAMES), names, is_allowed=selector.has_names)
    owners = _allowed_values(draft, (where, _OWNERS), owners, is_allowed=selector.has_owners)
    if ids:
        alone: dict[str, list[str]] = {}
        _tell_left_out(draft, where, [*tags, *_set_keys({_NAMES: names, _OWNERS: owners})], "ids")
        n_terms, terms = len(ids), _terms(ids=ids, tags=alone)
    elif names and not selector.has_owners:
        _tell_left_out(draft, where, list(tags), "names")
        n_terms, terms = len(names), _terms(names=names, tags={})
    else:
        n_terms = math.prod(
            len(values) for values in (names or [""], owners or [""], *tags.values())
        )
        terms = _terms(names=names, owners=owners, tags=tags)
    if n_terms > MOST_TERMS:
        message = (
            f"needs {n_terms} terms, one for each combination of values; v1 takes {MOST_TERMS}"
        )
        draft.refuse(where, message)
        return
    draft.put(f"spec.{selector.terms_field}", list(terms), where)
    for key in tags:  # its comment goes along
        draft.moves[("spec", selector.terms_field, 0, "tags", key)] = (*where.split("."), key)


def _terms(
    *,
    ids: Sequence[str] = (),
    names: Sequence[str] = (),
    owners: Sequence[str] = (),
    tags: Mapping[str, Sequence[str]],
) -> Iterator[Fields]:
    """One term for each combination."""
    for one_id, name, owner in itertools.product(ids or [""], names or [""], owners or [""]):
        for values in itertools.product(*tags.values()):
            term: Fields = {}
            if tags:
                term["tags"] = dict(zip(tags, values, strict=True))
            given = {"id": one_id, "name": name, "owner": owner}
            yield term | {key: value for key, value in given.items() if value}


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _is_special(key: str) -> bool:
    return key in (*_IDS, _NAMES, _OWNERS)


def _set_keys(given: Mapping[str, Sequence[str]]) -> list[str]:
    return [key for key, values in given.items() if values]


def _allowed_values(
    draft: Draft, where: tuple[str, str], values: list[str], *, is_allowed: bool
) -> list[str]:
    if values and not is_allowed:
        draft.tell(".".join(where), "v1 does not select by it here; left out")
        return []
    return values


def _tell_left_out(draft: Draft, where: str, keys: Sequence[str], by: str) -> None:
    if keys:
        message = f"a term with {by} has nothing else in v1: {', '.join(keys)} is left out"
        draft.tell(where, message)


def has_terms(draft: Draft, selector: SelectorMap) -> bool:
    """Whether the draft has terms of this selector."""
    return bool(as_fields(draft.tree.get("spec")).get(selector.terms_field))
