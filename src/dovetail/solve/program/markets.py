"""Tells pods that need dear nodes from all others.

Pods that ask for on-demand capacity, or for a family that costs more, pay several times what others
pay for the same resources. Others hardly ever share their nodes, so there are two markets: each has
a program of its own, which is solved sooner and knows more rules than one program for both. The
dear nodes are packed first; packed together with thousands of others, pods that need them would
lose room on them to pods that could go anywhere.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dovetail.solve.axes import UNLIMITED, Bool, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.program.answers import SolvedProgram
from dovetail.solve.program.assignment import Assignment
from dovetail.solve.program.lots import Classes
from dovetail.solve.search.portfolio import is_small

Table = npt.NDArray[Any]
_DEAR: Final = 2.0  # times what CPU and memory cost where they are cheapest


class MarketSplit(NamedTuple):
    """Where the lots of either market are among all lots."""

    common: Int
    dear: Int


def dear_groups(enc: Encoded, offers: Int, fits_gp: Bool) -> Bool:
    """By group, whether it needs dear nodes; none does where the two markets are not apart."""
    nobody = np.zeros(len(enc.groups), dtype=bool)
    is_apart = len(enc.weights) < 2 and not any(enc.problem.limits.values())
    is_apart = is_apart and bool(enc.problem.policy.effort)
    if not is_apart or is_small(enc) or (enc.supply_o[offers] < UNLIMITED).any():
        return nobody
    size_p = (np.maximum(enc.cap_or[offers, :2], 0) / enc.mean_r[:2]).sum(axis=1)
    rate_p = enc.plan_price_o[offers] / np.maximum(size_p, 1e-9)
    own_g = np.where(fits_gp, rate_p, np.inf).min(axis=1, initial=np.inf)
    is_dear = np.isfinite(own_g) & (own_g > _DEAR * rate_p.min(initial=np.inf))
    return is_dear if _are_strangers(enc, is_dear) else nobody


def _are_strangers(enc: Encoded, is_dear_g: Bool) -> bool:
    """Whether no rule about nodes ties pods that need dear nodes to others."""
    terms: tuple[set[int], set[int]] = (set(), set())
    pairs = zip(enc.ties.host_own_g, enc.ties.host_match_g, strict=True)
    for is_dear, (own, match) in zip(is_dear_g.tolist(), pairs, strict=True):
        terms[is_dear].update(own, match)
    return bool(is_dear_g.any()) and not is_dear_g.all() and terms[0].isdisjoint(terms[1])


def join_guides(first: SolvedProgram, second: SolvedProgram, places: MarketSplit) -> SolvedProgram:
    """Two answers as one, over the classes and offers of both.
    An offer that both bought counts as bought by the first.
    """
    answers, programs = (first.assignment, second.assignment), (first.program, second.program)
    kept = np.flatnonzero(~np.isin(second.offers, first.offers))
    n_o, new_place = len(first.offers), np.full(len(second.offers), -1)
    new_place[kept] = n_o + np.arange(len(kept))
    unit_r = second.scale_r / first.scale_r
    is_kept = [new_place[cut.offer] >= 0 for cut in programs[1].cuts]
    cuts = [replace(cut, offer=int(new_place[cut.offer])) for cut in programs[1].cuts]
    classes = _join_classes(first.classes, second.classes, places)
    n_l = len(first.classes.count_l)
    answer = Assignment(
        nodes_o=np.concatenate([answers[0].nodes_o, answers[1].nodes_o[kept]]),
        pods_lo=_blocks(answers[0].pods_lo, answers[1].pods_lo[:, kept]),
        lambda_or=np.concatenate([answers[0].lambda_or, answers[1].lambda_or[kept] / unit_r]),
        pi_l=np.concatenate([answers[0].pi_l, answers[1].pi_l]),
        mu_to=_blocks(answers[0].mu_to, answers[1].mu_to[:, kept]),
        zone_ld={
            **answers[0].zone_ld,
            **{n_l + row: surcharge for row, surcharge in answers[1].zone_ld.items()},
        },
        nu=np.concatenate([answers[0].nu, answers[1].nu[is_kept]]),
        value=answers[0].value + answers[1].value,
    )
    accept = _blocks(first.accept_lo, second.accept_lo[:, kept])
    program = replace(
        programs[0],
        price_o=np.concatenate([programs[0].price_o, programs[1].price_o[kept]]),
        cap_or=np.concatenate([programs[0].cap_or, programs[1].cap_or[kept] * unit_r]),
        supply_o=np.concatenate([programs[0].supply_o, programs[1].supply_o[kept]]),
        request_lr=classes.request_lr / first.scale_r,
        count_l=classes.count_l,
        accept_lo=accept,
        penalty_l=np.concatenate([programs[0].penalty_l, programs[1].penalty_l]),
        cap_groups=classes.cap_groups,
        cuts=[*programs[0].cuts, *(cut for cut in cuts if cut.offer >= 0)],
    )
    offers = np.concatenate([first.offers, second.offers[kept]])
    return SolvedProgram(offers, classes, accept, first.scale_r, answer, program)


def _join_classes(first: Classes, second: Classes, places: MarketSplit) -> Classes:
    n_l = len(first.count_l)
    class_of = np.zeros(sum(map(len, places)), dtype=np.int64)
    class_of[places.common], class_of[places.dear] = first.class_of, n_l + second.class_of
    return Classes(
        class_of=class_of,
        request_lr=np.concatenate([first.request_lr, second.request_lr]),
        count_l=np.concatenate([first.count_l, second.count_l]),
        mask_l=np.concatenate([first.mask_l, second.mask_l]),
        cell_l=np.concatenate([first.cell_l, second.cell_l]),
        key_l=np.concatenate([first.key_l, second.key_l]),
        weight_l=np.concatenate([first.weight_l, second.weight_l]),
        range_ld={
            **first.range_ld,
            **{n_l + row: bounds for row, bounds in second.range_ld.items()},
        },
        cap_groups=[
            *first.cap_groups,
            *((cap, [n_l + row for row in rows]) for cap, rows in second.cap_groups),
        ],
        cap_terms=[*first.cap_terms, *second.cap_terms],
    )


def _blocks(first: Table, second: Table) -> Table:
    """Two tables as one, nothing where a row of one meets a column of the other."""
    n_rows, n_columns = first.shape
    rows, columns = second.shape
    table = np.zeros((n_rows + rows, n_columns + columns), dtype=first.dtype)
    table[:n_rows, :n_columns], table[n_rows:, n_columns:] = first, second
    return table
