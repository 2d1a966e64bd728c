"""Lists the labels that a pod asks of its node, as alternatives.

Expressions on one key are kept side by side rather than intersected: `In [a]` with `NotIn [a]` can
be satisfied by no node, and their intersection would look like `DoesNotExist`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from itertools import islice, product
from operator import and_
from typing import Final

from dovetail import labels
from dovetail.model.pod import PodSpec
from dovetail.model.requirements import Requirement
from dovetail.model.topology import NodeTerm
from dovetail.model.volumes import PodVolumes

Said = tuple[Requirement, ...]  # all that is said of one key
Wish = Mapping[str, Said]  # by label key; what matchFields says is under "metadata.name"

# Volumes with many alternatives each could multiply without end; nobody reads that far.
_MOST_ALTERNATIVES: Final = 256


def pod_wishes(spec: PodSpec) -> tuple[Wish, ...]:
    """The alternatives of nodeSelector and required node affinity; none: no node is selected."""
    selector = [
        Requirement(labels.normalize(key), False, frozenset({value}))
        for key, value in sorted(spec.node_selector.items())
    ]
    if not spec.required_terms:
        return (by_key(selector),)
    return tuple(
        by_key([*selector, *_expressions(term)])
        for term in spec.required_terms
        if term.expressions or term.fields
    )


def by_key(requirements: Iterable[Requirement]) -> Wish:
    """Everything that is said, by key, each thing once."""
    by_key: dict[str, dict[Requirement, None]] = {}
    for requirement in requirements:
        by_key.setdefault(requirement.key, {})[requirement] = None
    return {key: tuple(by_key[key]) for key in sorted(by_key)}


def with_volumes(wishes: tuple[Wish, ...], volumes: PodVolumes) -> tuple[Wish, ...]:
    """The same with one alternative of every volume added, in all combinations."""
    if not volumes.alternatives:
        return wishes
    lists = [
        [term for term in alternatives if term.expressions or term.fields]
        for alternatives in volumes.alternatives
    ]
    combined = (
        by_key([*_flat(wish), *(expression for term in terms for expression in _expressions(term))])
        for wish, terms in product(wishes, product(*lists))
    )
    return tuple(islice(combined, _MOST_ALTERNATIVES))


def satisfiable(requirements: Said) -> bool:
    """Whether some value, or the label's absence, satisfies everything said of a key."""
    return bool(reduce(and_, requirements)) or all(item.tolerates_absence for item in requirements)


def without(wish: Wish, keys: frozenset[str]) -> Wish:
    """The wish with nothing said of these keys."""
    return {key: needs for key, needs in wish.items() if key not in keys} if keys else wish


def needs_text(requirements: Said) -> str:
    """What is said of one key, for people."""
    return " and ".join(str(requirement) for requirement in requirements)


def _flat(wish: Wish) -> list[Requirement]:
    return [requirement for requirements in wish.values() for requirement in requirements]


def _expressions(term: NodeTerm) -> list[Requirement]:
    fields = [
        Requirement(labels.NODE_NAME_FIELD, field.complement, field.values, field.gte, field.lte)
        for field in term.fields
    ]
    return [*term.expressions, *fields]
