"""Finds other NodePools that serve the same pods as a generated one, and who is used first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dovetail import labels
from dovetail.model.instance import InstanceType
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirements
from dovetail.model.snapshot import Snapshot
from dovetail.model.taints import Effect, Taint

_SHOWN: Final = 3
_SOFT: Final = Effect.PREFER_NO_SCHEDULE


def overlaps(pool: NodePool, types: tuple[InstanceType, ...], others: Snapshot) -> Iterator[str]:
    """A sentence for each other pool that pods of this one, or pods for this one, may use."""
    ours = launchable_names(pool, types)
    for other in sorted(others.node_pools, key=lambda each: each.name):
        if other.name == pool.name or other.replicas is not None or not _serve_alike(pool, other):
            continue
        theirs = launchable_names(other, others.instance_types.get(other.name, ()))
        shared = [name for name in ours if name in set(theirs)]
        message = _sentence(pool, other)
        if message:
            yield f"NodePool {other.name} {message}{_shared_text(shared)}"


def launchable_names(pool: NodePool, types: tuple[InstanceType, ...]) -> tuple[str, ...]:
    """The names of the instance types that a pool can launch."""
    wanted = Requirements(pool.requirements) & Requirements.of_labels(pool.labels)
    return tuple(
        item.name
        for item in types
        if wanted.intersects(item.requirements)
        and any(
            offering.is_available and wanted.intersects(offering.requirements)
            for offering in item.offerings
        )
    )


def _serve_alike(pool: NodePool, other: NodePool) -> bool:
    """Whether nodes of both can run the same images."""
    ours, theirs = Requirements(pool.requirements), Requirements(other.requirements)
    return all(
        key not in ours or key not in theirs or ours[key].intersects(theirs[key])
        for key in (labels.ARCH, labels.OS)
    )


def _sentence(pool: NodePool, other: NodePool) -> str:
    ours, theirs = _hard(pool), _hard(other)
    if ours == theirs:
        return f"takes the same pods: {_order(pool, other)}"
    if theirs < ours:
        missing = _listed(ours - theirs)
        return (
            f"is not tainted {missing}, so pods that tolerate this pool's taints may be placed on "
            f"it as well; {_keep_here(pool)}"
        )
    if ours < theirs:
        return (
            f"is tainted {_listed(theirs - ours)}, and this pool is not: pods that tolerate its "
            "taints may be placed on this pool as well"
        )
    return ""


def _order(pool: NodePool, other: NodePool) -> str:
    if pool.weight > other.weight:
        return f"this pool is used first (weight {pool.weight}, that one {other.weight})"
    if pool.weight < other.weight:
        return (
            f"that one is used first (weight {other.weight}, this pool {pool.weight}), and this "
            "pool only once it cannot launch more; raise weight, or add a taint"
        )
    return (
        "with equal weights, the cheaper nodes of both are used; add a taint to keep other pods "
        "off this pool, or set weight"
    )


def _keep_here(pool: NodePool) -> str:
    for key in sorted(pool.labels):
        return f"a nodeSelector {key}: {pool.labels[key]} keeps them here"
    return "add a label to this pool, and a nodeSelector for it to the pods"


def _hard(pool: NodePool) -> frozenset[Taint]:
    return frozenset(taint for taint in pool.taints if taint.effect != _SOFT)


def _listed(taints: frozenset[Taint]) -> str:
    return ", ".join(sorted(str(taint) for taint in taints))


def _shared_text(shared: list[str]) -> str:
    if not shared:
        return ". They have no instance type in common."
    more = f" and {len(shared) - _SHOWN} more" if len(shared) > _SHOWN else ""
    return f". Both can launch {', '.join(shared[:_SHOWN])}{more}."
