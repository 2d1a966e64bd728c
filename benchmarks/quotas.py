"""How does a mix keep its shares when a few deployments hold most of the pods?"""

from __future__ import annotations

import random
from collections.abc import Mapping


class Quotas:
    """Draws kinds so that each keeps about its percentage of the pods counted so far.

    Independent draws would not: one deployment of a fiftieth of all pods tips every share.
    """

    def __init__(self, percents: Mapping[str, float]) -> None:
        self._percents = {**percents, "": 100 - sum(percents.values())}
        self._n_pods = dict.fromkeys(self._percents, 0)

    def draw(self, size: int, chance: random.Random) -> str:
        """A kind for the next `size` pods, the likelier the further it is behind; "" for none."""
        total = sum(self._n_pods.values()) + size
        behind = {
            kind: max(0.0, percent * total / 100 - self._n_pods[kind])
            for kind, percent in self._percents.items()
        }
        return chance.choices(tuple(behind), tuple(behind.values()))[0]

    def count(self, kind: str, size: int) -> None:
        """Book `size` pods on a kind."""
        self._n_pods[kind] += size
