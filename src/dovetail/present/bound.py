"""Says how close a plan is to its lower bound, and why the bound is not tight where it is not.

A plan that costs as much as the bound is optimal. One that costs a little more is within that
much of the optimum. A plan far above the bound says little about the plan: the bound leaves out of
account what makes plans dearer, and the reason for that is known from the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from dovetail import labels
from dovetail.model.plan import Cost, Plan
from dovetail.model.pool import NodePool
from dovetail.model.resources import NODES
from dovetail.model.snapshot import Snapshot

_SAME: Final = 20_000  # a gap of less than 1 part in so many (0.005 %) counts as none
_TIGHT: Final = 10  # a gap of up to 1 part in so many (10 %) says something about the plan
_FEW_NODES: Final = 5


class BoundIs(StrEnum):
    """What the lower bound says of the price."""

    OPTIMAL = "optimal"
    WITHIN = "within"
    NOT_TIGHT = "notTight"


class Closeness(msgspec.Struct, frozen=True):
    """A price beside its lower bound. `why` is a sentence where the bound is not tight."""

    verdict: BoundIs
    price_nanousd: int
    bound_nanousd: int
    why: str = ""

    @property
    def percent(self) -> str:
        """How far the price is above the bound, rounded up: never claim to be closer."""
        tenths = -(-(self.price_nanousd - self.bound_nanousd) * 1000 // self.bound_nanousd)
        return f"{tenths // 10}.{tenths % 10} %"


def closeness(plan: Plan, snapshot: Snapshot) -> Closeness:
    """How close the new nodes are to the optimum; node prices count, where there are any."""
    price, bound = _compared_prices(plan.cost)
    verdict = bound_is(price, bound)
    why = next(_reasons(plan, snapshot)) if verdict is BoundIs.NOT_TIGHT else ""
    return Closeness(verdict, price, bound, why)


def bound_is(price_nanousd: int, bound_nanousd: int) -> BoundIs:
    """What a lower bound says of a price."""
    gap = price_nanousd - bound_nanousd
    if gap <= 0 or gap * _SAME < bound_nanousd:
        return BoundIs.OPTIMAL
    return BoundIs.WITHIN if gap * _TIGHT <= bound_nanousd else BoundIs.NOT_TIGHT


def _compared_prices(cost: Cost) -> tuple[int, int]:
    if cost.node_price_nanousd or cost.lower_bound_with_nodes_nanousd:
        return cost.new_nanousd + cost.node_price_nanousd, cost.lower_bound_with_nodes_nanousd
    return cost.new_nanousd, cost.lower_bound_nanousd


def _reasons(plan: Plan, snapshot: Snapshot) -> Iterator[str]:
    """What the bound leaves out of account, the likeliest first; always at least one."""
    pools = [pool for pool in snapshot.node_pools if pool.replicas is None]
    yield from _pool_reasons(pools, plan, snapshot)
    if _has_reservations(snapshot):
        yield "reserved capacity is limited, and the bound assumes more of it"
    if len({pool.weight for pool in pools}) > 1:
        yield "NodePools have different weights, and weight comes before price"
    if snapshot.nodes:
        yield "pods that would fit existing nodes count as free in the bound"
    if _is_tied(plan, snapshot):
        yield "affinity and spread between pods are only partly in the bound"
    if len(plan.launches) <= _FEW_NODES:
        yield "few pods need few whole nodes, and the bound counts fractions of nodes"
    yield "a higher --effort may find a cheaper plan, or a better bound"


def _pool_reasons(pools: Sequence[NodePool], plan: Plan, snapshot: Snapshot) -> Iterator[str]:
    for pool in pools:
        name = _bounding_limit(pool, plan, snapshot)
        if name:
            yield f"the {name} limit of NodePool {pool.name} may exclude cheaper nodes"
    used = {launch.node_pool for launch in plan.launches}
    for pool in pools:
        if pool.name in used and any(requirement.min_values for requirement in pool.requirements):
            yield f"minValues of NodePool {pool.name} require more instance types than the cheapest"


def _bounding_limit(pool: NodePool, plan: Plan, snapshot: Snapshot) -> str:
    """The first limit that some instance type of the pool would exceed once the plan is done."""
    coming = [launch for launch in plan.launches if launch.node_pool == pool.name]
    kinds = {item.name: item.capacity for item in snapshot.instance_types.get(pool.name, ())}
    result = [node.capacity for node in snapshot.nodes if node.node_pool == pool.name]
    result += [kinds[launch.instance_type] for launch in coming if launch.instance_type in kinds]
    for name, limit in pool.limits.items():
        used = sum(_amount(item, name) for item in result)
        if limit - used < max((_amount(kind, name) for kind in kinds.values()), default=0):
            return name
    return ""


def _amount(capacity: Mapping[str, int], name: str) -> int:
    return 1 if name == NODES else capacity.get(name, 0)


def _has_reservations(snapshot: Snapshot) -> bool:
    return any(
        offering.capacity_type == labels.RESERVED and offering.is_available
        for kinds in snapshot.instance_types.values()
        for kind in kinds
        for offering in kind.offerings
    )


def _is_tied(plan: Plan, snapshot: Snapshot) -> bool:
    """Whether pods that get new nodes must be near to or away from others."""
    new = {pod for launch in plan.launches for pod in launch.pods}
    return any(
        pod.key in new
        and (
            pod.spec.affinity
            or pod.spec.anti_affinity
            or any(spread.is_hard for spread in pod.spec.spread)
        )
        for pod in snapshot.pods
    )
