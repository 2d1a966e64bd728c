"""Which pods are on which node, and how much is left there? What a scheduler looks at."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

from dovetail.model.node import Node
from dovetail.model.pod import Pod, PodKey


class Room:
    """A node and the pods on it; no `node` while only pods speak of it."""

    def __init__(self) -> None:
        self.node: Node | None = None
        self.pods: dict[PodKey, Pod] = {}
        self.used: dict[str, int] = {}

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


class Rooms:
    """All nodes, by name."""

    def __init__(self) -> None:
        self._rooms: dict[str, Room] = {}
        self._places: dict[PodKey, str] = {}
        self._names: list[str] = []  # of the rooms, in order
        self._choosy: dict[PodKey, Pod] = {}  # pods that keep others away

    def put_node(self, node: Node) -> None:
        """A node is like this now."""
        self._room(node.name).node = node

    def drop_node(self, name: str) -> None:
        """A node is gone; pods may still speak of it."""
        if name in self._rooms:
            self._rooms[name].node = None
            self._tidy(name)

    def put_pod(self, pod: Pod, node_name: str) -> None:
        """A pod is on that node, and nowhere else."""
        self.drop_pod(pod.key)
        self._places[pod.key] = node_name
        self._room(node_name).put(pod)
        if pod.spec.anti_affinity:
            self._choosy[pod.key] = pod

    def drop_pod(self, key: PodKey) -> None:
        """A pod is nowhere."""
        name = self._places.pop(key, None)
        self._choosy.pop(key, None)
        if name is not None:
            self._rooms[name].take(key)
            self._tidy(name)

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

    def pods(self) -> list[tuple[Pod, Node]]:
        """Every pod on a node that is there."""
        return [(pod, node) for node, room in self.nodes() for pod in room.pods.values()]

    def choosy_pods(self) -> list[tuple[Pod, Node]]:
        """Those among them that keep others away."""
        found = [(pod, self.get(self._places[key])) for key, pod in self._choosy.items()]
        return [(pod, room.node) for pod, room in found if room is not None and room.node]

    def _room(self, name: str) -> Room:
        if name not in self._rooms:
            self._rooms[name] = Room()
            insort(self._names, name)
        return self._rooms[name]

    def _tidy(self, name: str) -> None:
        room = self._rooms[name]
        if room.node is None and not room.pods:
            del self._rooms[name]
            del self._names[bisect_left(self._names, name)]
