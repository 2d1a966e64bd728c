"""Tracks which pods are on which node, and the free capacity there."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Mapping

from dovetail.model.node import Node
from dovetail.model.pod import Pod, PodKey, PodSpec
from dovetail.model.resources import CPU
from dovetail.model.taints import repelling_taint
from dovetail.sim.filters import UNSCHEDULABLE, wants

_Likeness = tuple[object, ...]
_MOST_ANSWERS = 1_000  # of a breed that are remembered


class Room:
    """A node and the pods on it; no `node` while only pods speak of it."""

    def __init__(self) -> None:
        self._node: Node | None = None
        self.pods: dict[PodKey, Pod] = {}
        self.used: dict[str, int] = {}
        self._suits: dict[int, tuple[PodSpec, bool]] = {}

    @property
    def node(self) -> Node | None:
        """The node, if there is one."""
        return self._node

    def stand(self, node: Node | None) -> None:
        """The node is like this now."""
        self._node = node
        self._suits.clear()

    def suits(self, spec: PodSpec) -> bool:
        """Whether the node by itself, its labels and taints, is fine for pods of this template."""
        known = self._suits.get(id(spec))
        if known is None:
            known = self._suits[id(spec)] = (spec, self._is_fine(spec))
        return known[1]

    def _is_fine(self, spec: PodSpec) -> bool:
        node = self._node
        if node is None or repelling_taint(node.taints, spec.tolerations) is not None:
            return False
        if (
            node.is_unschedulable
            and repelling_taint((UNSCHEDULABLE,), spec.tolerations) is not None
        ):
            return False
        return wants(spec, node)

    def holds(self, requests: Mapping[str, int], promised: Mapping[str, int]) -> bool:
        """Whether there is room for this beside what is there and what was promised to others."""
        if self._node is None:
            return False
        allocatable, used = self._node.allocatable, self.used
        for name, amount in requests.items():
            if amount > max(
                allocatable.get(name, 0) - used.get(name, 0) - promised.get(name, 0), 0
            ):
                return False
        return True

    def put(self, pod: Pod) -> None:
        """Let a pod be here."""
        self.take(pod.key)
        self.pods[pod.key] = pod
        for name, amount in pod.spec.requests.items():
            self.used[name] = self.used.get(name, 0) + amount

    def take(self, key: PodKey) -> None:
        """Let a pod be here no more."""
        pod = self.pods.pop(key, None)
        for name, amount in pod.spec.requests.items() if pod is not None else ():
            self.used[name] -= amount


class Breed:
    """Pods that nobody can tell apart: one of them, and how many are on which node."""

    def __init__(self, sample: Pod) -> None:
        self.sample = sample
        self.n_by_node: dict[str, int] = {}
        self._answers: dict[tuple[int, int, str], tuple[object, object, bool]] = {}

    def answer(self, rule: object, whose: Pod, work_out: Callable[[], bool]) -> bool:
        """Whether something is so of these pods, which is the same for all pods like this one.

        `rule` must be an object that lives on, such as a constraint of a template.
        """
        key = (id(rule), id(whose.labels), whose.namespace)
        known = self._answers.get(key)
        if known is None:
            if len(self._answers) >= _MOST_ANSWERS:
                self._answers.clear()
            known = self._answers[key] = (rule, whose.labels, work_out())
        return known[2]

    def count(self, node_name: str, n_pods: int) -> None:
        """So many more, or fewer, are there."""
        count = self.n_by_node.get(node_name, 0) + n_pods
        if count:
            self.n_by_node[node_name] = count
        else:
            self.n_by_node.pop(node_name, None)


def _likeness(pod: Pod) -> _Likeness:
    is_leaving = pod.deleting_at is not None
    return (id(pod.spec), pod.namespace, is_leaving, *sorted(pod.labels.items()))


class Rooms:
    """All nodes, by name."""

    def __init__(self) -> None:
        self._rooms: dict[str, Room] = {}
        self._places: dict[PodKey, tuple[str, Breed]] = {}
        self._names: list[str] = []  # of the rooms, in order
        self._breeds: dict[_Likeness, Breed] = {}
        self._choosy: dict[_Likeness, Breed] = {}  # those that keep others away
        self._n_swept = 0
        self._free: list[tuple[int, str]] = []  # how much cpu is left on which node, in order
        self._free_by_name: dict[str, int] = {}

    def put_node(self, node: Node) -> None:
        """A node is like this now."""
        self._room(node.name).stand(node)
        self._measure(node.name)

    def drop_node(self, name: str) -> None:
        """A node is gone; pods may still speak of it."""
        if name in self._rooms:
            self._rooms[name].stand(None)
            self._measure(name)
            self._drop_empty(name)

    def put_pod(self, pod: Pod, node_name: str) -> None:
        """A pod is on that node, and nowhere else."""
        self.drop_pod(pod.key)
        breed = self._breed_of(pod)
        breed.count(node_name, 1)
        self._places[pod.key] = (node_name, breed)
        self._room(node_name).put(pod)
        self._measure(node_name)

    def drop_pod(self, key: PodKey) -> None:
        """A pod is nowhere."""
        place = self._places.pop(key, None)
        if place is not None:
            name, breed = place
            breed.count(name, -1)
            self._rooms[name].take(key)
            self._measure(name)
            self._drop_empty(name)

    def has(self, key: PodKey) -> bool:
        """Whether a pod is anywhere."""
        return key in self._places

    def get(self, name: str) -> Room | None:
        """The room of a node that is there."""
        room = self._rooms.get(name)
        return room if room is not None and room.node is not None else None

    def nodes(self) -> Iterator[tuple[Node, Room]]:
        """Every node that is there, by name."""
        for name in self._names:
            room = self._rooms[name]
            if room.node is not None:
                yield room.node, room

    def nodes_with(self, cpu_millis: int) -> Iterator[tuple[Node, Room]]:
        """Every node that has so much cpu left, in no order that means anything."""
        start = bisect_left(self._free, (cpu_millis, "")) if cpu_millis > 0 else 0
        for _, name in self._free[start:]:
            room = self._rooms[name]
            if room.node is not None:
                yield room.node, room

    def _measure(self, name: str) -> None:
        """Keep the list of what is left where in order."""
        before = self._free_by_name.pop(name, None)
        if before is not None:
            del self._free[bisect_left(self._free, (before, name))]
        room = self.get(name)
        if room is not None and room.node is not None:
            left = room.node.allocatable.get(CPU, 0) - room.used.get(CPU, 0)
            self._free_by_name[name] = left
            insort(self._free, (left, name))

    def breeds(self) -> Iterator[Breed]:
        """Every breed of which there are pods."""
        return (breed for breed in self._breeds.values() if breed.n_by_node)

    def choosy_breeds(self) -> Iterator[Breed]:
        """Those among them that keep others away."""
        return (item for item in self._choosy.values() if item.n_by_node)

    def places(self, breed: Breed) -> Iterator[tuple[Node, int]]:
        """The nodes with pods of a breed, and how many."""
        for name, n_pods in breed.n_by_node.items():
            room = self.get(name)
            if room is not None and room.node is not None:
                yield room.node, n_pods

    def _breed_of(self, pod: Pod) -> Breed:
        likeness = _likeness(pod)
        breed = self._breeds.get(likeness)
        if breed is None:
            self._sweep()
            breed = self._breeds[likeness] = Breed(pod)
            if pod.spec.anti_affinity:
                self._choosy[likeness] = breed
        return breed

    def _sweep(self) -> None:
        """Forget breeds that have died out, once they are many."""
        if len(self._breeds) > 2 * self._n_swept + 100:
            self._breeds = {key: breed for key, breed in self._breeds.items() if breed.n_by_node}
            self._choosy = {key: item for key, item in self._choosy.items() if item.n_by_node}
            self._n_swept = len(self._breeds)

    def _room(self, name: str) -> Room:
        if name not in self._rooms:
            self._rooms[name] = Room()
            insort(self._names, name)
        return self._rooms[name]

    def _drop_empty(self, name: str) -> None:
        room = self._rooms[name]
        if room.node is None and not room.pods:
            del self._rooms[name]
            del self._names[bisect_left(self._names, name)]
