"""Keeps the nodes that are there or on their way.

Three things are heard about a node: its own word, its claim's, its CSI drivers'. Before any of
them, there is our own launch: it counts as a node from the moment it is decided, so that nothing
is launched twice and planning need not wait for it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, TypeVar

import msgspec

from dovetail import api, labels
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node
from dovetail.model.plan import Launch
from dovetail.model.requirements import Requirement
from dovetail.state.nodes import Joints, NodeReport, Ordered, TypesByPool, attach_limits
from dovetail.state.nodes import node_of as observed_node
from dovetail.state.nodes import ordered_of as ordered_node
from dovetail.state.shelf import DEFAULT_NAMESPACE, Key, Shelf

_T = TypeVar("_T", bound=api.Object)
_V = TypeVar("_V")

# A claim that was made but is not shown by the watch for this long is gone again.
LOST_AFTER: Final = timedelta(seconds=15)


class Fleet:
    """Everything heard about nodes, and launches of which nothing has been heard yet."""

    def __init__(self) -> None:
        self.seen: Shelf[api.Node, Node] = Shelf(api.Node, observed_node)
        self.claims: Shelf[api.NodeClaim, Ordered] = Shelf(api.NodeClaim, ordered_node)
        self.limits = Shelf(api.CSINode, attach_limits)
        self._launches: dict[str, Ordered] = {}
        self._launched_at: dict[str, datetime] = {}
        self._reserved: dict[str, str] = {}
        self._joints = Joints()
        self._made_of: tuple[int, ...] = ()
        self._types_by_pool: TypesByPool = {}
        self._n_changes = 0
        self._nodes: tuple[Node, ...] = ()

    @property
    def n_made(self) -> int:
        """How often a node was put together."""
        return self._joints.n_made

    def begin(self, launch: Launch, types: tuple[InstanceType, ...]) -> None:
        """A node is to come, unless its claim is there already."""
        if self.claims.get(_key(launch.name)) is None:
            self._launches[launch.name] = expected_node(launch, types)
            self._n_changes += 1
        if launch.reservation_id:
            self._reserved[launch.name] = launch.reservation_id

    def note_launch(self, name: str, at: datetime) -> None:
        """The API has the claim."""
        if name in self._launches:
            self._launched_at[name] = at

    def fail(self, name: str, at: datetime) -> None:
        """A node will not come: it is forgotten, or leaving as long as its claim is there."""
        self._forget(name)
        self._reserved.pop(name, None)
        claim = self.claims.get(_key(name))
        if claim is not None and claim.node.deleting_at is None:
            leaving = msgspec.structs.replace(claim.node, deleting_at=at)
            self.claims.replace(_key(name), msgspec.structs.replace(claim, node=leaving))

    def put_claim(self, wire: api.NodeClaim) -> bool:
        """Take in a claim; our own word about it is not needed any more."""
        name = wire.metadata.name
        self._forget(name)
        if wire.status.provider_id:
            self._reserved.pop(name, None)
        return self.claims.put(wire)

    def drop_claim(self, key: Key) -> bool:
        """Forget a claim."""
        self._reserved.pop(key[1], None)
        return self.claims.drop(key)

    def _forget(self, name: str) -> None:
        self._launched_at.pop(name, None)
        if self._launches.pop(name, None) is not None:
            self._n_changes += 1

    def nodes(self, types_by_pool: TypesByPool, now: datetime) -> tuple[Node, ...]:
        """Every node and every claim in flight, by name."""
        for name, at in list(self._launched_at.items()):
            if at + LOST_AFTER <= now:
                self._forget(name)
        revisions = (self.seen.revision, self.claims.revision, self.limits.revision)
        made_of = (*revisions, self._n_changes)
        if made_of != self._made_of or types_by_pool is not self._types_by_pool:
            ordered = {**self._launches, **_by_name(self.claims)}
            self._nodes = self._joints.nodes(
                NodeReport(
                    _by_name(self.seen), ordered, _by_name(self.limits), types_by_pool, is_live=True
                )
            )
            self._made_of, self._types_by_pool = made_of, types_by_pool
        return self._nodes

    def reserved_by_id(self) -> dict[str, int]:
        """How many launches under way count on each reservation."""
        result: dict[str, int] = {}
        for _, reservation in sorted(self._reserved.items()):
            result[reservation] = result.get(reservation, 0) + 1
        return result


def expected_node(launch: Launch, types: tuple[InstanceType, ...]) -> Ordered:
    """The node that will come, as its claim will say: labels are certain where one value is left,
    and any of the named types may come.
    """
    asked = {requirement.key: requirement for requirement in launch.requirements}
    result = {key: value for key, value in launch.labels.items() if _is_certain(asked.get(key))}
    named = asked.get(labels.INSTANCE_TYPE)
    is_known = named is not None and any(named.has(instance_type.name) for instance_type in types)
    room = {} if is_known else launch.allocatable
    node = Node(
        name=launch.name,
        labels=result,
        taints=(*launch.taints, *launch.startup_taints),
        startup_taints=launch.startup_taints,
        capacity=room,
        allocatable=room,
        node_pool=launch.node_pool,
        node_claim=launch.name,
        is_registered=False,
        is_initialized=False,
        is_ready=False,
    )
    return Ordered(node, instance_types=named)


def _is_certain(asked: Requirement | None) -> bool:
    return asked is None or (not asked.complement and len(asked.values) == 1)


def _by_name(shelf: Shelf[_T, _V]) -> dict[str, _V]:
    return {name: noun for (_, name), noun in shelf.items()}


def _key(name: str) -> Key:
    return DEFAULT_NAMESPACE, name
