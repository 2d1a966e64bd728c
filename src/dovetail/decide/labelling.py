"""Which labels will a new node carry? Also those that its pool insists on and nobody else mentions.

A pool that requires `team In [a, b]` gets nodes of one team or the other, though no pod cares; one
without the label would not be what the pool asks for, and drift as soon as it has come.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from dovetail import labels
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirement, Requirements
from dovetail.solve import PlannedNode
from dovetail.solve.encoding.offers import definite, pool_requirements

_OTHER: Final = "other"  # a value for a label that must have one, whichever


def node_labels(pool: NodePool, kind: InstanceType, at: Offering) -> dict[str, str]:
    """Every label of the node; where the pool leaves a choice, the first value that would do."""
    layers = (pool_requirements(pool), kind.requirements, at.requirements)
    return _labels(sorted({key for layer in layers for key in layer}), layers)


def unmentioned_labels(node: PlannedNode) -> dict[str, str]:
    """Labels that the pool of a planned node insists on, and that are not planned."""
    keys = sorted(
        {one.key for one in node.node_pool.requirements if not labels.is_well_known(one.key)}
        - node.labels.keys()
    )
    if not keys:
        return {}
    pool = pool_requirements(node.node_pool)
    return _labels(keys, (pool, node.instance_type.requirements, node.offering.requirements))


def _labels(keys: Iterable[str], layers: Sequence[Requirements]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key in keys:
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
    if held.gte is None and held.lte is None:
        return _OTHER
    start, pace = (held.gte, 1) if held.gte is not None else (held.lte or 0, -1)
    tries = (str(start + pace * n) for n in range(len(held.values) + 1))
    return next((value for value in tries if held.has(value)), None)
