"""Moves pods so that their preferences are met, where that costs nothing.

A finished plan is changed in ways that leave its price as it is: pods that take the same room swap
places, pods move to nodes with room that they like better, and a new node becomes another offer of
exactly its price that its pods like better (a zone, mostly; soft spread is met that way). So a
preference chooses among plans of equal price and never buys anything.

A pod that has a place on an existing node never moves to a new one: kube-scheduler would not wait.
Nor does one leave a pool for a lighter one: weights come before preferences.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from dovetail.solve.axes import Bool, Int
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.encoding.wishes import Wishes
from dovetail.solve.finishing.preference_board import PreferenceBoard
from dovetail.solve.finishing.rightsize import swap
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.bins import EXISTING
from dovetail.solve.packing.units import ANY_CELL, PodUnit

_ROUNDS: Final = 2
_MAX_LOOKS: Final = 2000  # how often a pod looks for a better node, in all


def prefer(attempt: Attempt, wishes: Wishes) -> None:
    """Meet as many wishes as can be met at the same price."""
    board = PreferenceBoard(attempt, wishes)
    for number in sorted(board.held):
        _separate(board, number)
    board.count_all()
    looks = _MAX_LOOKS
    for _ in range(_ROUNDS):
        _choose_offers(board)
        for number in sorted(board.held):
            looks -= _move(board, number, looks)
    board.record()


# ------------------------------------------------------------------ pods that can be swapped


def _separate(board: PreferenceBoard, number: int) -> None:
    """Make units of those that wish alike, each where it likes to be most."""
    attempt, wishes = board.attempt, board.wishes
    unit = attempt.units[number]
    members: dict[int, list[tuple[int, int]]] = {}
    for group, count in unit.members:
        if count:
            members.setdefault(int(wishes.wish_g[group]), []).append((group, count))
    if len(members) < 2:
        return
    room = board.held.pop(number)
    # Those that wish for nothing take what is left.
    for place, wish in enumerate(sorted(members, reverse=True)):
        part = replace(unit, members=members[wish], count=sum(count for _, count in members[wish]))
        here = number if not place else len(attempt.units)
        if place:
            attempt.units.append(part)
        else:
            attempt.units[number] = part
        board.held[here] = _best_places(board, wish, part.count, room)
    grown = len(attempt.units) - len(attempt.left_u)
    attempt.left_u = np.concatenate([attempt.left_u, np.zeros(grown, dtype=np.int64)])


def _best_places(
    board: PreferenceBoard, wish: int, count: int, room: dict[int, int]
) -> dict[int, int]:
    """Take so many places, the most liked first."""
    nodes = np.array(sorted(node for node, left in room.items() if left), dtype=np.int64)
    score = board.wishes.scores(wish)[board.entity_n[nodes]]
    taken: dict[int, int] = {}
    for node in nodes[np.lexsort((nodes, -score))].tolist():
        if not count:
            break
        taken[node] = min(room[node], count)
        room[node] -= taken[node]
        count -= taken[node]
    return taken


# ------------------------------------------------------------------ nodes that cost the same


def _choose_offers(board: PreferenceBoard) -> None:
    """Make every new node the offer that its pods like best among those of its price."""
    attempt = board.attempt
    enc, bins = attempt.enc, attempt.bins
    units_by_node = board.units_by_node()
    rivals: dict[tuple[int, int, int], Int] = {}
    spread_keys = sorted({term.key for term in enc.ties.zones if term.kind == TermKind.SPREAD})
    for node in board.choosy_nodes():
        offer = int(bins.offer[node])
        if offer == EXISTING:
            continue
        key = (int(enc.price_o[offer]), int(enc.plan_price_o[offer]), int(enc.weight_o[offer]))
        if key not in rivals:
            same = (enc.price_o == key[0]) & (enc.plan_price_o == key[1])
            rivals[key] = np.flatnonzero(same & (enc.weight_o == key[2]))
        if len(rivals[key]) < 2:
            continue
        units = [attempt.units[number] for number in units_by_node[node]]
        fitting = rivals[key][_holds(attempt, node, units, (rivals[key], spread_keys))]
        if len(fitting) < 2:
            continue
        value = board.offer_liking(node, units_by_node[node], fitting)
        best = int(fitting[np.lexsort((fitting, fitting != offer, -value))[0]])
        if best != offer and swap(attempt, node, best):
            board.note_offer(node, units_by_node[node], best)


def _holds(
    attempt: Attempt, node: int, units: list[PodUnit], rivals: tuple[Int, list[int]]
) -> Bool:
    """Which of these offers would do for what is on the node."""
    offers, spread_keys = rivals
    enc, bins = attempt.enc, attempt.bins
    mine = int(bins.offer[node])
    used = enc.cap_or[mine] - bins.free[:, node]
    fine: Bool = np.all((enc.cap_or[offers] >= used) | (used == 0), axis=1)
    for mask in {unit.mask for unit in units}:
        fine &= enc.masks_me[mask, offers]
    cell = enc.cell_o[offers]
    if any(unit.cell != ANY_CELL for unit in units):
        fine &= cell == enc.cell_o[mine]
    domains_ck = enc.ties.domains_ck
    # Where others are spread, one more domain or one less changes what counts for them.
    for key in spread_keys:
        fine &= domains_ck[cell, key] == domains_ck[enc.cell_o[mine], key]
    return fine


# ------------------------------------------------------------------ nodes with room


def _move(board: PreferenceBoard, number: int, looks: int) -> int:
    """Move pods of a unit to nodes that they like better; returns how often that was looked at."""
    attempt = board.attempt
    unit, bins = attempt.units[number], attempt.bins
    if not board.wish(unit) or not _may_leave(attempt, unit):
        return 0
    room = bins.room(unit, slice(0, bins.n))
    looked = 0
    for source in sorted(board.held[number]):
        while looked < looks and board.held[number].get(source):
            looked += 1
            is_content = board.is_content(unit, source)
            target = None if is_content else _better(board, unit, source, room)
            if target is None:
                break
            # Company changes with every pod; a score does not.
            count = 1 if any(board.company(unit)) else board.held[number][source]
            count = min(count, int(room[target]))
            board.move(number, source, target, count)
            room = bins.room(unit, slice(0, bins.n))
    return looked


def _may_leave(attempt: Attempt, unit: PodUnit) -> bool:
    """Whether no other pod relies on where this one is."""
    hosts = attempt.enc.ties.hosts
    return not any(
        hosts[term].kind in (TermKind.SPREAD, TermKind.AFFINITY)
        for term in (*unit.own, *unit.match)
    )


def _better(board: PreferenceBoard, unit: PodUnit, source: int, room: Int) -> int | None:
    """The node with room that a pod likes best, if it likes it better than its own."""
    bins = board.attempt.bins
    nodes = np.flatnonzero(room[: bins.n_existing] if source < bins.n_existing else room)
    nodes = nodes[nodes != source]
    nodes = nodes[(nodes < bins.n_existing) | (bins.weight[nodes] >= bins.weight[source])]
    if not len(nodes):
        return None
    value = board.preference_scores(unit, np.append(nodes, source), source)
    best = int(np.argmax(value[:-1]))
    return int(nodes[best]) if value[best] > value[-1] else None
