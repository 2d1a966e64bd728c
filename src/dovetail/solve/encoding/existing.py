"""What existing nodes have left for pending pods, and which volumes are attached to them.

A claim that several pods share is attached to a node once, however many of them run there. Such
claims are kept apart from the plain count of attached volumes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dovetail.model.pod import DaemonSet, Pod
from dovetail.model.taints import Toleration
from dovetail.solve.axes import UNLIMITED, Bool, Int
from dovetail.solve.encoding.groups import Group
from dovetail.solve.encoding.matching import Columns
from dovetail.solve.puzzle import Puzzle

_CORDON: Final = Toleration("node.kubernetes.io/unschedulable", "Exists", "", "NoSchedule")
ATTACH: Final = "attach/"  # prefix of the resources that count attached volumes


@dataclass(frozen=True, slots=True)
class SharedClaims:
    """Claims that several pods share: the attach resource of each, who uses it, where it is."""

    resource: tuple[int, ...]
    claims_g: list[tuple[int, ...]]
    held_an: Bool  # claims x existing nodes


def vector(amounts: Iterable[tuple[str, int]], resources: tuple[str, ...]) -> list[int]:
    """Amounts in the order of the resources; volumes of an unlimited driver are unlimited."""
    by_name = dict(amounts)
    return [
        by_name.get(name, int(UNLIMITED) if name.startswith(ATTACH) else 0) for name in resources
    ]


def daemon_mask(columns: Columns, daemon: DaemonSet) -> Bool:
    """Where a daemon set's pods run. They put up with a cordon, whatever their template says."""
    spec = daemon.spec
    admitted = columns.matches_affinity(spec.node_selector, spec.required_terms)
    return admitted & columns.tolerates((*spec.tolerations, _CORDON))


def coming_daemons(problem: Puzzle, columns: Columns, n_offers: int) -> Bool:
    """Daemon sets x entities: whose pod is still to come (on new nodes, all that run there)."""
    coming = np.zeros((len(problem.daemon_sets), columns.n_entities), dtype=bool)
    place = {node.name: n_offers + number for number, node in enumerate(problem.nodes)}
    number_of = {(daemon.namespace, daemon.name): n for n, daemon in enumerate(problem.daemon_sets)}
    for number, daemon in enumerate(problem.daemon_sets):
        coming[number] = daemon_mask(columns, daemon)
    for pod in problem.bound if number_of else ():
        if pod.owner is None or not pod.is_daemon or pod.node_name not in place:
            continue
        number = number_of.get((pod.namespace, pod.owner.name), -1)
        if number >= 0:
            coming[number, place[pod.node_name]] = False
    return coming


def free_room(problem: Puzzle, resources: tuple[str, ...], coming_dn: Bool) -> Int:
    """What every existing node has left for waiting pods."""
    place = {node.name: number for number, node in enumerate(problem.nodes)}
    rows = [
        vector(
            [
                *node.allocatable.items(),
                *((ATTACH + driver, limit) for driver, limit in node.attach_limits.items()),
            ],
            resources,
        )
        for node in problem.nodes
    ]
    free = np.array(rows, dtype=np.int64).reshape(len(rows), len(resources))
    free -= _used_by_running_pods(problem.bound, place, resources)
    for number, daemon in enumerate(problem.daemon_sets if rows else ()):
        asked = np.array([daemon.spec.requests.get(name, 0) for name in resources], dtype=np.int64)
        free -= np.outer(coming_dn[number], asked)
    for number, driver, _ in attached_volumes(problem) if rows else ():
        if ATTACH + driver in resources:
            free[number, resources.index(ATTACH + driver)] -= 1
    return free


def _used_by_running_pods(
    bound: Sequence[Pod], place: Mapping[str, int], resources: tuple[str, ...]
) -> Int:
    """What running pods take of every node; pods of one template take the same."""
    row_of: dict[int, int] = {}
    rows: list[list[int]] = []
    nodes: list[int] = []
    asked: list[int] = []
    for pod in bound:
        number = place.get(pod.node_name)
        if number is None:
            continue
        row = row_of.get(id(pod.spec))
        if row is None:
            row = row_of[id(pod.spec)] = len(rows)
            requests = pod.spec.requests
            rows.append([requests.get(name, 0) for name in resources])
        nodes.append(number)
        asked.append(row)
    taken = np.zeros((len(place), len(resources)), dtype=np.int64)
    if nodes:
        np.add.at(taken, np.array(nodes), np.array(rows, dtype=np.int64)[asked])
    return taken


def attached_volumes(problem: Puzzle) -> list[tuple[int, str, str]]:
    """(node, driver, claim) of every volume that running pods hold, each once."""
    seen: dict[tuple[int, str, str], None] = {}
    if not problem.bound_volumes:
        return []
    place = {node.name: number for number, node in enumerate(problem.nodes)}
    for pod in problem.bound:
        number = place.get(pod.node_name)
        asked = problem.bound_volumes.get(pod.key)
        if number is None or asked is None:
            continue
        for driver, claims in asked.attachments:
            seen.update(dict.fromkeys((number, driver, claim) for claim in claims))
    return list(seen)


def shared_claims(
    groups: Sequence[Group],
    resources: tuple[str, ...],
    n_nodes: int,
    attached: Sequence[tuple[int, str, str]],
) -> SharedClaims:
    """The claims that keep their name in groups, since several pods use them."""
    number_of: dict[tuple[str, str], int] = {}
    claims_g = []
    for group in groups:
        mine = [
            number_of.setdefault((driver, claim), len(number_of))
            for driver, claims in group.volumes.attachments
            for claim in claims
            if claim
        ]
        claims_g.append(tuple(sorted(set(mine))))
    uses = np.zeros((len(number_of), n_nodes), dtype=bool)
    for number, driver, claim in attached if number_of else ():
        if (driver, claim) in number_of:
            uses[number_of[driver, claim], number] = True
    return SharedClaims(tuple(resources.index(ATTACH + d) for d, _ in number_of), claims_g, uses)
