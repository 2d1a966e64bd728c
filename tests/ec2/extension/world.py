"""The state of the EC2 for tests: everything that is not moto's, and what tests set."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from hashlib import sha256
from threading import RLock
from typing import TYPE_CHECKING

from tests.ec2.extension.catalogue import Market, Pool
from tests.ec2.extension.clock import Clock
from tests.ec2.extension.filters import TagIndex
from tests.ec2.extension.instances import Delays, Instance
from tests.ec2.extension.wire import AwsError, Tree

if TYPE_CHECKING:
    from tests.ec2.extension.faults import CallFault
    from tests.ec2.extension.images import Image
    from tests.ec2.extension.placement_groups import PlacementGroup
    from tests.ec2.extension.reservations import Reservation
    from tests.ec2.extension.templates import LaunchTemplate


@dataclass
class PoolFault:
    """An error for every override of a fleet request that fits the patterns."""

    instance_type: str
    zone: str
    capacity_type: str
    subnet_id: str
    code: str
    message: str
    times: int | None  # None: until it is cleared

    def strikes(self, pool: Pool, subnet_id: str) -> bool:
        """Whether this override gets the error now; counts it if so."""
        patterns = (self.instance_type, self.zone, self.capacity_type, self.subnet_id)
        if self.times == 0 or not all(map(fnmatchcase, (*pool, subnet_id), patterns)):
            return False
        if self.times is not None:
            self.times -= 1
        return True


@dataclass
class World:
    """All state. Calls hold `lock` while they read or change it."""

    lock: RLock = field(default_factory=RLock)
    clock: Clock = field(default_factory=Clock)
    delays: Delays = field(default_factory=Delays)
    market: Market = field(default_factory=Market)
    instances: dict[str, Instance] = field(default_factory=dict)
    tag_index: TagIndex = field(default_factory=TagIndex)
    templates: dict[str, LaunchTemplate] = field(default_factory=dict)
    images: dict[str, Image] = field(default_factory=dict)
    image_parameters: dict[str, str] = field(default_factory=dict)  # image id by SSM parameter
    reservations: dict[str, Reservation] = field(default_factory=dict)
    placement_groups: dict[str, PlacementGroup] = field(default_factory=dict)
    pool_faults: list[PoolFault] = field(default_factory=list)
    call_faults: list[CallFault] = field(default_factory=list)
    free_addresses: dict[str, int] = field(default_factory=dict)  # by subnet, as a test set it
    clusters: dict[str, Tree] = field(default_factory=dict)  # what a test changed of EKS clusters
    shifted_zones: set[str] = field(default_factory=set)  # by order, by id
    autoshifted_zones: set[str] = field(default_factory=set)
    is_managed_by_arc: bool = True
    _answers: dict[tuple[str, str], tuple[str, Tree]] = field(default_factory=dict)
    _leaving: dict[str, None] = field(default_factory=dict)
    _used_addresses: dict[str, int] = field(default_factory=dict)
    _numbers: int = 0

    def new_id(self, prefix: str) -> str:
        """The next id; a fresh world deals out the same ids again."""
        self._numbers += 1
        digest = sha256(f"{prefix}/{self._numbers}".encode()).hexdigest()
        return f"{prefix}-{digest[:17]}"

    def next_number(self) -> int:
        """A number that was not dealt out before."""
        self._numbers += 1
        return self._numbers

    def once(self, action: str, parameters: Tree, carry_out: Callable[[], Tree]) -> Tree:
        """Carry a call out, unless one with the same client token was: then its answer again."""
        token = parameters.get("ClientToken", "")
        if not token:
            return carry_out()
        fingerprint = json.dumps(parameters, sort_keys=True)
        earlier = self._answers.get((action, token))
        if earlier is None:
            self._answers[action, token] = fingerprint, carry_out()
        elif earlier[0] != fingerprint:
            msg = "Client token was used before with other parameters"
            raise AwsError("IdempotentParameterMismatch", msg)
        return self._answers[action, token][1]

    # ------------------------------------------------------------ instances

    def add(self, instance: Instance) -> None:
        """Take a new instance in, and use up its capacity and address."""
        self.instances[instance.instance_id] = instance
        self.tag_index.add(instance.instance_id, instance.tags)
        subnet_id = instance.subnet.subnet_id
        self._used_addresses[subnet_id] = self._used_addresses.get(subnet_id, 0) + 1
        if not instance.capacity_reservation_id:
            self.market.take(instance.pool)

    def terminate(self, instance_id: str, reason: tuple[str, str]) -> None:
        """Begin to terminate an instance."""
        instance = self.instances[instance_id]
        if instance.terminated_at is None:
            instance.terminated_at = self.clock.now()
            instance.termination_reason = reason
            self._leaving[instance_id] = None

    def settle(self) -> None:
        """Give back what instances used that are terminated by now; forget old ones."""
        now = self.clock.now()
        for instance_id in list(self._leaving):
            instance = self.instances[instance_id]
            state = instance.state(now, self.delays)
            if state == "shutting-down":
                continue
            if not instance.is_released:
                self._release(instance)
            if not state:
                self.tag_index.remove(instance_id, instance.tags)
                del self.instances[instance_id], self._leaving[instance_id]

    def _release(self, instance: Instance) -> None:
        instance.is_released = True
        self._used_addresses[instance.subnet.subnet_id] -= 1
        if not instance.capacity_reservation_id:
            self.market.take(instance.pool, -1)

    def forget(self, instance: Instance) -> None:
        """Undo a launch."""
        self._release(instance)
        self.tag_index.remove(instance.instance_id, instance.tags)
        del self.instances[instance.instance_id]

    def tag(self, instance: Instance, tags: dict[str, str], *, remove: bool = False) -> None:
        """Add tags to an instance, or remove them."""
        self.tag_index.remove(instance.instance_id, instance.tags)
        for key, value in tags.items():
            if remove:
                instance.tags.pop(key, None)
            else:
                instance.tags[key] = value
        self.tag_index.add(instance.instance_id, instance.tags)

    def used_addresses(self, subnet_id: str) -> int:
        """How many addresses of a subnet instances use."""
        return self._used_addresses.get(subnet_id, 0)


def tags_for(parameters: Tree, resource_type: str) -> dict[str, str]:
    """The tags that a call gives to one type of resource."""
    return {
        tag["Key"]: tag.get("Value", "")
        for specification in parameters.get("TagSpecifications", [])
        if specification.get("ResourceType") == resource_type
        for tag in specification.get("Tags", [])
    }
