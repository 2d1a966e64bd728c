from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from dovetail.solve.axes import Float
from dovetail.solve.program import cuts
from dovetail.solve.program.assignment import Assignment, Cut, Program, Solver
from dovetail.solve.program.cuts import KINDS
from tests.unit.solve.puzzles import lottery

N_PROGRAMS = 60
_TRIED = [KINDS.index(kind) for kind in ((0, 1), (0, 2), (1, 1))]


@dataclass(frozen=True)
class Wish:
    """What a random program may contain."""

    ranges: bool = False
    limits: bool = False
    caps: bool = True
    supply: bool = False


def drawn(seed: int, wish: Wish) -> Program:
    """A random program; the first two offers take everybody and are never short."""
    chance = np.random.default_rng(seed)
    n_l, n_o = int(chance.integers(1, 6)), int(chance.integers(2, 7))
    accept = chance.random((n_l, n_o)) < 0.7
    accept[:, :2] = True
    domain = np.repeat(np.arange(n_o)[None, :] % 2, n_l, axis=0)
    count = chance.integers(1, 40, n_l).astype(np.float64)
    supply = np.full(n_o, np.inf)
    if wish.supply:
        supply = np.where(chance.random(n_o) < 0.5, chance.integers(0, 5, n_o), np.inf)
    return Program(
        price_o=chance.integers(1, 20, n_o) / 10.0,
        cap_or=chance.integers(5, 20, (n_o, 2)) / 10.0,
        supply_o=supply,
        request_lr=chance.integers(1, 10, (n_l, 2)) / 20.0,
        count_l=count,
        accept_lo=accept,
        penalty_l=np.full(n_l, 40.0),
        domain_lo=domain if wish.ranges else np.full((n_l, n_o), -1),
        range_ld={0: (np.floor(count[:1] / 3).repeat(2), np.ceil(count[:1] * 0.6).repeat(2))}
        if wish.ranges
        else {},
        cap_groups=[(float(chance.integers(1, 4)), list(range(0, n_l, 2)))] if wish.caps else [],
        limits=[(chance.random(n_o), float(chance.integers(1, 9)))] if wish.limits else [],
    )


def cost(program: Program, answer: Assignment) -> float:
    """What the program minimises: nodes, and whoever is left out."""
    short = np.maximum(program.count_l - answer.pods_lo.sum(axis=1), 0.0)
    return answer.value + float(short @ program.penalty_l)


def part(program: Program, offers: list[int]) -> Program:
    """The same program over some of its offers."""
    return replace(
        program,
        price_o=program.price_o[offers],
        cap_or=program.cap_or[offers],
        supply_o=program.supply_o[offers],
        accept_lo=program.accept_lo[:, offers],
        domain_lo=program.domain_lo[:, offers],
        limits=[(weight[offers], limit) for weight, limit in program.limits],
        cuts=[],
        weights={},
    )


def cuts_of(program: Program, seed: int) -> list[Cut]:
    """A few cuts of the program."""
    chance = lottery(seed)
    pairs = [(chance.randrange(len(program.price_o)), chance.choice(_TRIED)) for _ in range(3)]
    return cuts.cuts_of(program, sorted(set(pairs)))


WISHES = pytest.mark.parametrize(
    "wish",
    [
        pytest.param(Wish(), id="caps"),
        pytest.param(Wish(ranges=True), id="ranges"),
        pytest.param(Wish(limits=True), id="limits"),
        pytest.param(Wish(supply=True), id="supply"),
        pytest.param(Wish(limits=True, supply=True), id="limits and supply"),
    ],
)


@WISHES
def test_the_answer_keeps_every_row(wish: Wish) -> None:
    """Capacities, wishes, caps, quotas of domains, limits, supply and cuts."""
    for seed in range(N_PROGRAMS):
        program = drawn(seed, wish)
        cuts = cuts_of(program, seed)
        answer = Solver(replace(program, cuts=list(cuts))).solve()
        x, y = answer.nodes_o, answer.pods_lo
        slack = 1e-6
        assert (y.T @ program.request_lr <= program.cap_or * x[:, None] + slack).all()
        assert (y[~program.accept_lo] == 0).all()
        assert (x <= program.supply_o + slack).all()
        for cap, members in program.cap_groups:
            assert (y[members].sum(axis=0) <= cap * x + slack).all()
        for weight, limit in program.limits:
            assert weight @ x <= limit + slack
        for row, (low, high) in program.range_ld.items():
            held = np.bincount(program.domain_lo[row], weights=y[row], minlength=len(low))
            assert (held >= low - slack).all()
            assert (held <= high + slack).all()
        for cut in cuts:
            assert cut.weight_l @ y[:, cut.offer] <= x[cut.offer] + slack


@WISHES
def test_offers_that_come_later_are_as_good_as_those_from_the_start(wish: Wish) -> None:
    """The optimum is that of the whole program, and so is what the solver says it holds."""
    for seed in range(N_PROGRAMS):
        program = drawn(seed, wish)
        whole = Solver(replace(program)).solve()
        offers = list(range(len(program.price_o)))
        solver = Solver(part(program, offers[:2]))
        first = solver.solve()
        assert cost(part(program, offers[:2]), first) >= cost(program, whole) - 1e-6
        for offer in offers[2:]:
            solver.add_offers(part(program, [offer]))
        answer = solver.solve()
        assert cost(program, answer) == pytest.approx(cost(program, whole), abs=1e-6), seed
        assert solver.program.accept_lo.tolist() == program.accept_lo.tolist()
        assert solver.program.price_o.tolist() == program.price_o.tolist()
        assert solver.program.cap_or.tolist() == program.cap_or.tolist()
        assert solver.program.supply_o.tolist() == program.supply_o.tolist()
        assert solver.program.domain_lo.tolist() == program.domain_lo.tolist()


@WISHES
def test_cuts_that_come_later_are_as_good_as_those_from_the_start(wish: Wish) -> None:
    """Each adds a row, and no row makes anything cheaper."""
    for seed in range(N_PROGRAMS):
        program = drawn(seed, wish)
        cuts = cuts_of(program, seed)
        whole = Solver(replace(program, cuts=list(cuts))).solve()
        solver = Solver(replace(program, cuts=[]))
        without = solver.solve()
        solver.add_cuts(cuts[:1])
        solver.solve()
        solver.add_cuts(cuts[1:])
        answer = solver.solve()
        assert cost(program, answer) == pytest.approx(cost(program, whole), abs=1e-6), seed
        assert cost(program, answer) >= cost(program, without) - 1e-6, seed
        assert [cut.kind for cut in solver.program.cuts] == [cut.kind for cut in cuts]
        assert len(answer.nu) == len(cuts)


def pod_worth(program: Program, answer: Assignment) -> Float:
    """classes x offers: what the multipliers of an offer say a pod costs there."""
    worth = program.request_lr @ answer.lambda_or.T
    for number, (_, members) in enumerate(program.cap_groups):
        worth[members] += answer.mu_to[number][None, :]
    for cut, amount in zip(program.cuts, answer.nu.tolist(), strict=True):
        worth[:, cut.offer] += amount * cut.weight_l
    found: Float = worth
    return found


@pytest.mark.parametrize("wish", [Wish(), Wish(ranges=True), Wish(caps=False)])
def test_multipliers_prove_the_optimum(wish: Wish) -> None:
    """They price every node at no more than it costs, every pod at no more than it costs anywhere,
    and all pods together at what the program pays.
    """
    for seed in range(N_PROGRAMS):
        solver = Solver(drawn(seed, wish))
        solver.add_cuts(cuts_of(solver.program, seed))
        answer, program = solver.solve(), solver.program
        full = (answer.lambda_or * program.cap_or).sum(axis=1)
        for number, (cap, _) in enumerate(program.cap_groups):
            full = full + cap * answer.mu_to[number]
        for cut, amount in zip(program.cuts, answer.nu.tolist(), strict=True):
            full[cut.offer] += amount
        assert (full <= program.price_o + 1e-6).all(), seed
        pi = np.repeat(answer.pi_l[:, None], len(program.price_o), axis=1)
        total = float(answer.pi_l @ program.count_l)
        for row, extra in answer.zone_ld.items():
            pi[row] += extra[program.domain_lo[row]]
            low, high = program.range_ld[row]
            total += float(np.where(extra > 0, extra * low, extra * high).sum())
        worth = pod_worth(program, answer)
        assert (pi <= worth + 1e-6)[program.accept_lo].all(), seed
        assert total == pytest.approx(cost(program, answer), rel=1e-6, abs=1e-6), seed


def test_the_central_answer_costs_the_same() -> None:
    """It lies inside the face of all optima rather than at a corner."""
    for seed in range(N_PROGRAMS):
        program = drawn(seed, Wish())
        corner = cost(program, Solver(replace(program)).solve())
        middle = cost(program, Solver(replace(program), central=True).solve())
        assert middle == pytest.approx(corner, rel=1e-3), seed


def test_whoever_has_no_place_is_left_out() -> None:
    """Supply for two nodes holds four of ten pods."""
    program = replace(
        drawn(0, Wish(caps=False)),
        price_o=np.array([1.0]),
        cap_or=np.array([[1.0, 1.0]]),
        supply_o=np.array([2.0]),
        request_lr=np.array([[0.5, 0.1]]),
        count_l=np.array([10.0]),
        accept_lo=np.array([[True]]),
        penalty_l=np.array([40.0]),
        domain_lo=np.array([[-1]]),
    )
    answer = Solver(program).solve()
    assert answer.pods_lo.sum() == pytest.approx(4.0)
    assert answer.value == pytest.approx(2.0)
    assert answer.pi_l.tolist() == pytest.approx([40.0])
