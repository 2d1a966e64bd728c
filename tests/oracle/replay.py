"""Can kube-scheduler bind tens of thousands of pods? The same filters, with counts kept.

`scheduler` looks at every bound pod for every pod that comes. Here pods that others see alike (same
namespace and labels) and that ask for the same of others are one kind, and who of whom is counted
where is kept up to date. A test shows that both refuse the same pods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import msgspec

from dovetail.labels import HOSTNAME
from dovetail.model.pod import Pod
from dovetail.model.topology import PodTerm, Spread
from tests.oracle.between import counts_node, hard_spread, spread_selects, term_selects
from tests.oracle.scheduler import ALONE
from tests.oracle.world import Host, World

_Seen = tuple[str, tuple[tuple[str, str], ...]]  # what others see of a pod
_Kind = tuple[_Seen, bytes]


def _seen(pod: Pod) -> _Seen:
    return pod.namespace, tuple(sorted(pod.labels.items()))


def _nobody(_pod: Pod) -> bool:
    return False


def _anywhere(_host: Host) -> bool:
    return True


def _counts(one: Spread, pod: Pod, keys: Sequence[str], host: Host) -> bool:
    """Whether the node takes part in a spread: it has all labels that the pod is spread over."""
    return all(key in host.labels for key in keys) and counts_node(one, pod, host)


def _all_mean(world: World, pod: Pod, other: Pod) -> bool:
    """Whether all that the pod wants to be near to means the other one."""
    return all(term_selects(world, term, pod, other) for term in pod.spec.affinity)


@dataclass
class _Tally:
    """How many pods that are meant run in each domain of a label, on nodes that count."""

    key: str
    means: Callable[[Pod], bool]
    counts: Callable[[Host], bool]
    by_domain: Counter[str] = field(default_factory=Counter)
    domains: set[str] = field(default_factory=set)
    n_all: int = 0
    knows: dict[_Seen, bool] = field(default_factory=dict)

    def is_meant(self, pod: Pod) -> bool:
        seen = _seen(pod)
        if seen not in self.knows:
            self.knows[seen] = self.means(pod)
        return self.knows[seen]

    def add(self, host: Host, count: int) -> None:
        domain = host.labels.get(self.key)
        if domain is not None and self.counts(host):
            self.by_domain[domain] += count
            self.n_all += count

    def here(self, host: Host) -> int:
        domain = host.labels.get(self.key)
        return 0 if domain is None else self.by_domain[domain]


@dataclass
class _Wishes:
    """What a kind of pod asks of others, and what others ask of it."""

    spread: list[tuple[Spread, _Tally, bool]]
    apart: list[_Tally]
    near: list[_Tally]
    is_own_company: bool


class Replay:
    """A world in which pods are bound one by one."""

    def __init__(self, world: World) -> None:
        self._world = World(world.snapshot, dict(world.hosts), {name: [] for name in world.hosts})
        self._tallies: list[_Tally] = []
        self._objecting: dict[tuple[_Kind, int], tuple[Pod, PodTerm, _Tally]] = {}
        self._wishes: dict[_Kind, _Wishes] = {}
        self._objections: dict[_Kind, tuple[int, list[_Tally]]] = {}
        self._asks: dict[int, tuple[Pod, bytes]] = {}
        for name, pods in world.bound.items():
            for pod in pods:
                self.bind(pod, name)

    def bind(self, pod: Pod, name: str) -> None:
        """Put the pod on the node, no questions asked."""
        host, kind = self._world.hosts[name], self._kind(pod)
        self._world.bind(pod, name)
        if pod.deleting_at is not None:
            return
        for tally in self._tallies:
            if tally.is_meant(pod):
                tally.add(host, 1)
        for number, term in enumerate(pod.spec.anti_affinity):
            if (kind, number) not in self._objecting:
                owners = _Tally(term.topology_key, _nobody, _anywhere)
                self._objecting[kind, number] = (pod, term, owners)
            self._objecting[kind, number][2].add(host, 1)

    def refusal(self, pod: Pod, name: str) -> str | None:
        """Why kube-scheduler would not bind the pod to the node; None if it would."""
        world, host = self._world, self._world.hosts[name]
        bound = world.bound[name]
        for one in ALONE:
            reason = one(world, pod, host, bound)
            if reason is not None:
                return reason
        wishes = self._wishes_of(pod)
        return (
            _spread(wishes, host)
            or self._anti_affinity(pod, wishes, host)
            or self._affinity(pod, wishes, host)
        )

    # ------------------------------------------------------------------ what is kept

    def _kind(self, pod: Pod) -> _Kind:
        if id(pod.spec) not in self._asks:
            bare = msgspec.structs.replace(pod.spec, requests={})
            self._asks[id(pod.spec)] = (pod, repr(bare).encode())  # the id stays the pod's own
        return _seen(pod), self._asks[id(pod.spec)][1]

    def _wishes_of(self, pod: Pod) -> _Wishes:
        kind = self._kind(pod)
        if kind not in self._wishes:
            self._wishes[kind] = self._asked(pod)
        return self._wishes[kind]

    def _asked(self, pod: Pod) -> _Wishes:
        world, spec = self._world, pod.spec
        constraints = hard_spread(world, pod)
        keys = [one.topology_key for one in constraints]
        return _Wishes(
            [
                (
                    one,
                    self._tally(
                        one.topology_key,
                        partial(spread_selects, one, pod),
                        partial(_counts, one, pod, keys),
                    ),
                    spread_selects(one, pod, pod),
                )
                for one in constraints
            ],
            [
                self._tally(term.topology_key, partial(term_selects, world, term, pod))
                for term in spec.anti_affinity
            ],
            [
                self._tally(term.topology_key, partial(_all_mean, world, pod))
                for term in spec.affinity
            ],
            _all_mean(world, pod, pod),
        )

    def _tally(
        self,
        key: str,
        means: Callable[[Pod], bool],
        counts: Callable[[Host], bool] = _anywhere,
    ) -> _Tally:
        """A new tally, with everybody counted who is there, and daemon pods that are still to come
        on their own node.
        """
        found = _Tally(key, means, counts)
        for name, host in self._world.hosts.items():
            if not counts(host) or key not in host.labels:
                continue
            found.domains.add(host.labels[key])
            here = sum(
                other.deleting_at is None and found.is_meant(other)
                for other in self._world.bound[name]
            )
            if key == HOSTNAME:
                here += sum(means(other) for other in self._world.coming(host))
            found.add(host, here)
        self._tallies.append(found)
        return found

    # ------------------------------------------------------------------ filters between pods

    def _anti_affinity(self, pod: Pod, wishes: _Wishes, host: Host) -> str | None:
        if any(tally.here(host) for tally in wishes.apart):
            return "anti-affinity to others"
        if any(tally.here(host) for tally in self._objections_to(pod)):
            return "anti-affinity of others"
        for other in self._world.coming(host):
            for term in other.spec.anti_affinity:
                if term.topology_key == HOSTNAME and term_selects(self._world, term, other, pod):
                    return "anti-affinity of a daemon pod that is still to come"
        return None

    def _objections_to(self, pod: Pod) -> list[_Tally]:
        """Where those are whose terms mean this pod."""
        kind = self._kind(pod)
        n_seen, found = self._objections.get(kind, (0, []))
        if n_seen < len(self._objecting):
            held = list(self._objecting.values())[n_seen:]
            found += [
                tally for owner, term, tally in held if term_selects(self._world, term, owner, pod)
            ]
            self._objections[kind] = (len(self._objecting), found)
        return found

    def _affinity(self, pod: Pod, wishes: _Wishes, host: Host) -> str | None:
        terms = pod.spec.affinity
        if any(term.topology_key not in host.labels for term in terms):
            return "affinity: no label"
        if all(tally.here(host) for tally in wishes.near):
            return None
        if wishes.is_own_company and not any(tally.n_all for tally in wishes.near):
            return None
        return "affinity"


def _spread(wishes: _Wishes, host: Host) -> str | None:
    for one, tally, counts_itself in wishes.spread:
        if one.topology_key not in host.labels:
            return f"spread: no label {one.topology_key}"
        lowest = min((tally.by_domain[domain] for domain in tally.domains), default=0)
        if len(tally.domains) < one.min_domains:
            lowest = 0
        if tally.here(host) + counts_itself - lowest > one.max_skew:
            return f"spread over {one.topology_key}"
    return None


def bind_all(world: World, host_by_pod: Mapping[str, str], order: Sequence[Pod]) -> dict[str, str]:
    """Bind whoever passes, in this order and pass after pass; who is left when it stalls."""
    replay = Replay(world)
    waiting: Iterable[Pod] = order
    while True:
        refused: dict[str, str] = {}
        left: list[Pod] = []
        n_bound = 0
        for pod in waiting:
            name = host_by_pod[pod.key]
            reason = replay.refusal(pod, name)
            if reason is None:
                replay.bind(pod, name)
                n_bound += 1
            else:
                refused[pod.key] = f"{name}: {reason}"
                left.append(pod)
        if not left or not n_bound:
            return refused
        waiting = left
