"""What would somebody without ambition do? Take pods as they come, and buy a node when none fits.

A plan made this way is legal and complete but dear. It shows that the checker can be satisfied on
any generated cluster, without help from the solver.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from dovetail import labels as well_known
from dovetail.model.instance import InstanceType
from dovetail.model.plan import Cost, Launch, Nominate, Plan
from dovetail.model.pod import Pod
from dovetail.model.requirements import requirement
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Unschedulable
from tests.oracle.check import Case, excuse
from tests.oracle.hosts import launched_host, present_world
from tests.oracle.launchable import (
    Fresh,
    fresh_hosts,
    is_strict,
    kinds_of,
    mentioned,
    unmet_min_values,
    usage,
)
from tests.oracle.launches import Order, delivered, reaches_min_values, would_do
from tests.oracle.scheduler import bind_in_any_order, refusal
from tests.oracle.world import Host, World


@dataclass
class _Draft:
    """A plan in the making."""

    snapshot: Snapshot
    now: datetime
    world: World
    launches: list[Launch] = field(default_factory=list)
    where: dict[str, str] = field(default_factory=dict)

    def place(self, pod: Pod) -> bool:
        """Put the pod on the first node that takes it, bought for it if need be; weight first."""
        hosts = list(self.world.hosts.values())
        if any(self._join(pod, host) for host in hosts if not host.is_new):
            return True
        on_sale = self._by_price()
        for weight in sorted({pool.weight for pool in self.snapshot.node_pools}, reverse=True):
            pools = {pool.name for pool in self.snapshot.node_pools if pool.weight == weight}
            planned = [host for host in hosts if host.is_new]
            planned = [host for host in planned if host.labels[well_known.NODE_POOL] in pools]
            if any(self._join(pod, host) for host in planned):
                return True
            if any(self._buy(fresh, pod) for fresh in on_sale if fresh.pool.name in pools):
                return True
        return False

    def _join(self, pod: Pod, host: Host) -> bool:
        if refusal(self.world, pod, host) is not None or not self._stays_diverse(pod, host.name):
            return False
        self._bind(pod, host.name)
        return True

    def _stays_diverse(self, pod: Pod, name: str) -> bool:
        for launch in self.launches:
            if launch.name == name and is_strict(self.snapshot):
                joined = (*self.world.bound[name], pod)
                used = usage(self.snapshot, ())
                return reaches_min_values(self.snapshot, self.now, launch, joined, used=used)
        return True

    def _buy(self, fresh: Fresh, pod: Pod) -> bool:
        launch = _launch(self.snapshot, self.now, fresh, (pod,), len(self.launches) + 1)
        if unmet_min_values(fresh.pool, _kinds(self.snapshot, launch)):
            if is_strict(self.snapshot):
                return False
            launch = msgspec.structs.replace(launch, is_min_values_relaxed=True)
        host = launched_host(self.snapshot, launch)
        bare = present_world(self.snapshot)
        for one in (*self.world.hosts.values(), host):
            if one.is_new:
                bare.add(one)
        placed = [one for one, _ in self.world.pods_and_hosts() if one.key in self.where]
        if bind_in_any_order(bare, {**self.where, pod.key: host.name}, [*placed, pod]):
            return False
        self.world.add(host)
        self.launches.append(launch)
        self._bind(pod, host.name)
        return True

    def _bind(self, pod: Pod, name: str) -> None:
        self.world.bind(pod, name)
        self.where[pod.key] = name

    def _by_price(self) -> list[Fresh]:
        used = usage(self.snapshot, self.launches)
        mentions = mentioned(self.snapshot, self.launches)
        found = fresh_hosts(self.snapshot, self.now, used, mentions)
        return sorted(found, key=lambda one: one.offering.price_nanousd)


def _kinds(snapshot: Snapshot, launch: Launch) -> list[InstanceType]:
    known = kinds_of(snapshot, launch.node_pool)
    return [known[name] for name in launch.instance_types]


def _launch(
    snapshot: Snapshot, now: datetime, fresh: Fresh, pods: tuple[Pod, ...], number: int
) -> Launch:
    """The node as a launch, with every type that would hold the pods as an alternative, unless it
    takes more of a limit.
    """
    limited = [name for name in fresh.pool.limits if name != "nodes"]
    draft = Launch(
        name=f"naive-{number}",
        node_pool=fresh.pool.name,
        instance_type=fresh.kind.name,
        zone=fresh.offering.zone,
        capacity_type=fresh.offering.capacity_type,
        price_nanousd=fresh.offering.price_nanousd,
        instance_types=(fresh.kind.name,),
        requests={},
        pods=tuple(pod.key for pod in pods),
        labels=fresh.host.labels,
        taints=fresh.pool.taints,
        startup_taints=fresh.pool.startup_taints,
        reservation_id=fresh.offering.reservation_id,
        requirements=(
            requirement(well_known.ZONE, "In", [fresh.offering.zone]),
            requirement(well_known.CAPACITY_TYPE, "In", [fresh.offering.capacity_type]),
        ),
    )
    order = Order(snapshot, now, draft, fresh.pool, fresh.kind, pods, mentioned(snapshot, ()))
    others = [
        kind.name
        for kind in snapshot.instance_types[fresh.pool.name]
        if kind is not fresh.kind
        and all(kind.capacity.get(name, 0) <= fresh.kind.capacity.get(name, 0) for name in limited)
        and any(would_do(order, kind, one) for one in kind.offerings)
    ]
    others.sort(key=lambda name: _price(order, kinds_of(snapshot, fresh.pool.name)[name]))
    return msgspec.structs.replace(draft, instance_types=(fresh.kind.name, *others))


def _price(order: Order, kind: InstanceType) -> int:
    return min(one.price_nanousd for one in kind.offerings if delivered(order, kind, one))


def naive(snapshot: Snapshot, now: datetime) -> Plan:
    """A legal plan, made without thinking."""
    case = Case(snapshot, now, Plan())
    draft = _Draft(snapshot, now, case.empty_world.copy())
    left = [pod for pod in case.waiting.values() if excuse(case, pod) is None]
    left.sort(key=lambda pod: -pod.spec.priority)
    while left:
        after = [pod for pod in left if not draft.place(pod)]
        if len(after) == len(left):
            break
        left = after
    return _finished(draft, case)


def _finished(draft: _Draft, case: Case) -> Plan:
    """The draft as a plan, with requests and alternatives for what each node holds in the end."""
    launches = []
    for one in draft.launches:
        pods = tuple(draft.world.bound[one.name])
        total: Counter[str] = Counter()
        host = draft.world.hosts[one.name]
        for spec in (*(pod.spec for pod in pods), *(daemon.spec for daemon in host.daemons)):
            total.update(spec.requests)
        kept = _still_right(draft, one, pods)
        launches.append(
            msgspec.structs.replace(
                one, pods=tuple(pod.key for pod in pods), requests=total, instance_types=kept
            )
        )
    planned = {one.name for one in launches}
    nominations = [
        Nominate(name, tuple(key for key, where in draft.where.items() if where == name))
        for name in dict.fromkeys(draft.where.values())
        if name not in planned
    ]
    return Plan(
        launches=tuple(launches),
        nominations=tuple(nominations),
        unschedulable=tuple(
            Unschedulable(key, "It waits.") for key in case.waiting if key not in draft.where
        ),
        cost=Cost(new_nanousd=sum(one.price_nanousd for one in launches)),
        binding_order=tuple(draft.where),
    )


def _still_right(draft: _Draft, launch: Launch, pods: tuple[Pod, ...]) -> tuple[str, ...]:
    pool = next(one for one in draft.snapshot.node_pools if one.name == launch.node_pool)
    kinds = kinds_of(draft.snapshot, launch.node_pool)
    chosen = kinds[launch.instance_type]
    mentions = mentioned(draft.snapshot, ())
    order = Order(draft.snapshot, draft.now, launch, pool, chosen, pods, mentions)
    return tuple(
        name
        for name in launch.instance_types
        if any(would_do(order, kinds[name], one) for one in kinds[name].offerings)
    )
