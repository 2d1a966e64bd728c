"""The solution of the linear program, and what its dual values say about other offers.

Its multipliers price every offer: those that it knows have their own, and any other takes the one,
scaled to its price, that undercuts the program's own pod values least.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from dovetail.solve.axes import Bool, Float, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.kernel import loading, loops
from dovetail.solve.program.assignment import Assignment, Program
from dovetail.solve.program.cuts import KINDS, weigh
from dovetail.solve.program.lots import Classes
from dovetail.solve.program.multipliers import Vectors, full_node, scales

_SLACK: Final = 4.0  # multipliers worth less of a node's price than this are mere noise


@dataclass(slots=True)
class SolvedProgram:
    """The program's answer, with what its rows and columns stand for."""

    offers: Int  # the sifted offers, by number
    classes: Classes
    accept_lo: Bool  # over the sifted offers
    scale_r: Float
    assignment: Assignment
    program: Program


def multipliers(enc: Encoded, solved: SolvedProgram) -> tuple[Vectors, Int]:
    """The distinct multipliers of offers that the program uses, in nanodollars."""
    answer = solved.assignment
    # A spread over hosts caps a node only while some host is empty: no proof can rest on it.
    hard = [enc.ties.hosts[term].kind != TermKind.SPREAD for term in solved.classes.cap_terms]
    mu_to = answer.mu_to * np.array(hard, dtype=np.float64)[:, None]
    nu = np.zeros((len(answer.nodes_o), len(KINDS)))
    for cut, amount in zip(solved.program.cuts, answer.nu.tolist(), strict=True):
        nu[cut.offer, cut.kind] += amount
    lambda_or = np.where(enc.cap_or[solved.offers] > 1e15, 0.0, answer.lambda_or)
    rows = np.concatenate([lambda_or / solved.scale_r, mu_to.T, nu], axis=1) * 1e9
    # What was not bought may have multipliers as small as you like: those are mere noise.
    cap_t = np.array([cap for cap, _ in solved.classes.cap_groups])
    full_o = (lambda_or * solved.program.cap_or).sum(axis=1) + mu_to.T @ cap_t + nu.sum(axis=1)
    sound = (answer.nodes_o > 1e-7) | (full_o * _SLACK >= solved.program.price_o)
    sound &= (rows > 0).any(axis=1)
    own_o = np.full(len(rows), -1, dtype=np.int64)
    distinct, number = np.unique(rows[sound], axis=0, return_inverse=True)
    own_o[sound] = number.reshape(-1)
    if not len(distinct):
        distinct = np.zeros((1, rows.shape[1]))
    n_r, n_t = answer.lambda_or.shape[1], len(answer.mu_to)
    return (distinct[:, :n_r], distinct[:, n_r : n_r + n_t], distinct[:, n_r + n_t :]), own_o


def least_loss(
    enc: Encoded, offers: Int, solved: SolvedProgram, known: tuple[Vectors, Int]
) -> tuple[Int, Float]:
    """For every offer the multiplier of a bought one that undercuts the program's own pod values
    least, and by how much.
    """
    vectors, own_o = known
    vector_kr, vector_kt, vector_kw = vectors
    used = np.unique(own_o[(solved.assignment.nodes_o > 1e-7) & (own_o >= 0)])
    used = used if len(used) else np.arange(len(vector_kr))
    cap_t = np.array([cap for cap, _ in solved.classes.cap_groups])
    scale_kp = scales(enc, offers, full_node(enc, offers, vectors, cap_t))
    classes = solved.classes
    pi = _target(enc, offers, solved)
    member_tl = np.zeros((len(classes.cap_groups), len(pi)))
    for term, (_, rows) in enumerate(classes.cap_groups):
        member_tl[term, rows] = 1.0
    worth_kl = vector_kr @ classes.request_lr.T + vector_kt @ member_tl
    accept = enc.masks_me[:, offers][classes.mask_l]
    pinned = classes.cell_l >= 0
    accept[pinned] &= enc.cell_o[offers][None, :] == classes.cell_l[pinned][:, None]
    for resource in range(enc.cap_or.shape[1]):
        accept &= classes.request_lr[:, resource][:, None] <= enc.cap_or[offers, resource][None, :]
    demand = classes.count_l[:, None] * accept
    kinds = [kind for kind in range(len(KINDS)) if vector_kw[used, kind].any()]
    resources, ks = np.array([KINDS[kind] for kind in kinds], dtype=np.int64).reshape(-1, 2).T
    cap_wp = np.maximum(enc.cap_or[offers][:, resources].T.astype(np.float64), 1.0)
    cuts = (ks, classes.request_lr[:, resources].T, cap_wp)
    parts = (worth_kl[used], vector_kw[used][:, kinds], scale_kp[used])
    library = loading.library()
    if library is None:
        choice, best = _least_loss(parts, cuts, (pi, demand))
    else:
        choice, best = loops.least_loss(
            library,
            pi,
            demand=demand,
            **dict(zip(("worth", "nu", "scale"), parts, strict=True)),
            **dict(zip(("k_w", "request", "cap"), cuts, strict=True)),
        )
    return used[choice], best


def _least_loss(
    vectors: tuple[Float, Float, Float], cuts: tuple[Int, Float, Float], pods: tuple[Float, Float]
) -> tuple[Int, Float]:
    """The plain form of the compiled loop, which says what these are."""
    worth_kl, nu_kw, scale_kp = vectors
    pi, demand = pods
    weights = [weigh(asked[:, None] / cap, k) for k, asked, cap in zip(*cuts, strict=True)]
    best = np.full(pi.shape[1], np.inf)
    choice = np.zeros(pi.shape[1], dtype=np.int64)
    for number, worth_l in enumerate(worth_kl):
        whole = np.repeat(worth_l[:, None], pi.shape[1], axis=1)
        for weight, amount in zip(weights, nu_kw[number].tolist(), strict=True):
            if amount:
                whole += weight * amount
        short = np.maximum(pi - whole * scale_kp[number][None, :], 0.0)
        loss = (short * demand).sum(axis=0)
        better = loss < best - 1e-9
        best[better] = loss[better]
        choice[better] = number
    return choice, best


def _target(enc: Encoded, offers: Int, solved: SolvedProgram) -> Float:
    """classes x offers: what the program says a pod is worth there, zone quotas included."""
    classes = solved.classes
    pi = np.repeat(solved.assignment.pi_l[:, None], len(offers), axis=1)
    for row, surcharge in solved.assignment.zone_ld.items():
        domain = enc.ties.domains_ck[enc.cell_o[offers], classes.key_l[row]]
        pi[row] += np.where(domain >= 0, surcharge[domain], 0.0)
    return np.maximum(pi, 0.0) * 1e9
