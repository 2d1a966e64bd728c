"""Defines what a scenario says of instance types, pools and nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from dovetail import labels
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.node import Condition, Node
from dovetail.model.pod import Pod
from dovetail.model.pool import ConsolidationPolicy, Disruption, NodeClassRef, NodePool
from dovetail.model.requirements import Requirement, Requirements
from dovetail.model.resources import PODS, subtract
from dovetail.model.verdict import Problem, Reason
from dovetail.testing import shorthand
from dovetail.testing.keeping import GivenBudget, disruption, span
from dovetail.testing.pods import GivenPod, Quantity
from dovetail.units import duration, money

_CONSOLIDATABLE: Final = Condition("Consolidatable", "True")


class GivenOffering(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way to get an instance type, in full."""

    zone: str
    price: float
    capacity_type: str = labels.ON_DEMAND
    is_available: bool = True
    reservation_id: str = ""
    reservation_capacity: int = 0

    def offering(self) -> Offering:
        """The offering."""
        fixed = {labels.ZONE: self.zone, labels.CAPACITY_TYPE: self.capacity_type}
        if self.reservation_id:
            fixed[labels.RESERVATION_ID] = self.reservation_id
        return Offering(
            zone=self.zone,
            capacity_type=self.capacity_type,
            price_nanousd=money.nanousd(self.price),
            requirements=Requirements.of_labels(fixed),
            is_available=self.is_available,
            reservation_id=self.reservation_id,
            reservation_capacity=self.reservation_capacity,
        )


class GivenType(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An instance type: `price` on demand and, if given, `spot`, the same in every zone.

    `offerings` come on top. Nothing is kept for the system unless `overhead` says so, so that the
    sums of a scenario can be checked in one's head.
    """

    cpu: Quantity = 2
    memory: Quantity = "8Gi"
    pods: int = 110
    resources: dict[str, Quantity] = {}
    overhead: dict[str, Quantity] = {}
    price: float | None = None
    spot: float | None = None
    zones: tuple[str, ...] = ("a", "b", "c")
    arch: str = "amd64"
    os: str = "linux"
    labels: dict[str, str | list[str]] = {}
    offerings: list[GivenOffering] = []
    attach_limits: dict[str, int] = {}

    def instance_type(self, name: str) -> InstanceType:
        """The instance type of that name."""
        written = {"cpu": self.cpu, "memory": self.memory, PODS: self.pods, **self.resources}
        capacity = shorthand.resources(written)
        offerings = tuple(item.offering() for item in (*self._plain_offerings(), *self.offerings))
        return InstanceType(
            name=name,
            requirements=self._requirements(name, offerings),
            capacity=capacity,
            allocatable=subtract(capacity, shorthand.resources(self.overhead)),
            offerings=offerings,
            attach_limits=self.attach_limits,
        )

    def _plain_offerings(self) -> list[GivenOffering]:
        prices = ((labels.ON_DEMAND, self.price), (labels.SPOT, self.spot))
        return [
            GivenOffering(zone, price, capacity_type)
            for zone in self.zones
            for capacity_type, price in prices
            if price is not None
        ]

    def _requirements(self, name: str, offerings: tuple[Offering, ...]) -> Requirements:
        sold = [offering for offering in offerings if offering.is_available]
        values = {
            labels.INSTANCE_TYPE: [name],
            labels.ARCH: [self.arch],
            labels.OS: [self.os],
            labels.ZONE: [item.zone for item in sold],
            labels.CAPACITY_TYPE: [item.capacity_type for item in sold],
        }
        for key, value in self.labels.items():
            values[shorthand.key(key)] = [value] if isinstance(value, str) else value
        return Requirements(
            Requirement(key, False, frozenset(choices)) for key, choices in values.items()
        )


class GivenMinValues(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pool requirement that asks for a choice of at least so many values."""

    requirement: str
    min_values: int


class GivenPool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A NodePool. `types` names the instance types it may launch; without it, all of them.

    `consolidate_after` and `expire_after` are durations or `Never`, `least_saving` and `node_price`
    are in dollars an hour.
    """

    weight: int = 0
    requirements: list[str | GivenMinValues] = []
    labels: dict[str, str] = {}
    taints: list[str] = []
    startup_taints: list[str] = []
    limits: dict[str, Quantity] = {}
    types: list[str] | None = None
    replicas: int | None = None
    is_ready: bool = True
    is_deleting: bool = False
    consolidate_after: str = "0s"
    expire_after: str = "720h"
    consolidation_policy: ConsolidationPolicy = ConsolidationPolicy.WHEN_EMPTY_OR_UNDERUTILIZED
    budgets: list[GivenBudget] | None = None
    least_saving: float | None = None
    most_evictions: int | None = None
    eviction_cost: str | None = None
    node_price: float | None = None
    problems: dict[Reason, str] = {}

    def node_pool(self, name: str) -> NodePool:
        """The pool of that name."""
        return NodePool(
            name=name,
            weight=self.weight,
            requirements=tuple(_pool_requirement(requirement) for requirement in self.requirements),
            labels=self.labels,
            taints=tuple(shorthand.taint(text) for text in self.taints),
            startup_taints=tuple(shorthand.taint(text) for text in self.startup_taints),
            limits=shorthand.resources(self.limits),
            node_class=NodeClassRef(labels.KWOK_GROUP, "KWOKNodeClass", "default"),
            expire_after=span(self.expire_after),
            replicas=self.replicas,
            is_ready=self.is_ready,
            is_deleting=self.is_deleting,
            disruption=self._disruption(),
            uid=f"NodePool/{name}",
            node_price_nanousd=None if self.node_price is None else money.nanousd(self.node_price),
            problems=tuple(Problem(reason, text) for reason, text in self.problems.items()),
        )

    def _disruption(self) -> Disruption:
        rules = disruption(self.consolidate_after, self.consolidation_policy, self.budgets)
        least = None if self.least_saving is None else money.nanousd(self.least_saving)
        return msgspec.structs.replace(
            rules,
            least_saving_nanousd=least,
            most_evictions=self.most_evictions,
            eviction_cost=None
            if self.eviction_cost is None
            else duration.parse(self.eviction_cost),
        )


def _pool_requirement(written: str | GivenMinValues) -> Requirement:
    if isinstance(written, str):
        return shorthand.expression(written)
    return shorthand.expression(written.requirement, written.min_values)


class NodeStage(StrEnum):
    """How far a node has come."""

    ORDERED = "ordered"  # a claim that has no instance yet
    LAUNCHING = "launching"  # a claim whose node has yet to appear
    STARTING = "starting"  # it has registered, and is not initialized
    RUNNING = "running"


class GivenNode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A node with the pods on it. Its size is its type's, where the scenario knows that type;
    `allocatable` is what the node itself reports, where that differs. `is_consolidatable` says that
    it has been quiet for as long as its pool wants, `drifted_at` since when it is not what its pool
    would make.
    """

    name: str
    pool: str = ""
    type: str = ""
    zone: str = "a"
    capacity_type: str = labels.ON_DEMAND
    cpu: Quantity = 4
    memory: Quantity = "16Gi"
    resources: dict[str, Quantity] = {}
    allocatable: dict[str, Quantity] = {}
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    taints: list[str] = []
    startup_taints: list[str] = []
    attach_limits: dict[str, int] = {}
    stage: NodeStage = NodeStage.RUNNING
    is_ready: bool = True
    is_unschedulable: bool = False
    is_consolidatable: bool = False
    drifted_at: datetime | None = None
    created_at: datetime | None = None
    termination_grace_period: str = "Never"
    deleting_at: datetime | None = None
    pods: list[GivenPod] = []

    def bound_pods(self) -> tuple[Pod, ...]:
        """What runs on it."""
        return tuple(pod for given in self.pods for pod in given.pods(node=self.name))

    def node(self, types: Mapping[str, InstanceType]) -> Node:
        """The node."""
        known = types.get(self.type)
        own = {"cpu": self.cpu, "memory": self.memory, PODS: 110, **self.resources}
        size = shorthand.resources(own)
        reported = shorthand.resources(self.allocatable)
        return Node(
            name=self.name,
            labels=self._labels(known),
            annotations=self.annotations,
            taints=tuple(shorthand.taint(text) for text in self.taints),
            startup_taints=tuple(shorthand.taint(text) for text in self.startup_taints),
            capacity=known.capacity if known else size,
            allocatable={**(known.allocatable if known else size), **reported},
            node_pool=self.pool,
            node_claim=self.name if self.pool else "",
            provider_id="" if self.stage is NodeStage.ORDERED else f"test://{self.name}",
            is_registered=self.stage not in {NodeStage.ORDERED, NodeStage.LAUNCHING},
            is_initialized=self.stage is NodeStage.RUNNING,
            is_ready=self.is_ready and self.stage is NodeStage.RUNNING,
            is_unschedulable=self.is_unschedulable,
            attach_limits=self.attach_limits or (known.attach_limits if known else {}),
            conditions=tuple(self._conditions()),
            created_at=self.created_at,
            deleting_at=self.deleting_at,
            termination_grace_period=span(self.termination_grace_period),
        )

    def _conditions(self) -> Iterator[Condition]:
        if self.is_consolidatable:
            yield _CONSOLIDATABLE
        if self.drifted_at is not None:
            yield Condition("Drifted", "True", changed_at=self.drifted_at)

    def _labels(self, known: InstanceType | None) -> dict[str, str]:
        fixed = {} if known is None else known.requirements.single_values()
        own = {
            labels.ARCH: "amd64",
            labels.OS: "linux",
            **fixed,
            labels.HOSTNAME: self.name,
            labels.ZONE: self.zone,
        }
        if self.type:
            own[labels.INSTANCE_TYPE] = self.type
        if self.pool:
            own |= {labels.NODE_POOL: self.pool, labels.CAPACITY_TYPE: self.capacity_type}
        return own | shorthand.keys(self.labels)
