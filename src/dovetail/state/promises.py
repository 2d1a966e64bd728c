"""Who was promised which node? Found by pod, and by node without looking at all the others."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec

from dovetail.state.shelf import Key


class Promise(msgspec.Struct, frozen=True, gc=False):
    """A nomination. `target` is a node or, before it has one, a claim; `bound_to` is the node from
    which the pod will move, `is_starting` whether the target had yet to start when last seen.
    """

    uid: str
    target: str
    until: datetime
    bound_to: str
    is_starting: bool


class Promises:
    """One for each pod at most."""

    def __init__(self) -> None:
        self._by_pod: dict[Key, Promise] = {}
        self._pods_by_target: dict[str, dict[Key, None]] = {}

    def get(self, key: Key) -> Promise | None:
        """What a pod was promised."""
        return self._by_pod.get(key)

    def put(self, key: Key, promise: Promise) -> None:
        """A later promise takes the place of an earlier one."""
        self.drop(key)
        self._by_pod[key] = promise
        self._pods_by_target.setdefault(promise.target, {})[key] = None

    def drop(self, key: Key) -> None:
        """It is kept, or taken back."""
        held = self._by_pod.pop(key, None)
        if held is None:
            return
        pods = self._pods_by_target[held.target]
        del pods[key]
        if not pods:
            del self._pods_by_target[held.target]

    def pods(self, target: str) -> tuple[Key, ...]:
        """The pods that were promised this node."""
        return tuple(self._pods_by_target.get(target, ()))

    def items(self) -> Iterator[tuple[Key, Promise]]:
        """Every promise, in order of pods."""
        return iter(sorted(self._by_pod.items()))
