"""Defines where pods can be placed: nodes that exist, and claims that are being filled."""

from __future__ import annotations

from collections.abc import Mapping

from dovetail import labels
from dovetail.model.node import Node
from dovetail.model.pod import Pod
from dovetail.model.requirements import Requirements
from dovetail.model.taints import Taint, repelling_taint
from dovetail.sim.reference.menus import Bits, Menu, PodDemand


class HostPlace:
    """A node that is there, and what is free on it once all its daemon pods have come."""

    def __init__(self, node: Node, taints: tuple[Taint, ...], free: dict[str, int]) -> None:
        self.node = node
        self.name = node.name
        self.labels: Mapping[str, str] = {labels.HOSTNAME: node.name, **node.labels}
        self.taints = taints
        self.free = free
        self.pods: dict[str, Pod] = {}
        self._offered = Requirements.of_labels(self.labels)
        self._accepts: dict[int, tuple[PodDemand, bool]] = {}

    def domain(self, key: str) -> str | None:
        """The node's value of a topology key."""
        return self.labels.get(key)

    def domains(self, key: str) -> frozenset[str]:
        """The same as a set."""
        value = self.labels.get(key)
        return frozenset() if value is None else frozenset({value})

    def take(self, requests: Mapping[str, int], sign: int = 1) -> None:
        """Let go of room, or give it back."""
        for name, amount in requests.items():
            self.free[name] = self.free.get(name, 0) - sign * amount

    def has_room(self, requests: Mapping[str, int]) -> bool:
        """Whether all of it is free."""
        free = self.free
        return all(amount <= free.get(name, 0) for name, amount in requests.items() if amount > 0)

    def accepts(self, demand: PodDemand) -> bool:
        """Whether taints and labels are no obstacle."""
        known = self._accepts.get(id(demand))
        if known is None:
            is_fine = repelling_taint(self.taints, demand.tolerations, soft=True) is None
            is_fine = is_fine and self._offered.compatible(demand.requirements)
            known = self._accepts[id(demand)] = (demand, is_fine)
        return known[1]


class Claim:
    """A node that is being put together: it takes pods as long as any type would hold them."""

    def __init__(self, name: str, menu: Menu, bits: Bits) -> None:
        self.name = name
        self.menu = menu
        self.requirements = menu.requirements
        self.bits = bits
        self.requests: dict[str, int] = {}
        self.pods: list[Pod] = []

    def domain(self, key: str) -> str | None:
        """The value of a topology key, if there is only one that it can have."""
        domains = self.domains(key)
        return next(iter(domains)) if len(domains) == 1 else None

    def domains(self, key: str) -> frozenset[str]:
        """All values of a topology key that it can have."""
        if key == labels.HOSTNAME:
            return frozenset({self.name})
        requirement = self.requirements.get(key)
        if requirement is None or requirement.complement:
            return self.menu.domains(key, self.requirements)
        return requirement.values
