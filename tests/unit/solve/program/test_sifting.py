from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from dovetail.solve.axes import Int
from dovetail.solve.encoding.dominance import undominated_offers
from dovetail.solve.encoding.encode import Encoded, encode
from dovetail.solve.packing.units import ANY_CELL, unit_of
from dovetail.solve.program.answers import SolvedProgram
from dovetail.solve.program.assignment import Solver
from dovetail.solve.program.lots import Lot
from dovetail.solve.program.pod_worth import takes
from dovetail.solve.program.sifting import offer_space, solve_program, without_sifting
from dovetail.testing.builders import deployment, instance_type, node_pool, pod
from tests.unit.solve.puzzles import LARGE, SMALL, encoded, random_puzzle


def lots_of(enc: Encoded, offers: Int) -> list[Lot]:
    """Every group that some offer takes, as a lot."""
    fits = takes(enc, np.arange(len(enc.groups)), offers)
    units = [unit_of(enc, group) for group in range(len(enc.groups))]
    return [
        Lot(unit.request, unit.mask, ANY_CELL, int(enc.count_g[group]), unit.own, unit.match)
        for group, unit in enumerate(units)
        if fits[group].any()
    ]


def guided(enc: Encoded) -> SolvedProgram:
    """The answer over all offers."""
    offers = np.arange(enc.n_offers)
    return solve_program(enc, offers, lots_of(enc, offers))


def bought(enc: Encoded, found: SolvedProgram) -> dict[str, float]:
    """How many nodes of which type, rounded."""
    result: dict[str, float] = {}
    for offer, amount in zip(found.offers.tolist(), found.assignment.nodes_o, strict=True):
        name = enc.market.types[enc.type_o[offer]].name
        if amount > 1e-6:
            result[name] = round(result.get(name, 0.0) + float(amount), 4)
    return result


def seeds() -> Iterator[tuple[int, Encoded, Int, list[Lot]]]:
    """Random puzzles with something to buy for."""
    for seed in range(60):
        enc = encode(random_puzzle(seed))
        offers, _ = undominated_offers(enc)
        lots = lots_of(enc, offers) if enc.groups else []
        if lots:
            yield seed, enc, offers, lots


def test_sifting_buys_for_every_pod_and_only_what_takes_it() -> None:
    """No class is left short, as long as nothing is scarce."""
    for seed, enc, offers, lots in seeds():
        if (enc.supply_o[offers] < 10**12).any():
            continue
        found = solve_program(enc, offers, lots)
        placed = found.assignment.pods_lo.sum(axis=1)
        assert placed == pytest.approx(found.classes.count_l, rel=1e-6), f"seed {seed}"
        assert not found.assignment.pods_lo[~found.accept_lo].any(), f"seed {seed}"
        assert np.isin(found.offers, offers).all(), f"seed {seed}"
        assert len(set(found.offers.tolist())) == len(found.offers), f"seed {seed}"


def test_a_sifted_answer_is_never_cheaper_than_one_over_all_offers() -> None:
    """A few offers, and cuts on top, cannot cost less than everything without cuts."""
    for seed, enc, offers, lots in seeds():
        found = solve_program(enc, offers, lots)
        everything = offer_space(enc, offers, lots, ()).program(np.arange(len(offers)))
        everything.cuts = []
        least = Solver(everything).solve()
        short = everything.count_l - least.pods_lo.sum(axis=1)
        if short.max() < 1e-6:
            assert found.assignment.value >= least.value - 1e-6, f"seed {seed}"
            assert found.assignment.value <= 2.5 * least.value, f"seed {seed}"


def test_the_cheapest_machine_for_a_pod_is_found_among_many() -> None:
    """The larger the machine, the more it costs for what it has, but for one."""
    kinds = [
        instance_type(f"t{n:02}", cpu=n + 1, memory=f"{4 * n + 4}Gi", price=0.05 * (n + 1) ** 1.1)
        for n in range(40)
    ]
    kinds.append(instance_type("bargain", cpu=16, memory="64Gi", price=0.4))
    enc = encoded(deployment(160, cpu=1, memory="2Gi"), *kinds)
    assert bought(enc, guided(enc)) == {"bargain": 10.0}


def test_pods_of_several_kinds_buy_a_mix() -> None:
    """Memory-heavy pods alone would want other machines than both kinds together."""
    kinds = (
        instance_type("even", cpu=8, memory="32Gi", price=0.32),
        instance_type("wide", cpu=8, memory="64Gi", price=0.50),
        instance_type("thin", cpu=8, memory="16Gi", price=0.28),
    )
    pods = [
        *deployment(100, "cpu", cpu=1, memory="1Gi"),
        *deployment(100, "memory", cpu=1, memory="7Gi"),
    ]
    enc = encoded(pods, *kinds)
    assert bought(enc, guided(enc)) == {"even": 25.0}
    enc = encoded(pods[100:], *kinds)
    assert list(bought(enc, guided(enc))) == ["wide"]


def test_whole_pods_are_reckoned_with() -> None:
    """A pod of 5 cpu wastes three of a machine of 8: the machine of 5 is better, though dearer by
    the cpu.
    """
    kinds = (
        instance_type("eight", cpu=8, price=0.32, zones=("a",)),
        instance_type("five", cpu=5, price=0.25, zones=("a",)),
    )
    enc = encoded(deployment(10, cpu=5), *kinds)
    assert bought(enc, guided(enc)) == {"five": 10.0}


def test_pods_that_exclude_each_other_buy_the_cheapest_machine_each() -> None:
    """Though a large one would be cheaper by the cpu."""
    enc = encoded(deployment(5, cpu=1, anti_affinity=[{"topology_key": "hostname"}]))
    assert bought(enc, guided(enc)) == {"small": 5.0}


def test_a_spread_is_bought_for_in_every_domain() -> None:
    """Two zones, at least four pods in each, though one is much cheaper."""
    offerings = [{"zone": "a", "price": 0.1}, {"zone": "b", "price": 0.9}]
    kind = instance_type("x", cpu=4, price=None, offerings=offerings)
    enc = encoded(deployment(9, cpu=1, spread=[{"topology_key": "zone"}]), kind)
    unit = unit_of(enc, 0)
    low, high = np.array([4, 4]), np.array([5, 5])
    lot = Lot(unit.request, unit.mask, ANY_CELL, 9, key=0, low=low, high=high)
    found = solve_program(enc, np.arange(enc.n_offers), [lot])
    by_zone = {
        enc.market.offers[offer].offering.zone: float(pods)
        for offer, pods in zip(found.offers.tolist(), found.assignment.pods_lo[0], strict=True)
    }
    assert by_zone == pytest.approx({"a": 5.0, "b": 4.0})


def test_limits_of_pools_are_kept() -> None:
    """Only one large machine may be had; the other pods go to small ones of another pool."""
    enc = encoded(
        deployment(16, cpu=1),
        node_pools=(node_pool("big"), node_pool("little")),
        instance_types={"big": (LARGE,), "little": (SMALL,)},
    )
    offers = np.arange(enc.n_offers)
    limits = [((enc.pool_o == 0).astype(np.float64), 1.0)]
    found = solve_program(enc, offers, lots_of(enc, offers), limits)
    assert bought(enc, found) == {"large": 1.0, "small": 4.0}


def test_good_offers_are_used_without_sifting() -> None:
    """Only favourites, if they take everybody."""
    enc = encoded(deployment(8, cpu=1), SMALL, LARGE)
    offers = np.arange(enc.n_offers)
    small = np.flatnonzero(enc.cap_or[:, 0] == 2000)[:1]
    found = without_sifting(enc, offers, lots_of(enc, offers), (), small)
    assert found.offers.tolist() == small.tolist()
    assert bought(enc, found) == {"small": 4.0}


def test_those_whom_no_good_offer_takes_get_the_cheapest_other() -> None:
    """A pod of eight cpu does not fit the favourite."""
    dear = instance_type("dear", cpu=16, price=5.0)
    enc = encoded([*deployment(8, cpu=1), pod("big", cpu=8)], SMALL, LARGE, dear)
    offers = np.arange(enc.n_offers)
    small = np.flatnonzero(enc.cap_or[:, 0] == 2000)[:1]
    found = without_sifting(enc, offers, lots_of(enc, offers), (), small)
    names = {enc.market.types[enc.type_o[one]].name for one in found.offers.tolist()}
    assert names == {"small", "large"}
    assert found.assignment.pods_lo.sum() == pytest.approx(9.0, rel=1e-4)


def test_pods_that_must_go_elsewhere_find_the_same_machines_there() -> None:
    """In the other zone the favourite's type is used, unless it is much dearer there."""
    spread = deployment(4, cpu=1, spread=[{"topology_key": "zone"}])
    for price, want in ((0.12, "liked"), (0.2, "other")):
        liked = instance_type(
            "liked",
            price=None,
            offerings=[{"zone": "a", "price": 0.1}, {"zone": "b", "price": price}],
        )
        other = instance_type("other", price=0.119, zones=("b",))
        enc = encoded(spread, liked, other)
        offers = np.arange(enc.n_offers)
        names = [enc.market.types[one.type].name for one in enc.market.offers]
        zones = [one.offering.zone for one in enc.market.offers]
        favourite = zones.index("a")
        unit = unit_of(enc, 0)
        lots = [Lot(unit.request, unit.mask, int(cell), 2) for cell in np.unique(enc.cell_o)]
        found = without_sifting(enc, offers, lots, (), np.array([favourite]))
        assert {names[one] for one in found.offers.tolist()} == {"liked", want}
