from __future__ import annotations

import numpy as np
import pytest

from dovetail.solve.packing.pack import lot_of
from dovetail.solve.program.assignment import Program, Solver
from dovetail.solve.program.guests import with_guests
from dovetail.solve.program.lots import Lot
from dovetail.solve.program.sifting import offer_space
from dovetail.testing.builders import deployment, instance_type
from tests.unit.solve.puzzles import encoded, units_of

WIDE = instance_type("wide", cpu=48, memory="176Gi", price=0.48)
SMALL = instance_type("small", cpu=8, memory="32Gi", price=0.09)


def program_of(*deployments: tuple[int, float, int]) -> Program:
    """The program for so many pods of so much cpu and GiB, on wide and small nodes."""
    pods = [
        pod
        for number, (count, cpu, gib) in enumerate(deployments)
        for pod in deployment(count, f"d{number}", cpu=cpu, memory=f"{gib}Gi")
    ]
    enc = encoded(pods, WIDE, SMALL)
    lots: list[Lot] = [lot_of(unit, unit.count) for unit in units_of(enc)]
    offers = np.arange(enc.n_offers)
    return offer_space(enc, offers, lots, ()).program(offers)


LARGE = (4, 16.0, 127)
EVEN = (200, 1.0, 3)


def test_what_a_guest_leaves_of_its_node_is_all_that_others_can_have() -> None:
    """They leave more cpu than memory, and other nodes run out of cpu: sums do not show that."""
    program = program_of(LARGE, EVEN)
    plain = Solver(program).solve()
    whole, hosts = with_guests(program)
    assert len(hosts) > 0
    assert Solver(whole).solve().value > plain.value * 1.01


def test_a_guest_is_counted_like_any_other_pod() -> None:
    """Every pod is placed once, and on nodes with a guest there is one of it for each node."""
    whole, _ = with_guests(program_of(LARGE, EVEN))
    answer = Solver(whole).solve()
    assert answer.pods_lo.sum(axis=1) == pytest.approx(whole.count_l)
    assert whole.guest_o is not None
    for offer in np.flatnonzero(whole.guest_o >= 0).tolist():
        guests = answer.pods_lo[whole.guest_o[offer], offer]
        assert guests == pytest.approx(answer.nodes_o[offer])


@pytest.mark.parametrize(
    "deployments",
    [
        pytest.param([(200, 1.0, 4), (50, 2.0, 4)], id="a node takes many of each"),
        pytest.param([(4, 30.0, 110), EVEN], id="it uses cpu and memory alike"),
        pytest.param([(1, 5.0, 10), (2_000, 1.0, 4)], id="it is a trifle of the bill"),
    ],
)
def test_a_pod_is_no_guest_where(deployments: list[tuple[int, float, int]]) -> None:
    """Programs stay as small as they were."""
    program = program_of(*deployments)
    whole, hosts = with_guests(program)
    assert whole is program
    assert not len(hosts)


def test_what_is_scarce_is_not_sold_twice() -> None:
    """A node from a reservation would count once with a guest and once without."""
    program = program_of(LARGE, EVEN)
    program.supply_o = np.ones_like(program.supply_o)
    assert not len(with_guests(program)[1])
