"""Rounds the number of nodes of one dear machine in the linear program.

The program buys pieces of nodes, and numbers are rounded in the end. With cheap nodes that hardly
shows. A piece of a dear one is worth a look both ways: everything else is bought anew around it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from dovetail.solve.program.assignment import Assignment, Program, Solver

_MANY_NODES: Final = 20  # among few nodes every one is dear, and the tail knows better
_DEAR: Final = 0.02  # of the bill, for one node
_SHOWS: Final = 0.005  # of the bill, for the piece or what is missing of it
_FEW: Final = 2  # dear offers of which pieces are bought; with more there is no end to it


def round_one_machine(solver: Solver) -> Assignment:
    """What the solver says, with a whole number of the one machine for which that shows most."""
    answer = solver.solve()
    offer = _dear_piece(answer, solver.program)
    if offer is None:
        return answer
    ways = []
    for amount in (np.floor(answer.nodes_o[offer]), np.ceil(answer.nodes_o[offer])):
        solver.fix(offer, float(amount))
        ways.append(solver.solve())
    return min(ways, key=lambda assignment: cost_of(assignment, solver.program))


def _dear_piece(answer: Assignment, program: Program) -> int | None:
    if answer.nodes_o.sum() < _MANY_NODES:
        return None
    price = program.price_o
    piece = np.abs(answer.nodes_o - np.round(answer.nodes_o)) * price
    pieces = np.flatnonzero((price > _DEAR * answer.value) & (piece > _SHOWS * answer.value))
    return int(pieces[np.argmax(piece[pieces])]) if 0 < len(pieces) <= _FEW else None


def cost_of(answer: Assignment, program: Program) -> float:
    """What is bought, and what it costs to leave pods out."""
    short = np.maximum(program.count_l - answer.pods_lo.sum(axis=1), 0.0)
    return answer.value + float(program.penalty_l @ short)
