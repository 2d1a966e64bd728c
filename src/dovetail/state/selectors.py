"""Which pods and nodes are meant? Selectors and terms, from wire types to nouns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from dovetail import api, labels
from dovetail.model.requirements import Operator, Requirement, requirement
from dovetail.model.topology import NOTHING, LabelSelector, NodeTerm

_COMPLEMENTS: Final = frozenset({Operator.NOT_IN, Operator.EXISTS})


def label_selector(wire: api.LabelSelector | None) -> LabelSelector:
    """A selector of pods or namespaces. An absent one selects nothing, an empty one everything."""
    if wire is None:
        return NOTHING
    return LabelSelector(
        (
            *_equalities(wire.match_labels),
            *(
                # Not normalised: the labels of pods are their own business.
                Requirement(one.key, Operator(one.operator) in _COMPLEMENTS, frozenset(one.values))
                for one in wire.match_expressions
            ),
        )
    )


def _equalities(labels_by_key: Mapping[str, str]) -> Iterable[Requirement]:
    return (
        Requirement(key, False, frozenset({value})) for key, value in sorted(labels_by_key.items())
    )


def node_term(wire: api.NodeSelectorTerm) -> NodeTerm:
    """One alternative of a node selector."""
    return NodeTerm(
        expressions=tuple(
            requirement(one.key, one.operator, one.values) for one in wire.match_expressions
        ),
        fields=tuple(requirement(one.key, one.operator, one.values) for one in wire.match_fields),
    )


def node_labels(held: Mapping[str, str]) -> Mapping[str, str]:
    """A node's labels, those with an old spelling under the new one as well."""
    renewed = {
        labels.normalize(key): value for key, value in held.items() if key != labels.normalize(key)
    }
    return {**renewed, **held} if renewed else held
