"""Boards, layouts and plans of a few pods, in the words of the builders."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dovetail.model.instance import InstanceType
from dovetail.model.pod import DaemonSet, Pod
from dovetail.solve.exact.board import ExactPuzzle
from dovetail.solve.exact.search import Layout, Search
from dovetail.solve.packing.attempt import Attempt, PackingResult
from dovetail.testing.builders import instance_type, pod
from tests.unit.solve.puzzles import empty_attempt, encoded

BUDGET = 100_000  # states: enough for all that is asked here
SMALL = instance_type("small", cpu=2, memory="8Gi", price=0.1, zones=("a",))
LARGE = instance_type("large", cpu=8, memory="32Gi", price=0.35, zones=("a",))


def board_of(pods: Iterable[Pod], *types: InstanceType, **parts: object) -> ExactPuzzle:
    """The board with all offers."""
    enc = encoded(pods, *types, **parts)
    return ExactPuzzle(enc, np.arange(enc.n_offers))


def layouts_of(board: ExactPuzzle, budget: int = BUDGET) -> list[Layout]:
    """Every layout for all pods."""
    return list(Search(board, budget).layouts([sort.count for sort in board.sorts]))


def contents(board: ExactPuzzle, layout: Layout) -> list[list[str]]:
    """The names of the groups on each node that has pods, sorted."""
    names = [group.pods[0].labels.get("app", group.pods[0].name) for group in board.enc.groups]
    held = [
        sorted(name for name, n in zip(names, spot.held, strict=True) for _ in range(n))
        for spot in layout.spots
    ]
    return sorted(one for one in held if one)


def type_names(board: ExactPuzzle, bits: int) -> list[str]:
    """The names of the types of some offers, cheapest first."""
    market = board.enc.market
    return [
        market.types[market.offers[offer].type].name
        for place, offer in enumerate(board.offers)
        if bits >> place & 1
    ]


def daemon(name: str = "agent", **words: object) -> DaemonSet:
    """A daemon set with the spec and labels of a pod in these words."""
    one = pod(name, **words)
    return DaemonSet(name, one.namespace, one.spec, labels=one.labels, uid=f"uid-{name}")


def nothing_placed(pods: Iterable[Pod], *types: InstanceType, **parts: object) -> PackingResult:
    """A plan that leaves out everybody."""
    attempt = empty_attempt(encoded(pods, *types, **parts))
    return PackingResult(attempt, dict(enumerate(attempt.enc.count_g.tolist())))


def n_placed(attempt: Attempt) -> int:
    """How many pods a plan places."""
    return sum(int(counts.sum()) for _, _, counts in attempt.bins.log)
