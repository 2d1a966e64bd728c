"""Adds columns to the linear program for nodes that hold one large pod.

The program adds up what nodes have and what pods ask for, as if pods could be cut. Fourteen pods of
127 GiB on sixteen nodes of 174 GiB leave 47 GiB and nearly all cpu on fourteen of them, where only
pods fit that need little memory; to the program there is simply memory left. So for pods of which
a node takes only one, and which use it up unevenly, nodes with such a guest are offers of their
own: they have what the guest leaves, and cost the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from dovetail.solve.axes import Bool, Float, Int
from dovetail.solve.program.assignment import Program, join_programs

_ALONE: Final = 0.5  # of a node: two pods that ask for more do not share one
_UNEVEN: Final = 0.15  # of a node more of one resource than of another
_MATTERS: Final = 0.005  # of the bill
_CAPPED: Final = 0.15  # of the pods: where so many keep apart anyway, guests are in the way
_NOTHING: Final = 1e-12  # of a node; as good as none
_MOST: Final = 24
_HOSTS: Final = 3  # offers for each class of guests


def with_guests(program: Program) -> tuple[Program, Int]:
    """The program with nodes that hold a guest besides, and which offers those are. Whoever is a
    guest somewhere goes nowhere else but to nodes that take two.
    """
    if _capped_share(program) > _CAPPED:
        return program, np.zeros(0, dtype=np.int64)
    share_lor = program.request_lr[:, None, :] / np.maximum(program.cap_or, _NOTHING)
    share_lo = share_lor.max(axis=2)
    is_guest_lo = (share_lo > _ALONE) & program.accept_lo & np.isinf(program.supply_o)
    is_guest_lo &= np.abs(share_lor[:, :, 0] - share_lor[:, :, 1]) > _UNEVEN
    for _, members in program.cap_groups:
        is_guest_lo[members] = False
    guests, hosts = _pairs(program, is_guest_lo, share_lo)
    if not len(guests):
        return program, hosts
    accept = program.accept_lo.copy()
    for row in set(guests.tolist()):
        accept[row, is_guest_lo[row]] = False
    program = replace(program, accept_lo=accept)
    more = _programs_with_guests(program, guests, hosts)
    plain = np.full(len(program.price_o), -1)
    return replace(join_programs(program, more), guest_o=np.concatenate([plain, guests])), hosts


def _capped_share(program: Program) -> float:
    """The share of pods of which a node takes only a few, whatever its size."""
    capped = {row for _, members in program.cap_groups for row in members}
    return float(program.count_l[sorted(capped)].sum() / max(program.count_l.sum(), 1.0))


def _pairs(program: Program, is_guest_lo: Bool, share_lo: Float) -> tuple[Int, Int]:
    """Classes of guests, those that cost most first, and the offers that are cheapest for each."""
    cost_lo = np.where(program.accept_lo, share_lo * program.price_o, np.inf)
    least_l = cost_lo.min(axis=1, initial=np.inf)
    bill_l = program.count_l * np.where(np.isfinite(least_l), least_l, 0.0)
    pairs: list[tuple[int, int]] = []
    for row in np.argsort(-bill_l, kind="stable").tolist():
        if bill_l[row] < _MATTERS * bill_l.sum() or len(pairs) >= _MOST:
            break
        best = np.argsort(cost_lo[row], kind="stable")[:_HOSTS]
        pairs += [(row, host) for host in best[is_guest_lo[row, best]].tolist()]
    rows = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return rows[:, 0], rows[:, 1]


def _programs_with_guests(program: Program, guests: Int, hosts: Int) -> Program:
    """The same classes over nodes that hold a guest each."""
    left_or = np.maximum(program.cap_or[hosts] - program.request_lr[guests], _NOTHING)
    fits_lo = (program.request_lr[:, None, :] <= left_or).all(axis=2)
    return replace(
        program,
        price_o=program.price_o[hosts],
        cap_or=left_or,
        supply_o=program.supply_o[hosts],
        accept_lo=program.accept_lo[:, hosts] & fits_lo,
        domain_lo=program.domain_lo[:, hosts],
        limits=[(weight[hosts], limit) for weight, limit in program.limits],
        cuts=[],
        weights={},
    )
