"""Compares a plan with what a scenario expects, and words what differs.

Pods are named `web-0`, `web-*` or `namespace/web-*`. A name that no pod has is a difference, so
that a slip of the pen cannot pass. Whatever `unschedulable` does not list must have been placed,
and whatever `disruptions` does not list must stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from dovetail import labels
from dovetail.model.plan import Launch, Plan
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Blocker, Reason, Unschedulable
from dovetail.testing import shorthand
from dovetail.testing.departures import (
    WantBlocked,
    WantDisruption,
    blocked_differences,
    disruption_differences,
    proposal_differences,
)
from dovetail.units import money


class PodPlace(msgspec.Struct, frozen=True):
    """The node a pod stands on, with all its labels; `is_new` if the plan launches it."""

    node: str
    labels: Mapping[str, str]
    is_new: bool

    def domain(self, topology_key: str) -> str:
        """Its value of a topology key; empty if it has none."""
        return self.labels.get(topology_key, "")


class Arrangement(msgspec.Struct, frozen=True):
    """A cluster and the plan for it, with the place of every pod that has one."""

    snapshot: Snapshot
    plan: Plan
    places: Mapping[str, PodPlace]

    def names_of(self, patterns: Iterable[str]) -> list[str]:
        """The pods that any of the patterns names; `web-*` means those of namespace default."""
        full = [text if "/" in text else f"default/{text}" for text in patterns]
        keys = [pod.key for pod in self.snapshot.pods]
        return [key for key in keys if any(fnmatchcase(key, text) for text in full)]


def launched_labels(launch: Launch) -> dict[str, str]:
    """All labels of a node that the plan launches."""
    return {
        **launch.labels,
        labels.HOSTNAME: launch.name,
        labels.ZONE: launch.zone,
        labels.CAPACITY_TYPE: launch.capacity_type,
        labels.NODE_POOL: launch.node_pool,
        labels.INSTANCE_TYPE: launch.instance_type,
    }


def arrangement(snapshot: Snapshot, plan: Plan) -> Arrangement:
    """The cluster as it will be: bound pods where they are, planned ones where they go."""
    there = {
        node.name: PodPlace(node.name, {labels.HOSTNAME: node.name, **node.labels}, is_new=False)
        for node in snapshot.nodes
    }
    places = {
        pod.key: there[pod.node_name]
        for pod in snapshot.pods
        if pod.node_name in there and not pod.is_terminal and pod.deleting_at is None
    }
    for launch in plan.launches:
        there[launch.name] = PodPlace(launch.name, launched_labels(launch), is_new=True)
        places |= dict.fromkeys(launch.pods, there[launch.name])
    for nomination in plan.nominations:
        places |= dict.fromkeys(nomination.pods, there[nomination.node])
    return Arrangement(snapshot, plan, places)


class WantLaunch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A new node, as far as the scenario cares. `pods` names all pods on it, `types` all its
    instance types in order, `among_types` some of them.
    """

    type: str | None = None
    pool: str | None = None
    zone: str | None = None
    capacity_type: str | None = None
    reservation_id: str | None = None
    price: float | None = None
    n_pods: int | None = None
    pods: list[str] | None = None
    types: list[str] | None = None
    among_types: list[str] = []
    at_least_types: int = 0
    labels: dict[str, str] = {}
    is_min_values_relaxed: bool | None = None

    def fits(self, launch: Launch, result: Arrangement) -> bool:
        """Whether this launch is such a node."""
        return (
            self._shape_fits(launch)
            and self._choice_fits(launch)
            and self._pods_fit(launch, result)
        )

    def _shape_fits(self, launch: Launch) -> bool:
        price = None if self.price is None else money.nanousd(self.price)
        stated = (
            (self.type, launch.instance_type),
            (self.pool, launch.node_pool),
            (self.zone, launch.zone),
            (self.capacity_type, launch.capacity_type),
            (self.reservation_id, launch.reservation_id),
            (self.is_min_values_relaxed, launch.is_min_values_relaxed),
            (price, launch.price_nanousd),
        )
        return all(wanted is None or wanted == got for wanted, got in stated)

    def _choice_fits(self, launch: Launch) -> bool:
        carried = launched_labels(launch)
        return (
            (self.types is None or tuple(self.types) == launch.instance_types)
            and set(self.among_types) <= set(launch.instance_types)
            and self.at_least_types <= len(launch.instance_types)
            and shorthand.keys(self.labels).items() <= carried.items()
        )

    def _pods_fit(self, launch: Launch, result: Arrangement) -> bool:
        if self.n_pods is not None and self.n_pods != len(launch.pods):
            return False
        return self.pods is None or set(result.names_of(self.pods)) == set(launch.pods)


class WantCounts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many of these pods stand in each domain, running ones included.

    `by_domain` names the domains, `sizes` only the counts (largest first), `max_skew` bounds the
    difference between the fullest and the emptiest domain that has any, `among` bounds the choice.
    """

    pods: list[str]
    topology_key: str = "zone"
    by_domain: dict[str, int] | None = None
    sizes: list[int] | None = None
    max_skew: int | None = None
    among: list[str] | None = None

    def differences(self, result: Arrangement) -> Iterator[str]:
        """What differs."""
        key = shorthand.key(self.topology_key)
        placed = [result.places[pod] for pod in result.names_of(self.pods) if pod in result.places]
        counts = Counter(place.domain(key) for place in placed)
        got = f"{', '.join(self.pods)} by {self.topology_key} stand {dict(sorted(counts.items()))}"
        if not counts:
            yield f"{', '.join(self.pods)} stand nowhere"
            return
        if self.by_domain is not None and dict(counts) != self.by_domain:
            yield f"{got}, not {self.by_domain}"
        if self.sizes is not None and sorted(counts.values(), reverse=True) != self.sizes:
            yield f"{got}, not in groups of {self.sizes}"
        if (
            self.max_skew is not None
            and max(counts.values()) - min(counts.values()) > self.max_skew
        ):
            yield f"{got}, further apart than {self.max_skew}"
        if self.among is not None and not counts.keys() <= set(self.among):
            yield f"{got}, not only among {self.among}"


class WantWaiting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Pods that stay waiting: why, a part of what is said about them, and a part of the remedy.

    `n_pods` says how many of the named pods wait, where which of them does not matter.
    """

    reason: Reason
    says: str = ""
    fix: str = ""
    n_pods: int | None = None


class Want(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a plan must hold."""

    nodes: int | None = None
    price: float | None = None
    price_at_most: float | None = None
    pools: dict[str, int] = {}
    launches: list[WantLaunch] | None = None
    placed_on: dict[str, str | list[str]] = {}
    together: list[list[str]] = []
    apart: list[list[str]] = []
    counts: list[WantCounts] = []
    unschedulable: dict[str, Reason | WantWaiting] = {}
    disruptions: list[WantDisruption] | None = None
    proposals: list[str] | None = None
    blocked: dict[str, Blocker | WantBlocked] | None = None
    stays: dict[str, Blocker | WantBlocked] = {}
    wake_at: datetime | None = None

    def differences(self, snapshot: Snapshot, plan: Plan) -> list[str]:
        """Every way in which the plan is not what was wanted; empty if it is."""
        result = arrangement(snapshot, plan)
        return [line for law in _LAWS for line in law(self, result)]


def _pods_exist(want: Want, result: Arrangement) -> Iterator[str]:
    named = [*want.placed_on, *want.unschedulable]
    named += [pod for pods in (*want.together, *want.apart) for pod in pods]
    named += [pod for counts in want.counts for pod in counts.pods]
    named += [pod for launch in want.launches or () for pod in launch.pods or ()]
    for pattern in dict.fromkeys(named):
        if not result.names_of([pattern]):
            yield f"the scenario has no pod called {pattern}"


def _nodes(want: Want, result: Arrangement) -> Iterator[str]:
    launches = result.plan.launches
    if want.nodes is not None and want.nodes != len(launches):
        yield f"wanted {want.nodes} new nodes, got {len(launches)}: {_launches_text(launches)}"
    got = Counter(launch.node_pool for launch in launches)
    for pool, n_nodes in want.pools.items():
        if got[pool] != n_nodes:
            yield f"wanted {n_nodes} new nodes of pool {pool}, got {got[pool]}"


def _price(want: Want, result: Arrangement) -> Iterator[str]:
    got = result.plan.cost.new_nanousd
    if want.price is not None and got != money.nanousd(want.price):
        yield f"wanted ${want.price} an hour, got ${money.dollars(got)}"
    if want.price_at_most is not None and got > money.nanousd(want.price_at_most):
        yield f"wanted at most ${want.price_at_most} an hour, got ${money.dollars(got)}"


def _launches(want: Want, result: Arrangement) -> Iterator[str]:
    if want.launches is None:
        return
    launches = result.plan.launches
    if len(want.launches) != len(launches) or not _assignable(want.launches, launches, result):
        wanted = msgspec.json.encode(want.launches).decode()
        yield f"wanted the new nodes {wanted}, got {_launches_text(launches)}"


def _assignable(wanted: list[WantLaunch], left: Sequence[Launch], result: Arrangement) -> bool:
    """Whether each wanted node can be given a launch of its own."""
    if not wanted:
        return True
    first, *rest = wanted
    return any(
        first.fits(launch, result)
        and _assignable(rest, [*left[:index], *left[index + 1 :]], result)
        for index, launch in enumerate(left)
    )


def _placed_on(want: Want, result: Arrangement) -> Iterator[str]:
    for pattern, allowed in want.placed_on.items():
        nodes = [allowed] if isinstance(allowed, str) else allowed
        for pod in result.names_of([pattern]):
            got = result.places[pod].node if pod in result.places else "no node"
            if got not in nodes:
                yield f"wanted {pod} on {' or '.join(nodes)}, got {got}"


def _company(want: Want, result: Arrangement) -> Iterator[str]:
    for patterns in want.together:
        nodes = _nodes_of(patterns, result)
        if len(set(nodes)) != 1:
            yield f"wanted {', '.join(patterns)} together, got them on {sorted(set(nodes))}"
    for patterns in want.apart:
        nodes = _nodes_of(patterns, result)
        if len(set(nodes)) != len(nodes):
            yield f"wanted {', '.join(patterns)} apart, got them on {sorted(nodes)}"


def _nodes_of(patterns: list[str], result: Arrangement) -> list[str]:
    pods = result.names_of(patterns)
    return [result.places[pod].node if pod in result.places else f"no node ({pod})" for pod in pods]


def _counts(want: Want, result: Arrangement) -> Iterator[str]:
    for counts in want.counts:
        yield from counts.differences(result)


def _unschedulable(want: Want, result: Arrangement) -> Iterator[str]:
    waiting = {verdict.pod: verdict for verdict in result.plan.unschedulable}
    expected: set[str] = set()
    for pattern, written in want.unschedulable.items():
        wanted = WantWaiting(written) if isinstance(written, Reason) else written
        pods = result.names_of([pattern])
        verdicts = [waiting[pod] for pod in pods if pod in waiting]
        n_wanted = len(pods) if wanted.n_pods is None else wanted.n_pods
        if len(verdicts) != n_wanted:
            names = [verdict.pod for verdict in verdicts]
            yield f"wanted {n_wanted} of {pattern} to wait, got {names}"
        for verdict in verdicts:
            yield from _pod_differences(wanted, verdict)
        expected.update(pods)
    for pod, got in waiting.items():
        if pod not in expected:
            yield f"{pod} was to be placed, but: {got.summary}"


def _departures(want: Want, result: Arrangement) -> Iterator[str]:
    plan = result.plan
    yield from disruption_differences(want.disruptions or (), plan)
    if want.proposals is not None:
        yield from proposal_differences(want.proposals, plan)
    if want.blocked is not None:
        yield from blocked_differences(want.blocked, plan)
    if want.wake_at is not None and want.wake_at != plan.wake_at:
        yield f"wanted to be asked again at {want.wake_at}, got {plan.wake_at}"


def _pods_unaccounted(_want: Want, result: Arrangement) -> Iterator[str]:
    told = {verdict.pod for verdict in result.plan.unschedulable}
    for pod in result.snapshot.pods:
        gone = pod.is_terminal or pod.deleting_at is not None or pod.is_daemon or pod.is_mirror
        if gone or pod.node_name or pod.nominated_node_name:
            continue
        if pod.key not in told and pod.key not in result.places:
            yield f"{pod.key} was neither placed nor explained"


def _pod_differences(expected: WantWaiting, got: Unschedulable) -> Iterator[str]:
    reasons = sorted({reason.reason for reason in got.reasons})
    if expected.reason not in reasons:
        yield f"{got.pod} was to wait for {expected.reason}, got {reasons}: {got.summary}"
    stated = " ".join([got.summary, *(reason.message for reason in got.reasons)])
    if expected.says not in stated:
        yield f"{got.pod}: wanted {expected.says!r} to be said, got: {stated}"
    if expected.fix not in got.fix:
        yield f"{got.pod}: wanted the remedy {expected.fix!r}, got {got.fix!r}"


def _launches_text(launches: Sequence[Launch]) -> str:
    lines = [
        f"{launch.instance_type} {launch.capacity_type} in {launch.zone} of {launch.node_pool}"
        f" for {', '.join(launch.pods)}"
        for launch in launches
    ]
    return "; ".join(lines) or "none"


_LAWS: Final[tuple[Callable[[Want, Arrangement], Iterator[str]], ...]] = (
    _pods_exist,
    _nodes,
    _price,
    _launches,
    _placed_on,
    _company,
    _counts,
    _unschedulable,
    _departures,
    _pods_unaccounted,
)
