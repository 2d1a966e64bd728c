from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.solve.axes import Float
from dovetail.solve.program.assignment import Program, Solver
from dovetail.solve.program.cuts import KINDS, cuts_of, likely, violated_cuts, weigh, weigh_exactly

KS = st.integers(1, 63)


def slow_weight(request: int, capacity: int, k: int) -> Fraction:
    """The definition, in exact numbers."""
    share = Fraction(request, capacity)
    steps = (k + 1) * share
    return share if steps.denominator == 1 else Fraction(int(steps), k)


def exact(requests: Sequence[int], capacity: int, k: int) -> Float:
    """What each request weighs on one node."""
    weights = weigh_exactly(np.array(requests, np.int64), np.array([capacity], np.int64), k)
    found: Float = weights[:, 0]
    return found


def program(shares: Sequence[float], counts: Sequence[int], *, n_offers: int = 1) -> Program:
    """Pods that ask for these shares of a node's cpu and little memory."""
    n_l = len(shares)
    return Program(
        price_o=np.ones(n_offers),
        cap_or=np.ones((n_offers, 2)),
        supply_o=np.full(n_offers, np.inf),
        request_lr=np.array([[share, 0.01] for share in shares]),
        count_l=np.array(counts, dtype=np.float64),
        accept_lo=np.ones((n_l, n_offers), dtype=bool),
        penalty_l=np.full(n_l, 20.0),
        domain_lo=np.full((n_l, n_offers), -1, dtype=np.int64),
    )


@given(st.lists(st.integers(1, 10**12), min_size=1, max_size=12), st.integers(0, 10**12), KS)
def test_what_fits_one_node_weighs_at_most_one(sizes: list[int], spare: int, k: int) -> None:
    """Whatever the pods are, and however much of the node stays free."""
    capacity = sum(sizes) + spare
    assert float(exact(sizes, capacity, k).sum()) <= 1 + 1e-9
    assert sum(slow_weight(size, capacity, k) for size in sizes) <= 1


@given(st.integers(1, 10**12), st.data(), KS)
def test_integers_are_weighed_by_the_definition(capacity: int, data: st.DataObject, k: int) -> None:
    """The array form and the definition agree."""
    request = data.draw(st.integers(0, capacity))
    assert exact([request], capacity, k)[0] == pytest.approx(
        float(slow_weight(request, capacity, k)), rel=1e-12
    )


@given(st.integers(1, 10**6), st.data(), KS)
def test_shares_and_integers_weigh_the_same(capacity: int, data: st.DataObject, k: int) -> None:
    """Floating point sees the same steps as integers do."""
    request = data.draw(st.integers(0, capacity))
    rough = weigh(np.array([request / capacity]), k)
    assert rough[0] == pytest.approx(exact([request], capacity, k)[0], rel=1e-9)


@given(st.integers(1, 1000), st.data(), KS)
def test_a_larger_pod_never_weighs_less(capacity: int, data: st.DataObject, k: int) -> None:
    """Weights rise with requests."""
    small, large = sorted(data.draw(st.tuples(*[st.integers(0, capacity)] * 2)))
    below, above = exact([small, large], capacity, k)
    assert below <= above


def test_more_than_half_a_node_counts_as_all_of_it() -> None:
    """With k = 1: half keeps its share, more weighs one, less weighs nothing."""
    assert exact([4, 5, 6], 10, 1).tolist() == [0.0, 0.5, 1.0]


def test_a_cut_weighs_only_the_classes_that_its_offer_takes() -> None:
    """A class that cannot go there has no weight there."""
    asked = program([0.6, 0.6], [1, 1])
    asked.accept_lo[1, 0] = False
    [cut] = cuts_of(asked, [(0, KINDS.index((0, 1)))])
    assert cut.weight_l.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("share", [0.04, 0.3, 0.34, 0.5, 0.51, 0.9, 1.0])
def test_a_cut_weighs_as_the_function_says(share: float) -> None:
    """All kinds, each by its own resource and k."""
    asked = program([share], [1])
    for kind, (resource, k) in enumerate(KINDS):
        want = weigh(asked.request_lr[:, resource], k)
        [cut] = cuts_of(asked, [(0, kind)])
        assert cut.weight_l.tolist() == want.tolist()


def test_cuts_make_the_program_buy_whole_nodes_for_large_pods() -> None:
    """Three pods of 0.6 nodes need 1.8 nodes if cut up, and three as they are."""
    solver = Solver(program([0.6], [3]))
    answer = solver.solve()
    assert answer.value == pytest.approx(1.8)
    cuts = violated_cuts(solver.program, answer)
    assert (0, KINDS.index((0, 1))) in {(cut.offer, cut.kind) for cut in cuts}
    solver.add_cuts(cuts)
    answer = solver.solve()
    assert answer.value == pytest.approx(3.0)
    assert violated_cuts(solver.program, answer) == []


@pytest.mark.parametrize(
    ("n_large", "n_small", "n_nodes"),
    [
        pytest.param(700, 190, 106.0, id="among hundreds of pods, whole CPUs are counted"),
        pytest.param(70, 19, 10.0, id="few pods have patterns, which know better"),
    ],
)
def test_seven_pods_of_eight_cpus_leave_room_for_one_of_four(
    n_large: int, n_small: int, n_nodes: float
) -> None:
    """A node of 64 has 63.62 for pods: the program would put nearly two of four beside seven."""
    solver = Solver(program([8 / 63.62, 4 / 63.62], [n_large, n_small]))
    answer = solver.solve()
    for _ in range(4):
        solver.add_cuts(violated_cuts(solver.program, answer))
        answer = solver.solve()
    assert answer.value == pytest.approx(n_nodes, rel=1e-3)


def test_the_worst_cuts_come_first_and_no_more_than_asked_for() -> None:
    """Pods of 0.6 break the cut of k = 1 by most."""
    solver = Solver(program([0.6], [3]))
    (worst,) = violated_cuts(solver.program, solver.solve(), most=1)
    assert KINDS[worst.kind] == (0, 1)


def test_an_answer_of_whole_pods_breaks_no_cut() -> None:
    """Two halves fill a node."""
    solver = Solver(program([0.5], [4]))
    assert violated_cuts(solver.program, solver.solve()) == []


def test_cuts_that_hardly_matter_are_left_out() -> None:
    """One awkward pod among thousands of small ones moves the price by less than a thousandth."""
    solver = Solver(program([0.6, 0.01], [1, 400_000]))
    assert violated_cuts(solver.program, solver.solve()) == []


def test_awkward_pods_have_likely_cuts() -> None:
    """Pods of 0.6 nodes waste most; those of a half, or tiny ones, waste nothing."""
    found = likely(program([0.6], [3]), np.ones(1))
    assert found[0] == (0, KINDS.index((0, 1)))
    assert len(found) == 3
    assert likely(program([0.5], [3]), np.ones(1)) == []
    assert likely(program([0.05], [3]), np.ones(1)) == []


def test_cuts_are_likely_only_where_something_of_worth_goes() -> None:
    """For every offer that takes the pods, and for none if they are worthless."""
    asked = program([0.6], [3], n_offers=2)
    assert {offer for offer, _ in likely(asked, np.ones(1))} == {0, 1}
    assert likely(asked, np.zeros(1)) == []
