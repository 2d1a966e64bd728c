"""Finds pods that kube-scheduler can bind only as the first of their kind.

A pod with required pod affinity by hostname needs a matching pod on its node. A pod that matches
its own terms needs none while no such pod is anywhere, so it has to be bound before all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.contents import loads
from dovetail.solve.packing.units import PodUnit


@dataclass(frozen=True, slots=True)
class Follower:
    """Pods of one unit on one node that want company there."""

    unit: PodUnit
    node: int
    count: int
    wanted: tuple[int, ...]  # the host terms by which they want it


def followers(
    attempt: Attempt, leaving: Mapping[tuple[int, int], int] | None = None
) -> list[Follower]:
    """All planned pods that want company on their node, but for so many of a unit on a node."""
    gone, followers = leaving or {}, list[Follower]()
    wanted_u = [_affinity_terms(attempt, unit) for unit in attempt.units]
    if not any(wanted_u):
        return followers
    log = [entry for entry in attempt.bins.log if wanted_u[entry[0]]]
    for node, pods in loads(log).items():
        for number, count in pods.items():
            left = count - gone.get((number, node), 0)
            if left > 0:
                followers.append(Follower(attempt.units[number], node, left, wanted_u[number]))
    return followers


def one_more(attempt: Attempt, unit: PodUnit, node: int) -> Follower:
    """One more pod of a unit on a node."""
    return Follower(unit, node, 1, _affinity_terms(attempt, unit))


def starters(
    attempt: Attempt, pods: Sequence[Follower], newcomer: Follower | None = None
) -> tuple[list[Follower], bool]:
    """The pods that have to be bound before all others, and whether all can be bound then. A
    newcomer is not in the counts of the plan yet.
    """
    present = attempt.bins.match[:, : attempt.bins.n].copy()
    for pod in pods:
        present[list(pod.unit.match), pod.node] -= pod.count
    left = [*pods, newcomer] if newcomer is not None else list(pods)
    starters: list[Follower] = []
    while left := _without_company(present, left):
        first = next((pod for pod in left if _may_start(attempt, pod, starters)), None)
        if first is None:
            return starters, False
        starters.append(first)
        left.remove(first)
        present[list(first.unit.match), first.node] += first.count
    return starters, True


def _affinity_terms(attempt: Attempt, unit: PodUnit) -> tuple[int, ...]:
    hosts = attempt.enc.ties.hosts
    return tuple(term for term in unit.own if hosts[term].kind == TermKind.AFFINITY)


def _without_company(present: npt.NDArray[np.int32], pods: list[Follower]) -> list[Follower]:
    """The pods that never find company on their node; all others are counted as present."""
    is_moving = True
    while is_moving:
        left = []
        for pod in pods:
            if np.all(present[list(pod.wanted), pod.node] > 0):
                present[list(pod.unit.match), pod.node] += pod.count
            else:
                left.append(pod)
        is_moving, pods = len(left) < len(pods), left
    return pods


def _may_start(attempt: Attempt, pod: Follower, earlier: list[Follower]) -> bool:
    """Whether pods match all their own affinity terms, and nobody who runs or starts earlier
    matches any of those.
    """
    ties = attempt.enc.ties
    if not all(
        term in pod.unit.match
        and not ties.hosts[term].match_n.any()
        and ties.hosts[term].match_o is None
        and not any(term in other.unit.match for other in earlier)
        for term in pod.wanted
    ):
        return False
    started = {group for other in earlier for group, _ in other.unit.members}
    return all(
        term in ties.zone_match_g[group]
        and not ties.zones[term].match_d.any()
        and not any(term in ties.zone_match_g[other] for other in started)
        for group, _ in pod.unit.members
        for term in ties.zone_own_g[group]
        if ties.zones[term].kind == TermKind.AFFINITY
    )
