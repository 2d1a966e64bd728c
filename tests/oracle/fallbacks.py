"""Do limits hold whichever of the listed instance types the provider delivers?

A provider may deliver any type that a launch lists. So each launch counts with the most that any of
its types has of a resource, and all launches of a plan are added up.
"""

from __future__ import annotations

from collections.abc import Iterable

from dovetail.model.plan import Launch
from dovetail.model.snapshot import Snapshot
from tests.oracle.launchable import Usage, kinds_of, usage


def limits(snapshot: Snapshot, launches: Iterable[Launch]) -> list[str]:
    """Pools that exceed their limits if every launch becomes the largest that it lists."""
    launches = tuple(launches)
    used = usage(snapshot, ())
    for launch in launches:
        used.take(launch.node_pool, _most(snapshot, launch))
    growing = {launch.node_pool for launch in launches}
    return [
        f"pool {pool.name} may exceed {what}, as launches list their types"
        for pool in snapshot.node_pools
        if pool.name in growing and pool.replicas is None
        for what in used.excess(pool)
    ]


def _most(snapshot: Snapshot, launch: Launch) -> dict[str, int]:
    """The most of each resource that any of the listed types has."""
    kinds = kinds_of(snapshot, launch.node_pool)
    most: dict[str, int] = {}
    for name in launch.instance_types:
        for resource, amount in kinds[name].capacity.items() if name in kinds else ():
            most[resource] = max(most.get(resource, 0), amount)
    return most


def taken(snapshot: Snapshot, launches: Iterable[Launch]) -> Usage:
    """What nodes and launches take of limits: each launch what is planned, but in pools with
    minValues the most that it lists, since there it may have to list that much.
    """
    insisting = {
        pool.name
        for pool in snapshot.node_pools
        if any(one.min_values for one in pool.requirements)
    }
    launches = tuple(launches)
    used = usage(snapshot, (one for one in launches if one.node_pool not in insisting))
    for launch in launches:
        if launch.node_pool in insisting:
            used.take(launch.node_pool, _most(snapshot, launch), launch.reservation_id)
    return used
