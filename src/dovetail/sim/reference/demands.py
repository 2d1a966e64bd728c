"""Computes the requirements of a pod, and the order in which its preferences are relaxed.

Preferences count as demands until a pod finds no place; then one after another is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dovetail.model.pod import PodSpec
from dovetail.model.requirements import Requirement, Requirements
from dovetail.model.taints import Effect, Toleration, TolerationOperator
from dovetail.model.topology import NodeTerm, PodTerm, Spread

_SOFT_TAINTS = Toleration(operator=TolerationOperator.EXISTS, effect=Effect.PREFER_NO_SCHEDULE)


class PodDemand(msgspec.Struct, frozen=True, eq=False):
    """What a pod insists on. `requirements` are all that it asks of the node's labels."""

    requirements: Requirements
    tolerations: tuple[Toleration, ...] = ()
    spread: tuple[Spread, ...] = ()
    near: tuple[PodTerm, ...] = ()
    apart: tuple[PodTerm, ...] = ()


def demands(spec: PodSpec) -> tuple[PodDemand, ...]:
    """From all that the pod would like to what it must have, in the order in which it is tried."""
    return tuple(_demand(item) for item in _relaxations(spec))


class _Asked(msgspec.Struct, frozen=True):
    """A spec with what is left of its preferences, each list in the order of going."""

    spec: PodSpec
    terms: tuple[NodeTerm, ...]
    near: tuple[PodTerm, ...]
    apart: tuple[PodTerm, ...]
    nodes: tuple[NodeTerm, ...]
    soft: tuple[Spread, ...]
    tolerates_soft: bool = False


def _heaviest_first(weighed: tuple[tuple[int, PodTerm], ...]) -> tuple[PodTerm, ...]:
    return tuple(term for _, term in sorted(weighed, key=lambda pair: -pair[0]))


def _relaxations(spec: PodSpec) -> Iterator[_Asked]:
    asked = _Asked(
        spec,
        terms=spec.required_terms,
        near=_heaviest_first(spec.preferred_affinity),
        apart=_heaviest_first(spec.preferred_anti_affinity),
        nodes=tuple(term for _, term in sorted(spec.preferred_terms, key=lambda pair: -pair[0])),
        soft=tuple(spread for spread in spec.spread if not spread.is_hard),
    )
    yield asked
    while len(asked.terms) > 1:
        asked = msgspec.structs.replace(asked, terms=asked.terms[1:])
        yield asked
    for name in ("near", "apart", "nodes", "soft"):
        while held := getattr(asked, name):
            asked = msgspec.structs.replace(asked, **{name: held[1:]})
            yield asked
    yield msgspec.structs.replace(asked, tolerates_soft=True)


def _demand(asked: _Asked) -> PodDemand:
    spec = asked.spec
    wanted = [
        Requirement(key, False, frozenset({value})) for key, value in spec.node_selector.items()
    ]
    for term in (*asked.terms[:1], *asked.nodes[:1]):
        wanted += (*term.expressions, *term.fields)
    tolerations = spec.tolerations
    if asked.tolerates_soft:
        tolerations = (*tolerations, _SOFT_TAINTS)
    return PodDemand(
        requirements=Requirements(wanted),
        tolerations=tolerations,
        spread=(*(spread for spread in spec.spread if spread.is_hard), *asked.soft),
        near=(*spec.affinity, *asked.near),
        apart=(*spec.anti_affinity, *asked.apart),
    )
