"""What would a pool launch were nobody in sight? A node of its template alone (spec/core.md 7.2).

Its claim asks for no more than the pool does, so that the provider has its whole choice; planned is
the cheapest that can be had, which is what a provider takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.provision import named_launches, obtainable
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.plan import Launch
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirement, Requirements
from dovetail.model.snapshot import Snapshot
from dovetail.solve import PlannedNode
from dovetail.solve.offers import definite, pool_requirements

_OTHER: Final = "other"  # a value for a label that must have one, whichever

_Offer = tuple[InstanceType, Offering]


def bare_launches(
    pool: NodePool, n_nodes: int, snapshot: Snapshot, now: datetime, others: Iterable[Launch]
) -> tuple[Launch, ...]:
    """So many nodes of the pool's template, or as many as can be had; named on from `others`."""
    if n_nodes <= 0:
        return ()
    offers = _offers(pool, obtainable(snapshot, now).get(pool.name, ()))
    if not offers:
        return ()
    names = tuple(dict.fromkeys(kind.name for kind, _ in offers))
    most = snapshot.policy.max_instance_types
    chosen = _chosen(offers, n_nodes, snapshot.ledger.reserved_by_id)
    planned = [_planned(pool, kind, at, names[:most]) for kind, at in chosen]
    return tuple(
        msgspec.structs.replace(one, requirements=())  # the pool's own are all it asks for
        for one in named_launches(planned, snapshot.revision, others)
    )


def _offers(pool: NodePool, types: Iterable[InstanceType]) -> list[_Offer]:
    """All that the pool allows and that is to be had, cheapest first."""
    asked = pool_requirements(pool)
    found = [
        (kind, at)
        for kind in types
        if kind.requirements.intersects(asked)
        for at in kind.offerings
        if at.is_available and at.requirements.intersects(asked)
    ]
    return sorted(
        found,
        key=lambda one: (
            one[1].price_nanousd,
            one[0].name,
            one[1].zone,
            one[1].capacity_type,
            one[1].reservation_id,
        ),
    )


def _chosen(
    offers: Sequence[_Offer], n_nodes: int, reserved: Mapping[str, int]
) -> Iterator[_Offer]:
    """The cheapest again and again; of a reservation no more than is left of it."""
    used = Counter(reserved)
    n_left = n_nodes
    for kind, at in offers:
        n_here = n_left
        if at.capacity_type == labels.RESERVED:
            n_here = min(n_left, max(0, at.reservation_capacity - used[at.reservation_id]))
            used[at.reservation_id] += n_here
        yield from [(kind, at)] * n_here
        n_left -= n_here


def _planned(pool: NodePool, kind: InstanceType, at: Offering, names: Sequence[str]) -> PlannedNode:
    return PlannedNode(
        node_pool=pool,
        instance_type=kind,
        offering=at,
        alternatives=tuple(dict.fromkeys((kind.name, *names))),
        zones=(at.zone,),
        capacity_types=(at.capacity_type,),
        labels=_labels(pool, kind, at),
        requests={},
        pods=(),
    )


def _labels(pool: NodePool, kind: InstanceType, at: Offering) -> dict[str, str]:
    """Every label of the node; where the pool leaves a choice, the first value that would do."""
    layers = (pool_requirements(pool), kind.requirements, at.requirements)
    found: dict[str, str] = {}
    for key in sorted({key for layer in layers for key in layer}):
        is_fixed, value = definite(key, layers)
        chosen = value if is_fixed else _any_value(key, layers)
        if chosen is not None:
            found[key] = chosen
    return found


def _any_value(key: str, layers: Iterable[Requirements]) -> str | None:
    """A value that all layers allow, if the label must be there."""
    held = Requirement(key, complement=True)
    for layer in layers:
        held = held & layer[key] if key in layer else held
    if not held.complement:
        return min(held.values, default=None)
    if held.tolerates_absence:
        return None
    numbers = [str(bound) for bound in (held.gte, held.lte) if bound is not None]
    words = [_OTHER, *(f"{_OTHER}-{n}" for n in range(len(held.values)))]
    return next((value for value in (*numbers, *words) if held.has(value)), None)
