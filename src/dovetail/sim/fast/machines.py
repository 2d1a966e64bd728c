"""Simulates the instances of a cloud: launches, which become nodes with daemon pods, and their end.

An instance is paid for from its launch until it has ended. What a failed launch means for its claim
is decided by the laws of a claim (`decide/lifecycle/claim.py`), as in a live cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import partial

import msgspec

from dovetail.cloud.price_list import Priced
from dovetail.decide.lifecycle.claim import ClaimContext, claim_step
from dovetail.decide.pools import price_of, prices
from dovetail.model.backoff import Chance
from dovetail.model.claim import ClaimObject, ClaimView, LaunchFailed, LaunchFailure
from dovetail.model.node import Node
from dovetail.model.plan import Launch
from dovetail.sim.fast.claimed import claim_of, claimed_node, daemon_pods, started_node
from dovetail.sim.fast.cluster import DAEMON, FastCluster
from dovetail.sim.fast.market import Market, purchase
from dovetail.sim.weather import FAIR, Weather
from dovetail.state.changes import InstanceLaunchEnded, InstanceLaunchFailed

_NOT_AT_ALL = timedelta(0)
_ANSWERS_AFTER = timedelta(seconds=1)  # a cloud that has nothing to sell


class Hearers(msgspec.Struct, frozen=True):
    """Who hears of a node that was ordered, that has started, and that will not come."""

    ordered: Callable[[Node], None]
    joined: Callable[[str], None]
    failed: Callable[[str], None]


class MachinePace(msgspec.Struct, frozen=True):
    """How long a machine takes to start, at least and at most, and to end."""

    starts_after: timedelta = timedelta(seconds=40)
    starts_within: timedelta = timedelta(seconds=70)
    ends_after: timedelta = timedelta(seconds=5)


class Machines:
    """All instances of the cloud."""

    def __init__(
        self,
        cluster: FastCluster,
        pace: MachinePace,
        chance: Chance,
        hearers: Hearers,
        weather: Weather = FAIR,
    ) -> None:
        self._cluster = cluster
        self._pace = pace
        self._chance = chance
        self._hearers = hearers
        self._prices: dict[str, int] = {}  # of the instances that run, by node
        self._market = Market(cluster, weather, self._reprice)
        self.begin = self._market.begin

    def adopt(self, nodes: Iterable[Node]) -> None:
        """These run already, or start."""
        cluster = self._cluster
        known = prices(cluster.given)
        for node in nodes:
            self._pay(node.name, price_of(node, known))
            cluster.figures.n_nodes += 1
            if node.is_initialized:
                cluster.join(node)
            else:
                cluster.put_node(node)
                cluster.agenda.after(self._pace.starts_after, partial(self._start, node.name))

    def launch(self, launch: Launch) -> None:
        """Order a machine; its claim is there at once, its node after a while."""
        cluster, figures = self._cluster, self._cluster.figures
        types = cluster.given.instance_types[launch.node_pool]
        figures.pass_to(cluster.now)
        figures.n_nodes += 1
        cluster.put_node(self._node_of(launch, purchase(launch, types)))
        self._order(launch)

    def end(self, name: str) -> None:
        """End the machine of a node; the node goes with it."""
        self._cluster.agenda.after(self._pace.ends_after, partial(self.lose, name))

    def lose(self, name: str) -> None:
        """A machine is no more, and its node goes with it."""
        cluster = self._cluster
        node = cluster.nodes.get(name)
        if node is None:
            return
        self._pay(name, 0)
        cluster.figures.n_nodes -= 1
        cluster.figures.count("removed", cluster.now)
        cluster.drop_node(name)
        if not node.is_initialized:
            self._hearers.failed(name)

    # ---- orders

    def _order(self, launch: Launch) -> None:
        cluster = self._cluster
        if launch.name not in cluster.nodes:
            return
        if self._market.is_failing(self._chance):
            self._retry_or_fail(launch, LaunchFailure.OTHER)
            return
        choice = self._market.sell(launch)
        if choice is None:
            self._retry_or_fail(launch, LaunchFailure.INSUFFICIENT_CAPACITY)
            return
        cluster.book.apply(InstanceLaunchEnded(launch.name))
        cluster.figures.count("launched", cluster.now)
        self._pay(launch.name, choice.offering.price_nanousd)
        node = self._node_of(launch, choice)
        if node.labels != cluster.nodes[launch.name].labels:
            cluster.put_node(node)
        self._hearers.ordered(node)
        self._boot(launch.name, choice)

    def _retry_or_fail(self, launch: Launch, failure: LaunchFailure) -> None:
        """Try again, or give the claim up, as the laws of a claim have it."""
        cluster, name = self._cluster, launch.name
        cluster.figures.count("failed", cluster.now)
        cluster.book.apply(InstanceLaunchFailed(name))
        claim = claim_of(cluster.nodes[name])
        n_failures = cluster.book.n_failed_launches(name)
        failed = LaunchFailed(failure, str(failure), n_failures=n_failures)
        step = claim_step(ClaimView(claim, outcome=failed), ClaimContext(), cluster.now)
        again_at = step.look_again_at
        if again_at is None or _ends_at(claim, again_at):
            cluster.agenda.after(_ANSWERS_AFTER, partial(self._fail, name))
        else:
            cluster.agenda.at(again_at, partial(self._order, launch))

    def _boot(self, name: str, choice: Priced) -> None:
        span = self._pace.starts_within - self._pace.starts_after
        wait = self._pace.starts_after + max(span, _NOT_AT_ALL) * self._chance()
        slower = self._market.boots_slower_by(choice)
        self._cluster.agenda.after(wait * slower, partial(self._start, name))

    def _fail(self, name: str) -> None:
        """Give a claim up; its pods wait again."""
        cluster = self._cluster
        if name not in cluster.nodes:
            return
        cluster.figures.pass_to(cluster.now)
        cluster.figures.n_nodes -= 1
        cluster.book.apply(InstanceLaunchEnded(name))
        cluster.book.withdraw_all(name)
        cluster.drop_node(name)
        self._hearers.failed(name)
        cluster.touched(True)

    def _reprice(self) -> None:
        """Prices have moved: what runs costs as much from now on."""
        known = prices(self._cluster.given)
        for name in list(self._prices):
            node = self._cluster.nodes.get(name)
            if node is not None:
                self._pay(name, price_of(node, known))

    def _pay(self, name: str, price: int) -> None:
        figures = self._cluster.figures
        figures.pass_to(self._cluster.now)
        figures.rate_nanousd += price - self._prices.pop(name, 0)
        if price:
            self._prices[name] = price

    def _node_of(self, launch: Launch, choice: Priced) -> Node:
        cluster = self._cluster
        pool = next(item for item in cluster.given.node_pools if item.name == launch.node_pool)
        return claimed_node(launch, choice, pool, cluster.now)

    def _start(self, name: str) -> None:
        claim = self._cluster.nodes.get(name)
        if claim is None or claim.deleting_at is not None:
            return
        node = started_node(claim)
        self._cluster.join(node)
        for pod in daemon_pods(node, self._cluster.given.daemon_sets, self._cluster.now):
            self._cluster.keepers[pod.key] = DAEMON
            self._cluster.figures.n_pods += 1
            self._cluster.settle(pod)
        self._hearers.joined(name)


def _ends_at(claim: ClaimObject, moment: datetime) -> bool:
    """Whether a claim that has no instance by then is deleted."""
    return claim_step(ClaimView(claim), ClaimContext(), moment).ends_claim
