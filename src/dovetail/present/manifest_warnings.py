"""Finds what is allowed in manifests and probably not meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dovetail import api
from dovetail.decide.disrupt.flaws import NO_REASONS

PlacedObject = tuple[str, api.Object]  # where it stood, and the object


def idle_budgets(objects: Sequence[PlacedObject]) -> Iterator[str]:
    """Budgets that the API server takes and that limit nothing."""
    for origin, pool in _pools(objects):
        for index, budget in enumerate(pool.spec.disruption.budgets):
            if budget.reasons == ():
                at = f"NodePool {pool.metadata.name}: spec.disruption.budgets[{index}]"
                yield f"warning: {origin}: {at} never limits anything: {NO_REASONS}"


def missing_node_classes(objects: Sequence[PlacedObject]) -> Iterator[str]:
    """Node classes of NodePools that are missing among others of their kind: the name may be wrong.

    Where there are none of the kind, they are simply not among these manifests.
    """
    names: dict[str, list[str]] = {}
    for _, each in objects:
        if isinstance(each, api.NodeClass):
            names.setdefault(each.kind, []).append(each.metadata.name)
    for origin, pool in _pools(objects):
        ref = pool.spec.template.spec.node_class_ref
        known = sorted(names.get(ref.kind, []))
        if known and ref.name not in known:
            yield (
                f"warning: {origin}: NodePool {pool.metadata.name}: "
                f"spec.template.spec.nodeClassRef.name: there is no {ref.kind} {ref.name!r} here; "
                f"expected {' or '.join(known)}"
            )


def _pools(objects: Sequence[PlacedObject]) -> Iterator[tuple[str, api.NodePool]]:
    for origin, each in objects:
        if isinstance(each, api.NodePool):
            yield origin, each
