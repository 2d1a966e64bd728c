"""What would a pool launch were nobody in sight? A node of its template alone (spec/core.md 7.2).

Its claim asks for no more than the pool does, so that the provider has its whole choice; planned is
the cheapest that can be had, which is what a provider takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import msgspec

from dovetail import labels
from dovetail.decide.labelling import node_labels
from dovetail.decide.provision import named_launches, obtainable
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.plan import Launch
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.solve import PlannedNode
from dovetail.solve.encoding.offers import pool_requirements

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
    named = tuple(others)
    chosen = _chosen(offers, n_nodes, _reserved(snapshot, named))
    planned = [_planned(pool, kind, at, names[:most]) for kind, at in chosen]
    return tuple(
        msgspec.structs.replace(one, requirements=())  # the pool's own are all it asks for
        for one in named_launches(planned, snapshot, named)
    )


def _reserved(snapshot: Snapshot, others: Sequence[Launch]) -> Counter[str]:
    """How much of each reservation is used, also by launches that are not under way yet."""
    used = Counter(snapshot.ledger.reserved_by_id)
    coming = [one for one in others if one.reservation_id]
    if coming:
        there = {node.name for node in snapshot.nodes}
        used.update(one.reservation_id for one in coming if one.name not in there)
    return used


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


def _chosen(offers: Sequence[_Offer], n_nodes: int, used: Counter[str]) -> Iterator[_Offer]:
    """The cheapest again and again; of a reservation no more than is left of it."""
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
        labels=node_labels(pool, kind, at),
        requests={},
        pods=(),
    )
