"""What can one node of a tiny cluster hold? Every maximal mix of pods, for every offer.

Whatever fits together on a node still fits when a pod is taken away, so the maximal mixes say it
all. Rules within a node (selectors, resources, caps and exclusions by host name) end here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dovetail import labels
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.requirements import Requirements
from dovetail.model.resources import fits
from dovetail.model.snapshot import Snapshot


class Group(NamedTuple):
    """Pods of one template. `excludes` are the groups that may not share a node with it."""

    pods: tuple[Pod, ...]
    per_node: int
    excludes: frozenset[int]

    @property
    def spec(self) -> PodSpec:
        """What all of them ask for."""
        return self.pods[0].spec


class Pattern(NamedTuple):
    """A node: where, for how much, and at most how many pods of each group."""

    zone: str
    price_nanousd: int
    counts: tuple[int, ...]


def groups_of(snapshot: Snapshot) -> list[Group]:
    """The pods by template, in the snapshot's order."""
    pods_by_spec: dict[int, list[Pod]] = {}
    for pod in snapshot.pods:
        pods_by_spec.setdefault(id(pod.spec), []).append(pod)
    all_pods = list(pods_by_spec.values())
    return [
        Group(tuple(pods), _per_node(pods), _excluded(index, all_pods))
        for index, pods in enumerate(all_pods)
    ]


def _per_node(pods: Sequence[Pod]) -> int:
    spec, labels_by_key = pods[0].spec, pods[0].labels
    caps = [one.max_skew for one in spec.spread if one.topology_key == labels.HOSTNAME]
    caps += [1 for term in spec.anti_affinity if term.selector.matches(labels_by_key)]
    return min([len(pods), *caps])


def _excluded(index: int, all_pods: Sequence[Sequence[Pod]]) -> frozenset[int]:
    return frozenset(
        other
        for other, pods in enumerate(all_pods)
        if other != index and (_repels(all_pods[index], pods) or _repels(pods, all_pods[index]))
    )


def _repels(owners: Sequence[Pod], others: Sequence[Pod]) -> bool:
    return any(term.selector.matches(others[0].labels) for term in owners[0].spec.anti_affinity)


def accepts(one: InstanceType, offering: Offering, spec: PodSpec) -> bool:
    """Whether a node of this offering may run such a pod at all."""
    wanted = Requirements.of_labels(spec.node_selector)
    offered = one.requirements & offering.requirements
    return offered.compatible(wanted) and fits(spec.requests, one.allocatable)


def patterns(snapshot: Snapshot, groups: Sequence[Group]) -> list[Pattern]:
    """The mixes worth buying: no other in the zone holds as much for as little."""
    found: dict[str, set[Pattern]] = {}
    for types in snapshot.instance_types.values():
        for one in types:
            for offering in one.offerings:
                allowed = [accepts(one, offering, group.spec) for group in groups]
                for counts in _maximal(one, groups, allowed):
                    pattern = Pattern(offering.zone, offering.price_nanousd, counts)
                    found.setdefault(offering.zone, set()).add(pattern)
    return [kept for zone in sorted(found) for kept in _undominated(found[zone])]


def _undominated(candidates: set[Pattern]) -> list[Pattern]:
    kept: list[Pattern] = []
    by_price = sorted(candidates, key=lambda one: (one.price_nanousd, -sum(one.counts), one.counts))
    for candidate in by_price:
        if not any(_covers(cheaper.counts, candidate.counts) for cheaper in kept):
            kept.append(candidate)
    return kept


def _covers(larger: tuple[int, ...], smaller: tuple[int, ...]) -> bool:
    return all(map(int.__ge__, larger, smaller))


def _maximal(
    one: InstanceType, groups: Sequence[Group], allowed: Sequence[bool]
) -> Iterator[tuple[int, ...]]:
    """Every mix to which no pod can be added."""
    order = sorted(
        (index for index, is_allowed in enumerate(allowed) if is_allowed),
        key=lambda index: -groups[index].spec.requests["cpu"],
    )
    room = _Room(dict(one.allocatable), [0] * len(groups), groups)
    yield from _descend(room, order, 0)


def _descend(room: _Room, order: Sequence[int], depth: int) -> Iterator[tuple[int, ...]]:
    if depth == len(order):
        if any(room.counts) and not any(room.takes(index) for index in order):
            yield tuple(room.counts)
        return
    index = order[depth]
    n_added = 0
    while room.takes(index):
        room.add(index, 1)
        n_added += 1
    while True:
        yield from _descend(room, order, depth + 1)
        if not n_added:
            return
        room.add(index, -1)
        n_added -= 1


class _Room:
    """What a node holds and has left while its mixes are walked through."""

    def __init__(self, left: dict[str, int], counts: list[int], groups: Sequence[Group]) -> None:
        self._left = left
        self._groups = groups
        self.counts = counts

    def takes(self, index: int) -> bool:
        """Whether one more pod of the group fits."""
        group = self._groups[index]
        return (
            self.counts[index] < group.per_node
            and not any(self.counts[other] for other in group.excludes)
            and fits(group.spec.requests, self._left)
        )

    def add(self, index: int, n_pods: int) -> None:
        """Put pods of the group in (or, if negative, take them out)."""
        self.counts[index] += n_pods
        for name, amount in self._groups[index].spec.requests.items():
            self._left[name] -= n_pods * amount
