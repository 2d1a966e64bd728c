from __future__ import annotations

import numpy as np
import pytest

from dovetail.solve.program.assignment import Program, Solver
from dovetail.solve.program.rounding import round_one_machine


def program(dear: float, count: float) -> Program:
    """Pods that fill a hundredth of a dear node each, or a third of a small one, which costs more
    for what it has; and others for which there are only small ones.
    """
    return Program(
        price_o=np.array([dear, 1.0]),
        cap_or=np.array([[100.0, 100.0], [3.0, 3.0]]),
        supply_o=np.full(2, np.inf),
        request_lr=np.ones((2, 2)),
        count_l=np.array([count, 90.0]),
        accept_lo=np.array([[True, True], [False, True]]),
        penalty_l=np.array([40.0, 40.0]),
        domain_lo=np.full((2, 2), -1),
    )


@pytest.mark.parametrize(
    ("count", "want"),
    [
        pytest.param(410.0, 4.0, id="ten pods are cheaper on small nodes"),
        pytest.param(490.0, 5.0, id="ninety pods are not"),
    ],
)
def test_the_cheaper_of_one_more_and_one_less_is_bought(count: float, want: float) -> None:
    """Around it, everything else is bought anew: nobody is left out."""
    answer = round_one_machine(Solver(program(25.0, count), central=True))
    assert answer.nodes_o[0] == pytest.approx(want)
    assert answer.pods_lo[0].sum() >= count * (1 - 1e-4)


def test_a_piece_of_a_node_that_is_a_trifle_of_the_bill_is_left_to_rounding() -> None:
    """Each look costs as much as the program itself."""
    answer = round_one_machine(Solver(program(25.0, 100_030.0), central=True))
    assert answer.nodes_o[0] == pytest.approx(1000.3, rel=1e-4)


def test_where_one_less_would_leave_pods_out_there_is_one_more() -> None:
    """However dear it is."""
    asked = program(25.0, 130.0)
    asked.accept_lo[0, 1] = False
    answer = round_one_machine(Solver(asked, central=True))
    assert answer.nodes_o[0] == pytest.approx(2.0)


def test_among_few_nodes_none_is_settled_beforehand() -> None:
    """Every one of them is dear; whoever packs them one by one knows better."""
    asked = program(25.0, 130.0)
    asked.count_l[1] = 3.0
    answer = round_one_machine(Solver(asked, central=True))
    assert answer.nodes_o[0] == pytest.approx(1.3, rel=1e-3)
