"""Chooses nodes that new pods should keep off, so that they empty by themselves.

kube-scheduler prefers the emptiest nodes, and so keeps alive those that nobody would miss. As pods
come and go anyway, a word to it saves evictions: of each pool the emptiest nodes are discouraged,
as long as what they run is within reach of the room that the others have left. Who is discouraged
stays so until others are clearly emptier: words that change all the time help nobody.

Who gives pods up anyway, because a workload shrinks or is rolled out, is told to begin with those
of the same nodes, the emptiest first: ReplicaSets ask each pod what it costs to delete.

Pods that are moved come anew, and nobody can tell kube-scheduler where they were meant to go. The
small ones would take the room that was meant for large ones. So of the nodes that they are meant
for all but the fullest are discouraged too: whoever fits there goes there, the others must not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from dovetail.decide.disrupt.course import Course
from dovetail.decide.disrupt.emptiness import is_dynamic
from dovetail.decide.lifecycle.protection import is_active
from dovetail.decide.nodes import census
from dovetail.model.node import Node
from dovetail.model.plan import Yield
from dovetail.model.pod import Pod
from dovetail.model.pool import ConsolidationPolicy, NodePool
from dovetail.model.resources import CPU, MEMORY

_WITHIN_REACH: Final = 3  # times the room that others have; pods come and go, and some end soon
_HELD_BACK: Final = 0.05  # of a node that others must be emptier to take its place
_STEPS: Final = 10  # between an empty node and a full one
_COUNTED: Final = (CPU, MEMORY)


class _Filled(msgspec.Struct, frozen=True):
    """A node, what its pods take of it, and what is left."""

    node: Node
    used: tuple[int, ...]
    free: tuple[int, ...]

    @property
    def share(self) -> float:
        """How full it is, by what it has least of."""
        shares = (
            used / (used + free)
            for used, free in zip(self.used, self.free, strict=True)
            if used + free > 0
        )
        return max(shares, default=0.0)

    @property
    def turn(self) -> tuple[float, str]:
        """The emptiest first."""
        held_back = _HELD_BACK if self.node.is_discouraged else 0.0
        return self.share - held_back, self.node.name

    @property
    def cost(self) -> int:
        """What its pods cost to give up: by tenths, since a word that changes all the time helps
        nobody.
        """
        return int(min(self.share, 0.99) * _STEPS) - _STEPS


def discourage(course: Course) -> Course:
    """The plan with the nodes that new pods should rather keep off, and whose own may go first."""
    policy = course.world.policy
    if not policy.discourages and not policy.yields:
        return course
    names: list[str] = []
    yielding: list[Yield] = []
    for pool in course.world.node_pools:
        if _shrinks(pool):
            standing = tuple(_usable_nodes(pool, course))
            emptiest, awaited = (
                _emptiest(standing, course),
                frozenset(_nodes_moved_to(standing, course)),
            )
            names += {*(filled_node.node.name for filled_node in emptiest), *awaited}
            rest = (filled_node for filled_node in emptiest if filled_node.node.name not in awaited)
            yielding += (Yield(filled_node.node.name, filled_node.cost) for filled_node in rest)
    plan = msgspec.structs.replace(
        course.plan,
        discouraged=tuple(sorted(names)) if policy.discourages else (),
        yielding=tuple(sorted(yielding, key=lambda item: item.node)) if policy.yields else (),
    )
    return msgspec.structs.replace(course, plan=plan)


def _shrinks(pool: NodePool) -> bool:
    """Whether nodes of it that run pods may be taken away to save money."""
    disruption = pool.disruption
    is_wanted = disruption.consolidation_policy != ConsolidationPolicy.WHEN_EMPTY
    return is_wanted and disruption.consolidate_after is not None and not pool.problems


def _usable_nodes(pool: NodePool, course: Course) -> Iterable[Node]:
    """Its nodes that take pods."""
    return (
        node
        for node in course.world.nodes
        if node.node_pool == pool.name
        and node.is_initialized
        and not node.is_unschedulable
        and node.name not in course.scene.leaving
        and is_dynamic(node, course.world)
    )


def _by_turn(nodes: Iterable[Node], by_node: Mapping[str, Iterable[Pod]]) -> list[_Filled]:
    filled_nodes = [_filled_node(node, by_node.get(node.name, ())) for node in nodes]
    return sorted(filled_nodes, key=lambda filled_node: filled_node.turn)


def _filled_node(node: Node, on_node: Iterable[Pod]) -> _Filled:
    pods = [pod for pod in on_node if is_active(pod)]
    used = tuple(sum(pod.spec.requests.get(name, 0) for pod in pods) for name in _COUNTED)
    return _Filled(
        node,
        used,
        tuple(
            max(0, node.allocatable.get(name, 0) - taken)
            for name, taken in zip(_COUNTED, used, strict=True)
        ),
    )


def _nodes_moved_to(nodes: Sequence[Node], course: Course) -> Iterator[str]:
    """Those that pods are moved to, but for the one that is fullest before they come; and those
    that bear the mark while pods are on their way to them.
    """
    nominated = course.scene.nominated
    yield from (node.name for node in nodes if node.is_discouraged and node.name in nominated)
    by_node = census(course.origin.pods).by_node
    for move in course.plan.disruptions:
        meant = {place.node for place in move.places}
        there = _by_turn((node for node in nodes if node.name in meant), by_node)
        yield from (filled_node.node.name for filled_node in there[:-1])


def _emptiest(standing: Sequence[Node], course: Course) -> list[_Filled]:
    """Those whose pods, all together, are within reach of the room on the others; never all."""
    nodes = _by_turn(standing, course.scene.pods_by_node)
    room = [sum(node.free[at] for node in nodes) for at in range(len(_COUNTED))]
    used = [0] * len(_COUNTED)
    filled_nodes: list[_Filled] = []
    for node in nodes[:-1]:
        room = [have - gone for have, gone in zip(room, node.free, strict=True)]
        used = [have + more for have, more in zip(used, node.used, strict=True)]
        if any(need > _WITHIN_REACH * have for need, have in zip(used, room, strict=True)):
            break
        filled_nodes.append(node)
    return filled_nodes
