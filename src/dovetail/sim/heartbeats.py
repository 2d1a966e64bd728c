"""How does a kubelet show that it lives? It renews a Lease of its node's name.

A real kubelet renews every 10 seconds a lease of 40. That would be a hundred writes a second for a
thousand idle nodes, so the stand-ins renew every 20: one renewal may fail and the lease still
holds. An eighth of the nodes is renewed at a time, which keeps the rate even.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dovetail import api
from dovetail.clock import Clock, Timer
from dovetail.kube.errors import AlreadyExistsError, NotFoundError
from dovetail.kube.seam import Body, Json, Kube, Patch, Ref
from dovetail.sim import wire

NAMESPACE: Final = "kube-node-lease"
_LASTS_SECONDS: Final = 40
_N_TURNS: Final = 8


class Heartbeats:
    """The leases of some nodes, renewed in turns."""

    def __init__(self, kube: Kube, clock: Clock) -> None:
        self._kube = kube
        self._clock = clock
        self._turns: tuple[dict[str, None], ...] = tuple({} for _ in range(_N_TURNS))
        self._turn_by_node: dict[str, int] = {}
        self._n_joined = 0

    def join(self, node_name: str) -> bool:
        """Renew for this node from now on; whether it is new here."""
        if node_name in self._turn_by_node:
            return False
        turn = self._turn_by_node[node_name] = self._n_joined % _N_TURNS
        self._turns[turn][node_name] = None
        self._n_joined += 1
        return True

    def leave(self, node_name: str) -> None:
        """Renew no more. The lease itself goes with its node, which owns it."""
        turn = self._turn_by_node.pop(node_name, None)
        if turn is not None:
            del self._turns[turn][node_name]

    async def run(self, timer: Timer, every_seconds: float, tell: Callable[[str], None]) -> None:
        """Name every node once in so many seconds, until cancelled."""
        while True:
            for names in self._turns:
                await timer.sleep(every_seconds / _N_TURNS)
                for name in names:
                    tell(name)

    async def renew(self, node: api.Object) -> None:
        """Write that the node lives. Raises ApiError."""
        name = node.metadata.name
        renewed: dict[str, Json] = {"renewTime": wire.fine_stamp(self._clock.now())}
        try:
            await self._kube.patch(Ref(wire.LEASE, name, NAMESPACE), Patch({"spec": renewed}))
        except NotFoundError:
            await self._make(node, renewed)

    async def _make(self, node: api.Object, renewed: dict[str, Json]) -> None:
        name = node.metadata.name
        body: Body = {
            "apiVersion": wire.LEASE.api_version,
            "kind": wire.LEASE.name,
            "metadata": {
                "name": name,
                "ownerReferences": [wire.owner(node, wire.NODE, controls=False)],
            },
            "spec": {"holderIdentity": name, "leaseDurationSeconds": _LASTS_SECONDS, **renewed},
        }
        try:
            await self._kube.create(wire.LEASE, body, NAMESPACE)
        except AlreadyExistsError:
            return  # another renewal was faster
