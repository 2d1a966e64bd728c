"""The same cluster and plan where every offering costs its price per node more.

Nothing else has to know of node prices: what holds of prices in that world holds of the sum in the
real one.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from dovetail.model.instance import InstanceType
from dovetail.model.plan import Disrupt, Launch, Plan
from dovetail.model.snapshot import Snapshot

Extra = Mapping[str, int]  # by pool


def extra_by_pool(snapshot: Snapshot) -> Extra:
    """What each node of a pool costs beside its provider's price."""
    return {
        pool.name: snapshot.policy.node_price_nanousd
        if pool.node_price_nanousd is None
        else pool.node_price_nanousd
        for pool in snapshot.node_pools
    }


def counted(snapshot: Snapshot, plan: Plan) -> tuple[Snapshot, Plan]:
    """Cluster and plan with node prices counted as if providers asked for them."""
    extra = extra_by_pool(snapshot)
    pools = tuple(
        msgspec.structs.replace(pool, node_price_nanousd=None) for pool in snapshot.node_pools
    )
    world = msgspec.structs.replace(
        snapshot,
        node_pools=pools,
        policy=msgspec.structs.replace(snapshot.policy, node_price_nanousd=0),
        instance_types={
            pool: tuple(_dearer(kind, extra[pool]) for kind in kinds)
            for pool, kinds in snapshot.instance_types.items()
        },
    )
    return world, _counted_plan(plan, extra)


def _counted_plan(plan: Plan, extra: Extra) -> Plan:
    cost = plan.cost
    moves = tuple(_counted_move(one, extra) for one in plan.disruptions)
    new = cost.new_nanousd + cost.node_price_nanousd
    saved = sum(one.saving_nanousd for one in moves)
    return msgspec.structs.replace(
        plan,
        launches=tuple(_counted_launch(one, extra) for one in plan.launches),
        disruptions=moves,
        certificate=plan.node_certificate,
        cost=msgspec.structs.replace(
            cost,
            new_nanousd=new,
            lower_bound_nanousd=cost.lower_bound_with_nodes_nanousd,
            cluster_after_nanousd=cost.cluster_before_nanousd + new - saved,
        ),
    )


def _counted_move(one: Disrupt, extra: Extra) -> Disrupt:
    return msgspec.structs.replace(
        one,
        replacements=tuple(_counted_launch(new, extra) for new in one.replacements),
        saving_nanousd=one.saving_nanousd + one.node_saving_nanousd,
        node_saving_nanousd=0,
    )


def _counted_launch(one: Launch, extra: Extra) -> Launch:
    return msgspec.structs.replace(one, price_nanousd=one.price_nanousd + extra[one.node_pool])


def _dearer(kind: InstanceType, more: int) -> InstanceType:
    offerings = tuple(
        msgspec.structs.replace(one, price_nanousd=one.price_nanousd + more)
        for one in kind.offerings
    )
    return msgspec.structs.replace(kind, offerings=offerings)
