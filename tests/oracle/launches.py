"""Is each launch what it says? Its offering, labels, taints, requests and alternatives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from dovetail import labels as well_known
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.plan import Launch, Plan
from dovetail.model.pod import Pod
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirement
from dovetail.model.snapshot import Snapshot
from tests.oracle.between import anti_affinity
from tests.oracle.hosts import launched_host, new_host
from tests.oracle.launchable import (
    Usage,
    can_be_had,
    is_strict,
    is_usable,
    kinds_of,
    mentioned,
    reservation_left,
    said,
    unmet_min_values,
    usage,
)
from tests.oracle.scheduler import ALONE
from tests.oracle.world import Host, World


@dataclass(frozen=True)
class Order:
    """One launch with what the snapshot knows of its pool and chosen type."""

    snapshot: Snapshot
    now: datetime
    launch: Launch
    pool: NodePool
    kind: InstanceType
    pods: tuple[Pod, ...]
    mentions: Mapping[str, set[str]]


def check(snapshot: Snapshot, now: datetime, plan: Plan) -> list[str]:
    """What is wrong with the launches of a plan."""
    pools = {pool.name: pool for pool in snapshot.node_pools}
    pod_by_key = {pod.key: pod for pod in snapshot.pods}
    broken = reservations(snapshot, plan)
    used = usage(snapshot, plan.launches)
    mentions = mentioned(snapshot, (), [pod_by_key[key] for key in plan.binding_order])
    for pod in snapshot.pods:
        for term in pod.spec.anti_affinity if pod.node_name else ():
            mentions.setdefault(term.topology_key, set())
    for launch in plan.launches:
        pool = pools.get(launch.node_pool)
        kind = kinds_of(snapshot, launch.node_pool).get(launch.instance_type)
        if pool is None or not is_usable(pool):
            broken.append(f"{launch.name}: pool {launch.node_pool} cannot launch")
        elif kind is None:
            broken.append(f"{launch.name}: no type {launch.instance_type} in {pool.name}")
        else:
            pods = tuple(pod_by_key[key] for key in launch.pods)
            order = Order(snapshot, now, launch, pool, kind, pods, mentions)
            others = [one for one in plan.launches if one is not launch]
            wrong = (
                *_wrong(order),
                *_price_order(order, usage(snapshot, others)),
                *cheaper(order, used),
            )
            broken += [f"{launch.name}: {what}" for what in wrong]
    return broken


def reservations(snapshot: Snapshot, plan: Plan) -> list[str]:
    """No reservation is used more often than it can be."""
    capacity: dict[str, int] = {}
    for kinds in snapshot.instance_types.values():
        for kind in kinds:
            for one in kind.offerings:
                if one.reservation_id:
                    held = capacity.get(one.reservation_id, one.reservation_capacity)
                    capacity[one.reservation_id] = min(held, one.reservation_capacity)
    used = Counter(one.reservation_id for one in plan.launches if one.reservation_id)
    for name, n in snapshot.ledger.reserved_by_id.items():
        capacity[name] = max(0, capacity.get(name, 0) - n)
    return [
        f"reservation {name} is used {n} times, it has {capacity.get(name, 0)}"
        for name, n in sorted(used.items())
        if n > capacity.get(name, 0)
    ]


def _wrong(order: Order) -> Iterator[str]:
    yield from _offering(order)
    yield from _fields(order)
    yield from _requests(order)
    yield from _alternatives(order)


def _matches(launch: Launch, offering: Offering) -> bool:
    return (
        offering.zone == launch.zone
        and offering.capacity_type == launch.capacity_type
        and offering.reservation_id == launch.reservation_id
    )


def _offering(order: Order) -> Iterator[str]:
    launch = order.launch
    offers = [one for one in order.kind.offerings if _matches(launch, one)]
    if not offers:
        yield f"{launch.instance_type} is not offered as {launch.capacity_type} in {launch.zone}"
        return
    if all(one.price_nanousd != launch.price_nanousd for one in offers):
        yield f"price {launch.price_nanousd} is not that of the offering"
    if not any(
        can_be_had(order.snapshot, order.now, order.pool.name, order.kind, one) for one in offers
    ):
        yield "the offering is not available"
    labels = launched_host(order.snapshot, launch).labels
    for one in said(order.pool, order.kind, offers[0]):
        if _breaks(order, one, labels):
            yield f"label {one.key}={labels.get(one.key)} breaks {one}"
    for one in launch.requirements:
        if not one.admits(labels.get(one.key)):
            yield f"label {one.key}={labels.get(one.key)} breaks the launch's own {one}"


def _breaks(order: Order, said_of_it: Requirement, labels: Mapping[str, str]) -> bool:
    """Whether the labels break this; one that nobody mentions may be left open."""
    key = said_of_it.key
    if key not in labels and key not in order.mentions:
        return False
    return not said_of_it.admits(labels.get(key))


def _fields(order: Order) -> Iterator[str]:
    launch, pool = order.launch, order.pool
    if not launch.pods:
        yield "holds no pod"
    if sorted(launch.taints) != sorted(pool.taints):
        yield "taints are not the pool's"
    if sorted(launch.startup_taints) != sorted(pool.startup_taints):
        yield "startup taints are not the pool's"
    if launch.instance_types[:1] != (launch.instance_type,):
        yield "the chosen type is not first in the list"
    if len(set(launch.instance_types)) != len(launch.instance_types):
        yield "a type is listed twice"
    if len(launch.instance_types) > order.snapshot.policy.max_instance_types:
        yield "more types than allowed"
    if launch.allocatable and dict(launch.allocatable) != dict(order.kind.allocatable):
        yield "allocatable is not the type's"


def _requests(order: Order) -> Iterator[str]:
    total: Counter[str] = Counter()
    host = launched_host(order.snapshot, order.launch)
    for spec in (*(one.spec for one in order.pods), *(one.spec for one in host.daemons)):
        total.update(spec.requests)
    wanted = {name: amount for name, amount in total.items() if amount}
    listed = {name: amount for name, amount in order.launch.requests.items() if amount}
    if wanted != listed:
        yield f"requests {listed} are not the sum of pods and daemon sets {wanted}"


def _alternatives(order: Order) -> Iterator[str]:
    kinds = kinds_of(order.snapshot, order.launch.node_pool)
    for name in order.launch.instance_types:
        if name not in kinds:
            yield f"alternative {name} is not in the pool"
            continue
        offered = [one for one in kinds[name].offerings if delivered(order, kinds[name], one)]
        if not offered:
            yield f"alternative {name} is not to be had as the launch asks"
        elif not all(would_do(order, kinds[name], one) for one in offered):
            yield f"alternative {name} would not hold the pods"
    listed = [kinds[name] for name in order.launch.instance_types if name in kinds]
    unmet = unmet_min_values(order.pool, listed)
    if not unmet:
        return
    if is_strict(order.snapshot):
        yield f"minValues not reached: {', '.join(unmet)}"
    elif not order.launch.is_min_values_relaxed:
        yield f"minValues relaxed without saying so: {', '.join(unmet)}"


def _price_order(order: Order, others: Usage) -> Iterator[str]:
    """Fallbacks come cheapest first, by the cheapest way to get each beside all other launches."""
    known = kinds_of(order.snapshot, order.launch.node_pool)
    kinds = [known[name] for name in order.launch.instance_types if name in known]
    offered = [
        [
            one.price_nanousd
            for one in kind.offerings
            if delivered(order, kind, one) and reservation_left(others, one) > 0
        ]
        for kind in kinds[1:]
    ]
    prices = [min(one) for one in offered if one]
    if prices != sorted(prices):
        yield "fallbacks are not in order of price"


def cheaper(order: Order, used: Usage) -> Iterator[str]:
    """What a launch lists that costs less than what is planned: providers take the cheapest, of the
    first capacity type that can be had.

    A reservation that the plan uses up cannot come instead.
    """
    launch = order.launch
    turns = ("reserved", "spot", "on-demand")
    turn = turns.index(launch.capacity_type) if launch.capacity_type in turns else len(turns)
    kinds = kinds_of(order.snapshot, launch.node_pool)
    for name in launch.instance_types:
        for one in kinds[name].offerings if name in kinds else ():
            if one.price_nanousd >= launch.price_nanousd or reservation_left(used, one) <= 0:
                continue
            if one.capacity_type in turns[turn + 1 :]:
                continue
            if delivered(order, kinds[name], one) is not None:
                where, price = f"{one.zone} {one.capacity_type}", one.price_nanousd
                yield f"lists {name} in {where} for {price}, planned is {launch.price_nanousd}"


def reaches_min_values(
    snapshot: Snapshot, now: datetime, launch: Launch, pods: tuple[Pod, ...], *, used: Usage
) -> bool:
    """Whether enough types of the pool would hold these pods under the launch's labels, within what
    limits leave beside all that is used.
    """
    pool = next(one for one in snapshot.node_pools if one.name == launch.node_pool)
    kinds = kinds_of(snapshot, launch.node_pool)
    chosen = kinds[launch.instance_type]
    order = Order(snapshot, now, launch, pool, chosen, pods, mentioned(snapshot, ()))
    fitting = [
        kind
        for kind in kinds.values()
        if used.has_room(pool, kind.capacity)
        and any(would_do(order, kind, one) for one in kind.offerings)
    ]
    return not unmet_min_values(pool, fitting)


def delivered(order: Order, kind: InstanceType, offering: Offering) -> Host | None:
    """The node that the provider may deliver from this offering; None if it may not."""
    if not can_be_had(order.snapshot, order.now, order.pool.name, kind, offering):
        return None
    speakers = said(order.pool, kind, offering)
    fixed = {
        one.key: next(iter(one.values))
        for one in speakers
        if not one.complement and len(one.values) == 1
    }
    kept = {
        key: value
        for key, value in order.launch.labels.items()
        if all(one.admits(value) for one in speakers if one.key == key)
    }
    labels = {**kept, **fixed, well_known.HOSTNAME: order.launch.name}
    if not all(one.admits(labels.get(one.key)) for one in order.launch.requirements):
        return None
    if any(_breaks(order, one, labels) for one in speakers):
        return None
    return new_host(
        order.snapshot,
        order.launch.name,
        labels=labels,
        taints=order.pool.taints,
        holds=(kind.allocatable, kind.attach_limits),
    )


def would_do(order: Order, kind: InstanceType, offering: Offering) -> bool:
    """Whether the provider may deliver this, and the pods could live on it."""
    host = delivered(order, kind, offering)
    return host is not None and _holds(order, host)


def deliveries(snapshot: Snapshot, now: datetime, plan: Plan) -> Iterator[Host]:
    """Every node that may come instead of a planned one, by zone and capacity type."""
    pools = {pool.name: pool for pool in snapshot.node_pools}
    for launch in plan.launches:
        kinds = kinds_of(snapshot, launch.node_pool)
        listed = [kinds[name] for name in launch.instance_types if name in kinds]
        if launch.node_pool not in pools or not listed:
            continue
        mentions = mentioned(snapshot, (), ())
        order = Order(snapshot, now, launch, pools[launch.node_pool], listed[0], (), mentions)
        seen = {(launch.zone, launch.capacity_type)}
        for kind in listed:
            for one in kind.offerings:
                host = delivered(order, kind, one)
                if host is not None and (one.zone, one.capacity_type) not in seen:
                    seen.add((one.zone, one.capacity_type))
                    yield host


def _holds(order: Order, host: Host) -> bool:
    world = World(order.snapshot)
    world.add(host)
    for pod in order.pods:
        if any(one(world, pod, host, world.bound[host.name]) for one in (*ALONE, anti_affinity)):
            return False
        world.bind(pod, host.name)
    return True
