"""Gives pods whose nodes will soon be gone their places before others of the same priority.

Where everybody finds a place nothing is changed. Where a pod that is about to lose its node would
stay pending although others of its priority that are pending already get a place, the plan is made
again with the first ranked above them.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from dovetail.model.pod import Pod, PodKey, PodSpec
from dovetail.solve import PlannedNode, Puzzle, Solution, solve


def first_places(puzzle: Puzzle, solution: Solution, first: frozenset[PodKey]) -> Solution:
    """The solution, or one that leaves fewer of those pods without a place."""
    left_out = [pod for pod in solution.unplaced if pod.key in first]
    if not left_out or not _may_gain(left_out, puzzle, solution, first):
        return solution
    again = solve(msgspec.structs.replace(puzzle, pods=_raise_first(puzzle.pods, first)))
    n_left_out = sum(pod.key in first for pod in again.unplaced)
    return _with_own_pods(again, puzzle.pods) if n_left_out < len(left_out) else solution


def _may_gain(
    left_out: Iterable[Pod], puzzle: Puzzle, solution: Solution, first: frozenset[PodKey]
) -> bool:
    """Whether others of a priority that is left out get a place."""
    priorities = {pod.spec.priority for pod in left_out}
    waiting = {pod.key for pod in solution.unplaced} | first
    return any(pod.spec.priority in priorities and pod.key not in waiting for pod in puzzle.pods)


def _raise_first(pods: Iterable[Pod], first: frozenset[PodKey]) -> tuple[Pod, ...]:
    """The pods with the priorities of the first raised by half a step: all are doubled. Pods that
    shared a spec and a rank share one again.
    """
    kept: dict[tuple[int, bool], tuple[PodSpec, PodSpec]] = {}
    ranked = []
    for pod in pods:
        is_first = pod.key in first
        key = (id(pod.spec), is_first)
        if key not in kept:
            priority = 2 * pod.spec.priority + is_first
            spec = msgspec.structs.replace(pod.spec, priority=priority)
            kept[key] = (pod.spec, spec)
        ranked.append(msgspec.structs.replace(pod, spec=kept[key][1]))
    return tuple(ranked)


def _with_own_pods(solution: Solution, pods: Iterable[Pod]) -> Solution:
    """The solution with the pods as they are."""
    by_key = {pod.key: pod for pod in pods}

    def own_pods(ranked: Iterable[Pod]) -> tuple[Pod, ...]:
        return tuple(by_key[pod.key] for pod in ranked)

    def with_pods(node: PlannedNode) -> PlannedNode:
        return msgspec.structs.replace(node, pods=own_pods(node.pods))

    return msgspec.structs.replace(
        solution,
        launches=tuple(with_pods(node) for node in solution.launches),
        placed=tuple((node, own_pods(ranked)) for node, ranked in solution.placed),
        unplaced=own_pods(solution.unplaced),
    )
