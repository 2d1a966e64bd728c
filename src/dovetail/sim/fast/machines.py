"""What becomes of a launch? A claim, after a while a node with its daemon pods, in the end nothing.

An instance is paid for from its launch until it has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from functools import partial

import msgspec

from dovetail import labels
from dovetail.decide.prices import price_of, prices
from dovetail.kube.backoff import Chance
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.node import Node
from dovetail.model.plan import Launch
from dovetail.model.pod import Owner, Pod
from dovetail.model.taints import tolerates
from dovetail.sim.fast.cluster import Cluster
from dovetail.sim.filters import wants

_NOT_AT_ALL = timedelta(0)


class Pace(msgspec.Struct, frozen=True):
    """How long a machine takes to start, at least and at most, and to end."""

    starts_after: timedelta = timedelta(seconds=40)
    starts_within: timedelta = timedelta(seconds=70)
    ends_after: timedelta = timedelta(seconds=5)


class Machines:
    """All instances of the cloud. `joined` hears of every node that has started."""

    def __init__(
        self, cluster: Cluster, pace: Pace, chance: Chance, joined: Callable[[str], None]
    ) -> None:
        self._cluster = cluster
        self._pace = pace
        self._chance = chance
        self._joined = joined
        self._prices: dict[str, int] = {}  # of the instances that run, by node

    def adopt(self, nodes: Iterable[Node]) -> None:
        """These run already."""
        known = prices(self._cluster.given)
        for node in nodes:
            self._pay(node.name, price_of(node, known))
            self._cluster.figures.n_nodes += 1
            self._cluster.join(node)

    def launch(self, launch: Launch) -> None:
        """Order a machine; its claim is there at once, its node after a while."""
        cluster, figures = self._cluster, self._cluster.figures
        figures.count("launched", cluster.now)
        self._pay(launch.name, launch.price_nanousd)
        figures.n_nodes += 1
        node = self._claim(launch)
        cluster.put_node(node)
        span = self._pace.starts_within - self._pace.starts_after
        wait = self._pace.starts_after + max(span, _NOT_AT_ALL) * self._chance()
        cluster.agenda.after(wait, partial(self._start, launch.name))

    def end(self, name: str) -> None:
        """End the machine of a node; the node goes with it."""
        self._cluster.agenda.after(self._pace.ends_after, partial(self._stop, name))

    def _pay(self, name: str, price: int) -> None:
        figures = self._cluster.figures
        figures.pass_to(self._cluster.now)
        figures.rate_nanousd += price - self._prices.pop(name, 0)
        if price:
            self._prices[name] = price

    def _claim(self, launch: Launch) -> Node:
        """The node that is to come."""
        cluster = self._cluster
        kind, offering = bought(launch, cluster.given.instance_types[launch.node_pool])
        pool = next(one for one in cluster.given.node_pools if one.name == launch.node_pool)
        held = {
            **fixed_labels(kind, offering),
            **launch.labels,
            labels.NODE_POOL: launch.node_pool,
            labels.HOSTNAME: launch.name,
        }
        return Node(
            name=launch.name,
            labels=held,
            taints=(*launch.taints, *launch.startup_taints),
            startup_taints=launch.startup_taints,
            capacity=kind.capacity,
            allocatable=kind.allocatable,
            node_pool=launch.node_pool,
            node_claim=launch.name,
            provider_id=f"sim://{launch.name}",
            is_registered=False,
            is_initialized=False,
            is_ready=False,
            attach_limits=kind.attach_limits,
            created_at=cluster.now,
            termination_grace_period=pool.termination_grace_period,
        )

    def _start(self, name: str) -> None:
        claim = self._cluster.nodes.get(name)
        if claim is None or claim.deleting_at is not None:
            return
        marks = {labels.REGISTERED: "true", labels.INITIALIZED: "true"}
        starting = set(claim.startup_taints)
        node = msgspec.structs.replace(
            claim,
            labels={**claim.labels, **marks},
            taints=tuple(one for one in claim.taints if one not in starting),
            is_registered=True,
            is_initialized=True,
            is_ready=True,
        )
        self._cluster.join(node)
        for pod in self._daemon_pods(node):
            self._cluster.keepers[pod.key] = DAEMON
            self._cluster.figures.n_pods += 1
            self._cluster.settle(pod)
        self._joined(name)

    def _daemon_pods(self, node: Node) -> Iterator[Pod]:
        for one in self._cluster.given.daemon_sets:
            if tolerates(node.taints, one.spec.tolerations) and wants(one.spec, node):
                name = f"{one.name}-{node.name}"
                yield Pod(
                    name=name,
                    namespace=one.namespace,
                    spec=one.spec,
                    uid=name,
                    labels=one.labels,
                    node_name=node.name,
                    phase="Running",
                    owner=Owner("DaemonSet", one.name, uid=one.uid or one.name),
                    created_at=self._cluster.now,
                    started_at=self._cluster.now,
                )

    def _stop(self, name: str) -> None:
        cluster = self._cluster
        self._pay(name, 0)
        cluster.figures.n_nodes -= 1
        cluster.figures.count("removed", cluster.now)
        cluster.drop_node(name)


class _Daemon:
    """Daemon pods come and go with their nodes."""

    ends_after = timedelta(0)

    def was_bound(self, pod: Pod) -> None:
        """Nobody cares."""

    def became_ready(self, pod: Pod) -> None:
        """Nobody cares."""

    def is_leaving(self, pod: Pod) -> None:
        """Nobody cares."""

    def is_gone(self, pod: Pod) -> None:
        """Nobody cares."""

    def lets_go(self, pod: Pod) -> bool:
        """Nothing guards it."""
        del pod
        return True


DAEMON = _Daemon()


def bought(launch: Launch, types: Iterable[InstanceType]) -> tuple[InstanceType, Offering]:
    """The type and the offering that a launch chose."""
    kind = next(one for one in types if one.name == launch.instance_type)
    offering = next(
        one
        for one in kind.offerings
        if (one.zone, one.capacity_type) == (launch.zone, launch.capacity_type)
    )
    return kind, offering


def fixed_labels(kind: InstanceType, offering: Offering) -> dict[str, str]:
    """The labels of a node of this type, bought so."""
    stated = kind.requirements & offering.requirements
    return {
        one.key: min(one.values) for one in stated.sorted() if one.values and not one.complement
    }
