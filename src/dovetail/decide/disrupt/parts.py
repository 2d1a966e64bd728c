"""Splits a move into parts that do not depend on each other.

Nodes of which a replacement takes pods together belong together: without it none of them can go.
Others are parts of their own, so that each must be worth it by itself, and a replacement that does
not come keeps no node that could go without it. Nodes that need no replacement are one part: their
pods have room elsewhere whoever else goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from dovetail.decide.disrupt.probe import Ground, Move, movable_pods
from dovetail.model.plan import Launch, Nominate


class Part(msgspec.Struct, frozen=True):
    """Some nodes of a move, and what comes instead of them."""

    move: Move
    launches: tuple[Launch, ...]


def parts_of(move: Move, launches: Sequence[Launch], ground: Ground) -> list[Part]:
    """The parts of a move, in the order of their first nodes; those without replacements last."""
    if not launches:
        return [Part(move, ())]
    node_by_pod = {pod.key: name for name in move.nodes for pod in movable_pods(name, ground)}
    leaders = _leaders(move.nodes, launches, node_by_pod)
    coming: dict[str, list[Launch]] = {}
    for launch in launches:
        leader = leaders[node_by_pod[launch.pods[0]]]
        coming.setdefault(leader, []).append(launch)
    going: dict[str, list[str]] = {}
    for name in move.nodes:
        leader = leaders[name]
        going.setdefault(leader if leader in coming else "", []).append(name)
    if len(going) == 1:
        return [Part(move, tuple(launches))]
    alone = going.pop("", [])
    ordered = [*going.items(), *([("", alone)] if alone else [])]
    return [
        Part(_narrow_move(move, names, node_by_pod), tuple(coming.get(leader, ())))
        for leader, names in ordered
    ]


def _leaders(
    nodes: Sequence[str], launches: Sequence[Launch], node_by_pod: Mapping[str, str]
) -> dict[str, str]:
    """For each node, the one that stands for all that belong together with it."""
    leaders = {name: name for name in nodes}

    def leader(name: str) -> str:
        while leaders[name] != name:
            leaders[name] = name = leaders[leaders[name]]
        return name

    for launch in launches:
        first = leader(node_by_pod[launch.pods[0]])
        for pod in launch.pods:
            leaders[leader(node_by_pod[pod])] = first
    return {name: leader(name) for name in nodes}


def _narrow_move(move: Move, names: Sequence[str], node_by_pod: Mapping[str, str]) -> Move:
    """The move as far as it is about these nodes."""
    held = set(names)
    places = (
        Nominate(place.node, tuple(pod for pod in place.pods if node_by_pod[pod] in held))
        for place in move.places
    )
    return Move(
        nodes=tuple(names),
        pods=tuple(pod for pod in move.pods if node_by_pod[pod] in held),
        places=tuple(place for place in places if place.pods),
    )
