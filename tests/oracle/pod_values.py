"""Does a bound by patterns hold? Every offer's knapsack is solved again, independently of `solve`.

Two forms. Values of pods: if no pods that fit a node together are worth more than the node costs,
all pods are worth no more than any plan. A count: pods that are all alike need nodes that hold so
many of them. In both a pod that fits an existing node counts as nothing, and a node that costs as
much as the plan is not part of a cheaper one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from dovetail.model.pod import Pod
from tests.oracle import filters
from tests.oracle.between import exclude
from tests.oracle.hosts import ATTACH, capacity
from tests.oracle.knapsacks import PodKind, is_worth_more

if TYPE_CHECKING:
    from tests.oracle.certificate import Proof

Asked: TypeAlias = tuple[int, ...]
EVERY = 1 << 62  # more than any pods attach


def broken_values(proof: Proof) -> Iterator[str]:
    """What is wrong with a certificate that states what pods are worth."""
    listed = [key for one in proof.certificate.pod_values for key in one.pods]
    known = {pod.key for pod in proof.snapshot.pods}
    yield from (f"{key} is worth something twice" for key, n in Counter(listed).items() if n > 1)
    yield from (f"{key} is worth something and is not there" for key in listed if key not in known)
    if any(one.nanousd < 0 for one in proof.certificate.pod_values):
        yield "a pod is worth less than nothing"
        return
    worth = {key: one.nanousd for one in proof.certificate.pod_values for key in one.pods}
    pods = [pod for pod in proof.pods if not proof.fits_existing(pod)]
    proven = min(sum(worth.get(pod.key, 0) for pod in pods), proof.price)
    if proof.certificate.bound_nanousd > proven:
        yield f"bound {proof.certificate.bound_nanousd} is not proven, only {proven} is"
    yield from _overfull(proof, [pod for pod in pods if worth.get(pod.key, 0)], worth)


def _overfull(proof: Proof, pods: list[Pod], worth: dict[str, int]) -> Iterator[str]:
    """The offers on which pods are worth more than a node costs."""
    sorts = Sorts.of(proof, pods)
    members: dict[tuple[object, ...], list[Pod]] = {}
    for pod in pods:
        key = (
            worth[pod.key],
            sorts.asked[pod.key],
            tuple(proof.accepted[pod.key]),
            sorts.row_of(pod),
        )
        members.setdefault(key, []).append(pod)
    kinds = list(members.values())
    number = {pod.key: place for place, alike in enumerate(kinds) for pod in alike}
    apart = [frozenset(number[one.key] for one in sorts.kept_apart(alike[0])) for alike in kinds]
    takers = [frozenset(proof.accepted[alike[0].key]) for alike in kinds]
    cleared: list[tuple[frozenset[int], Asked]] = []
    for price, position in _cheapest_first(proof):
        room = sorts.room(position)
        taken = frozenset(place for place, some in enumerate(takers) if position in some)
        if any(
            taken <= other and all(a <= b for a, b in zip(room, more, strict=True))
            for other, more in cleared
        ):
            continue  # a cheaper node that holds at least as much was looked at
        asked = [
            PodKind(
                sorts.asked[alike[0].key],
                worth[alike[0].key],
                len(alike) if place in taken else 0,
                apart[place],
            )
            for place, alike in enumerate(kinds)
        ]
        if is_worth_more(asked, room, price):
            yield f"pods on {_name(proof, position)} can be worth more than the {price} it costs"
            return
        cleared.append((taken, room))


def broken_count(proof: Proof) -> Iterator[str]:
    """What is wrong with a certificate that counts pods which are all alike.

    It does not say which pods it counts: the most that any pods alike prove must do.
    """
    pods = [pod for pod in proof.pods if not proof.fits_existing(pod)]
    sorts = Sorts.of(proof, pods)
    alike: dict[tuple[object, ...], list[Pod]] = {}
    for pod in pods:
        key = (sorts.asked[pod.key], tuple(proof.accepted[pod.key]), sorts.row_of(pod))
        alike.setdefault(key, []).append(pod)
    proven = max((_counted(proof, sorts, some) for some in alike.values()), default=0)
    if proof.certificate.bound_nanousd > proven:
        yield f"bound {proof.certificate.bound_nanousd} is not proven, only {proven} is"


def _counted(proof: Proof, sorts: Sorts, pods: list[Pod]) -> int:
    """The least that nodes cost which hold these pods, if all are alike."""
    most = 1 if sorts.is_alone(pods[0]) else len(pods)
    asked, takers = sorts.asked[pods[0].key], frozenset(proof.accepted[pods[0].key])
    nodes = [
        (min(most, _held(asked, sorts.room(position))), price)
        for price, position in _cheapest_first(proof)
        if position in takers
    ]
    return least_price(nodes, len(pods), proof.price)


def least_price(nodes: list[tuple[int, int]], count: int, most: int) -> int:
    """The least that nodes cost which hold so many pods together, `most` at most. `nodes`: how many
    each holds, and its price.
    """
    useful = [(held, price) for held, price in nodes if held > 0]
    best: list[int] = [0]
    for n in range(1, count + 1):
        best.append(min([best[max(0, n - held)] + price for held, price in useful] + [most]))
    return best[count]


def _held(asked: Asked, room: Asked) -> int:
    return min([free // each for each, free in zip(asked, room, strict=True) if each > 0] + [EVERY])


def _cheapest_first(proof: Proof) -> list[tuple[int, int]]:
    """Price and position of every offer that might be part of a cheaper plan."""
    prices = [
        (offer.offering.price_nanousd, position) for position, offer in enumerate(proof.offers)
    ]
    return sorted(one for one in prices if one[0] < proof.price)


def _name(proof: Proof, position: int) -> str:
    offer = proof.offers[position]
    return f"{offer.pool.name}/{offer.kind.name} in {offer.offering.zone}"


@dataclass(frozen=True)
class Sorts:
    """What pods ask for, and which of them never share a node."""

    proof: Proof
    resources: tuple[str, ...]
    asked: dict[str, Asked]
    class_of: dict[str, int]
    classes: list[list[Pod]]
    rows: list[frozenset[int]]

    @classmethod
    def of(cls, proof: Proof, pods: list[Pod]) -> Sorts:
        """What there is to know of these pods."""
        wanted = {pod.key: _wanted(proof, pod) for pod in pods}
        resources = tuple(sorted({name for one in wanted.values() for name in one}))
        asked = {key: tuple(one.get(name, 0) for name in resources) for key, one in wanted.items()}
        alike: dict[tuple[object, ...], list[Pod]] = {}
        for pod in pods:
            key = (id(pod.spec), pod.namespace, tuple(sorted(pod.labels.items())))
            alike.setdefault(key, []).append(pod)
        classes = list(alike.values())
        class_of = {pod.key: place for place, some in enumerate(classes) for pod in some}
        rows = [
            frozenset(
                other
                for other, theirs in enumerate(classes)
                if exclude(proof.world, mine[0], theirs[-1])
            )
            for mine in classes
        ]
        return cls(proof, resources, asked, class_of, classes, rows)

    def row_of(self, pod: Pod) -> frozenset[int]:
        """The classes of pods with which it never shares a node."""
        return self.rows[self.class_of[pod.key]]

    def is_alone(self, pod: Pod) -> bool:
        """Whether a node takes only one pod of its class."""
        return self.class_of[pod.key] in self.row_of(pod)

    def kept_apart(self, pod: Pod) -> list[Pod]:
        """The pods with which it never shares a node; itself stands for others of its class."""
        return [other for place in sorted(self.row_of(pod)) for other in self.classes[place]]

    def room(self, position: int) -> Asked:
        """What an empty node of an offer has of each resource."""
        host = self.proof.offers[position].host
        rooms = (capacity(host, name) for name in self.resources)
        return tuple(EVERY if room is None else room for room in rooms)


def _wanted(proof: Proof, pod: Pod) -> dict[str, int]:
    """What a pod takes; a volume that several pods share counts for one of them."""
    found = {name: amount for name, amount in pod.spec.requests.items() if amount > 0}
    for driver, claim in filters.attachments(proof.world, pod):
        if proof.owner_of_claim[claim] == pod.key:
            found[ATTACH + driver] = found.get(ATTACH + driver, 0) + 1
    return found
