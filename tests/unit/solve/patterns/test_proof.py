from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from dovetail.model.instance import InstanceType
from dovetail.model.pod import Pod
from dovetail.model.policy import Policy
from dovetail.model.volumes import PodVolumes
from dovetail.solve import solve
from dovetail.solve.kernel import loading
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.bulk import run_attempt
from dovetail.solve.packing.units import unit_of
from dovetail.solve.patterns.proof import PatternBound, PricedPlan, kind_of, pattern_bound
from dovetail.solve.program.bound import better, certify, fit_existing
from dovetail.solve.puzzle import canonical
from dovetail.testing.builders import deployment, instance_type, node, pod
from tests.unit.solve.patterns.instances import (
    TYPES,
    all_patterns,
    base_of,
    cheapest_nodes,
    drawn_pods,
    market_for,
)
from tests.unit.solve.puzzles import encoded, puzzle

BIG = instance_type("big", cpu=4, memory="16Gi", price=0.2, zones=("a",))


def planned(
    pods: Iterable[Pod], *types: InstanceType, **parts: object
) -> tuple[Attempt, PricedPlan]:
    """A plan for these pods, and what is known of it, without worths."""
    empty = base_of(pods, *types, **parts)
    base = run_attempt(empty.enc, empty.offers, empty.values)
    return base, PricedPlan(base, base.enc.count_g.copy(), base.price(), {})


def bound_of(pods: Iterable[Pod], *types: InstanceType, **parts: object) -> PatternBound | None:
    """The bound that patterns prove for these pods."""
    base, plan = planned(pods, *types, **parts)
    return pattern_bound(base.enc, base.values, plan, fit_existing(base.enc))


@pytest.mark.parametrize("seed", range(10))
def test_a_bound_is_no_more_than_the_optimum(seed: int) -> None:
    """Every way to fill whole nodes is tried; the bound is below, and not far."""
    pods = drawn_pods(seed)
    found = bound_of(pods, *TYPES)
    market = market_for(encoded(pods, *TYPES))
    optimum = cheapest_nodes(market, all_patterns(market))
    assert found is not None
    assert 0.6 * optimum <= found.nanousd <= optimum


def test_pods_alike_have_an_exact_bound() -> None:
    """Five pods of 1 CPU need a node of 4 and one of 2."""
    found = bound_of(deployment(5, cpu=1, memory="1Mi"), *TYPES)
    assert found == PatternBound(200_000_000 + 110_000_000)


def test_values_are_whole_and_add_up_to_the_bound() -> None:
    """What all pods are worth together, unless that is more than the plan costs."""
    pods = [*deployment(4, "a", cpu=1), *deployment(4, "b", cpu="1700m", memory="2Gi")]
    base, plan = planned(pods, *TYPES)
    found = pattern_bound(base.enc, base.values, plan, fit_existing(base.enc))
    assert found is not None
    assert found.value_g is not None
    assert found.nanousd == min(int(found.value_g @ base.enc.count_g), plan.price)


def test_pods_that_an_existing_node_takes_count_as_nothing() -> None:
    """Nobody is left to be counted, or only those that are too large for it."""
    room = node("n1", cpu=1, memory="16Gi")
    assert bound_of(deployment(3, cpu=1), BIG, nodes=(room,)) is None
    pods = [*deployment(3, "a", cpu=1), *deployment(3, "b", cpu=3)]
    found = bound_of(pods, BIG, nodes=(room,))
    assert found == PatternBound(3 * 200_000_000)


def test_where_every_node_costs_as_much_as_the_plan_its_price_is_the_bound() -> None:
    """For one sort: nothing cheaper takes a single pod."""
    assert bound_of([pod(cpu=1)], BIG) == PatternBound(200_000_000)
    assert bound_of([pod("a", cpu=1), pod("b", cpu=2)], BIG) is None


def test_a_plan_that_costs_nothing_is_not_bounded() -> None:
    """There is nothing to prove."""
    free = instance_type("free", cpu=4, price=0.0, zones=("a",))
    assert bound_of([pod(cpu=1)], free) is None


@pytest.mark.parametrize(
    ("pods", "parts"),
    [
        pytest.param(
            [pod(f"p{n}", cpu=f"{100 + n}m") for n in range(200)], {}, id="too many sorts"
        ),
        pytest.param(
            [pod("p", cpu=2, claims=["x"]), pod("q", cpu=2, claims=["x"])],
            {
                "volumes": {
                    f"default/{name}": PodVolumes(attachments=(("csi", ("default/x",)),))
                    for name in "pq"
                }
            },
            id="pods that share a volume",
        ),
    ],
)
def test_patterns_prove_nothing(pods: list[Pod], parts: dict[str, object]) -> None:
    """Then the bound of the assignment program stands."""
    assert bound_of(pods, *TYPES, **parts) is None


def test_too_many_pods_alike_are_not_counted() -> None:
    """The dynamic programme takes time by the pod."""
    base, plan = planned(deployment(3, cpu=1), BIG)
    plan = PricedPlan(base, np.array([10**6]), 10**15, {})
    assert pattern_bound(base.enc, base.values, plan, np.array([False])) is None


def test_a_spread_over_hosts_does_not_raise_the_bound() -> None:
    """A lone host has the least pods of all hosts, and may take all three."""
    pods = deployment(3, cpu=1, memory="1Mi", spread=[{"topology_key": "hostname"}])
    small = instance_type("small", cpu=1, memory="4Gi", price=0.15, zones=("a",))
    assert bound_of(pods, BIG, small) == PatternBound(200_000_000)


def test_pods_that_stand_apart_raise_the_bound() -> None:
    """Three that keep their own kind away need three nodes."""
    pods = deployment(3, cpu=1, memory="1Mi", anti_affinity=[{"topology_key": "hostname"}])
    assert bound_of(pods, BIG) == PatternBound(600_000_000)


def test_worths_that_are_known_are_used() -> None:
    """Those of the plan itself, cut until no node holds more than it costs."""
    pods = [*deployment(4, "a", cpu=1), *deployment(4, "b", cpu="1700m", memory="2Gi")]
    base, plan = planned(pods, *TYPES)
    kinds = [kind_of(unit_of(base.enc, group)) for group in range(2)]
    for worth in (1e6, 1e12):
        known = PricedPlan(base, plan.placed_g, plan.price, dict.fromkeys(kinds, worth))
        found = pattern_bound(base.enc, base.values, known, np.zeros(2, dtype=bool))
        assert found is not None
        assert 0 < found.nanousd <= plan.price


def test_the_better_certificate_is_stated() -> None:
    """That of patterns if it says more, in either form; else the other."""
    base, plan = planned([*deployment(2, "a", cpu=1), *deployment(2, "b", cpu=3)], BIG)
    enc = base.enc
    proof = certify(
        enc, base.values, np.arange(enc.n_offers), placed_g=plan.placed_g, price=plan.price
    )
    assert better(enc, proof, None) is proof
    assert better(enc, proof, PatternBound(proof.bound_nanousd)) is proof
    counted = better(enc, proof, PatternBound(proof.bound_nanousd * 2))
    assert (counted.is_counted, counted.multipliers) == (True, ())
    valued = better(enc, proof, PatternBound(10**12, np.array([7, 0])))
    assert [one.nanousd for one in valued.pod_values] == [7]
    assert len(valued.pod_values[0].pods) == 2
    assert not valued.is_counted


def test_both_twins_prove_the_same() -> None:
    """The whole solution, with its certificate, of which some are counts and some are values."""
    forms = set()
    for seed in range(8):
        asked = canonical(puzzle(drawn_pods(seed), *TYPES, policy=Policy(effort=1)))
        first = solve(asked)
        with loading.plain():
            assert solve(asked) == first, seed
        forms.add((first.certificate.is_counted, bool(first.certificate.pod_values)))
    assert {(True, False), (False, True)} <= forms
