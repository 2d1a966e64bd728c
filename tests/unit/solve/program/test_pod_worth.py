from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from dovetail.model.volumes import PodVolumes
from dovetail.solve.encoding.dominance import undominated_offers
from dovetail.solve.encoding.encode import Encoded, encode
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.bulk import run_attempt
from dovetail.solve.packing.units import ANY_CELL, unit_of
from dovetail.solve.program.lots import Lot
from dovetail.solve.program.multipliers import Values, capacity, full_node
from dovetail.solve.program.pod_worth import (
    appraise,
    priceless,
    rough,
    takes,
    wanting_company,
    weights_bind,
)
from dovetail.solve.program.sifting import solve_program
from dovetail.testing.builders import deployment, instance_type, node_pool, pod
from tests.unit.solve.puzzles import LARGE, SMALL, encoded, random_puzzle


def valued(enc: Encoded) -> Values | None:
    """What pods are worth on the offers that are searched."""
    offers, _ = undominated_offers(enc)
    fits = takes(enc, np.arange(len(enc.groups)), offers)
    units = [unit_of(enc, group) for group in range(len(enc.groups))]
    lots = [
        Lot(unit.request, unit.mask, ANY_CELL, int(enc.count_g[group]), unit.own, unit.match)
        for group, unit in enumerate(units)
        if fits[group].any()
    ]
    return appraise(enc, offers, solve_program(enc, offers, lots)) if lots else None


def worth_of(enc: Encoded, name: str) -> float:
    """What a pod of this name is worth, wherever that is least."""
    values = valued(enc)
    assert values is not None
    numbers = [n for n, group in enumerate(enc.groups) if group.pods[0].name.startswith(name)]
    return float(values.cell_worth(numbers[0]).min())


def seeds() -> Iterator[tuple[int, Encoded, Values]]:
    """Random puzzles with something to buy."""
    for seed in range(100):
        enc = encode(random_puzzle(seed))
        values = valued(enc) if enc.groups else None
        if values is not None:
            yield seed, enc, values


def node_worths(attempt: Attempt) -> dict[int, float]:
    """What the pods of every new node are worth together, each in the node's cell."""
    bins, values = attempt.bins, attempt.values
    worth: dict[int, float] = {}
    for number, nodes, counts in bins.log:
        group = attempt.units[number].members[0][0]
        for node, count in zip(nodes.tolist(), counts.tolist(), strict=True):
            if node >= bins.n_existing:
                each = float(values.cell_worth(group)[bins.cell[node]])
                worth[node] = worth.get(node, 0.0) + count * each
    return worth


def test_a_full_node_is_worth_no_more_than_it_costs() -> None:
    """Every offer's multipliers are scaled to its price."""
    for seed, enc, values in seeds():
        full = full_node(enc, values.offers, values.vectors, values.cap_t)
        mine = full[values.choice_p, np.arange(len(values.offers))] * values.scale_p
        price = enc.price_o[values.offers]
        assert (mine <= price * (1 + 1e-9)).all(), f"seed {seed}"


def test_the_pods_on_a_planned_node_are_worth_at_most_its_price() -> None:
    """Whatever plan is made: that is why all pods together are worth at most what it costs."""
    n_nodes = 0
    for seed, enc, values in seeds():
        attempt = run_attempt(enc, values.offers, values)
        for node, worth in node_worths(attempt).items():
            n_nodes += 1
            price = float(enc.price_o[attempt.bins.offer[node]])
            assert worth <= price * (1 + 1e-9), f"seed {seed}"
    assert n_nodes > 100


def test_pods_have_a_worth_just_where_some_offer_takes_them() -> None:
    """Elsewhere they are priceless; where weights decide, lighter pools do not count."""
    for seed, enc, values in seeds():
        if weights_bind(enc):
            continue
        fits = takes(enc, np.arange(len(enc.groups)), values.offers)
        for group in range(len(enc.groups)):
            cells = np.unique(enc.cell_o[values.offers[fits[group]]]).tolist()
            finite = np.flatnonzero(np.isfinite(values.cell_worth(group))).tolist()
            assert finite == cells, f"seed {seed}"
            assert (values.cell_worth(group) >= 0).all(), f"seed {seed}"


def test_an_empty_node_takes_who_fits_its_labels_and_its_size() -> None:
    """Group by group; what is not asked for may be missing."""
    for seed in range(60):
        enc = encode(random_puzzle(seed))
        offers = np.arange(enc.n_offers)
        fits = takes(enc, np.arange(len(enc.groups)), offers)
        for group in range(len(enc.groups)):
            asked = enc.requests_gr[group].tolist()
            want = [
                bool(enc.mask_go(group)[offer])
                and all(
                    need == 0 or need <= room
                    for need, room in zip(asked, enc.cap_or[offer].tolist(), strict=True)
                )
                for offer in offers.tolist()
            ]
            assert fits[group].tolist() == want, f"seed {seed}"


def test_two_halves_are_worth_a_node() -> None:
    """Each half of it."""
    assert worth_of(encoded(deployment(4, cpu=1), SMALL), "web") == pytest.approx(0.05e9)


def test_a_pod_of_more_than_half_a_node_is_worth_all_of_it() -> None:
    """No other of its kind fits beside it."""
    enc = encoded(deployment(4, cpu="1100m"), SMALL)
    assert worth_of(enc, "web") == pytest.approx(0.1e9)


def test_a_pod_that_excludes_its_kind_is_worth_a_node() -> None:
    """However small it is."""
    apart = deployment(4, cpu="10m", anti_affinity=[{"topology_key": "hostname"}])
    assert worth_of(encoded(apart, SMALL), "web") == pytest.approx(0.1e9)


def test_no_proof_rests_on_a_spread_over_hosts() -> None:
    """Once every host has one, a second may come: the cap is not for ever."""
    spread = deployment(4, cpu="10m", spread=[{"topology_key": "hostname"}])
    values = valued(encoded(spread, SMALL))
    assert values is not None
    assert not values.vector_kt.any()


def test_heavier_pools_decide_unless_they_are_limited() -> None:
    """Limits or minValues may keep a heavy pool from taking a pod; then the light one counts."""
    heavy = node_pool("heavy", weight=9)
    choosy = node_pool(
        "heavy", weight=9, requirements=[{"requirement": "instance-type Exists", "min_values": 2}]
    )
    light = node_pool("light")
    kinds = {"heavy": (LARGE,), "light": (SMALL,)}
    limits = {"heavy": {"cpu": 100_000}}

    def binds(*pools: object, **parts: object) -> bool:
        return weights_bind(encoded([pod()], node_pools=pools, instance_types=kinds, **parts))

    assert binds(heavy, light)
    assert not binds(heavy, light, limits=limits)
    assert binds(heavy, light, limits={"light": {"cpu": 1}})
    assert not binds(choosy, light)
    assert not binds(light)


def test_a_pod_is_worth_what_the_heaviest_pool_makes_of_it() -> None:
    """The cheap offer of the light pool does not lower it."""
    enc = encoded(
        deployment(2, cpu=1),
        node_pools=(node_pool("heavy", weight=9), node_pool("light")),
        instance_types={
            "heavy": (instance_type("dear", price=0.8),),
            "light": (instance_type("cheap", price=0.1),),
        },
    )
    assert worth_of(enc, "web") == pytest.approx(0.4e9)


def test_company_may_draw_a_pod_to_a_lighter_pool() -> None:
    """So its worth there counts too, and less is proven."""
    enc = encoded(
        deployment(2, cpu=1, affinity=[{"topology_key": "zone"}]),
        node_pools=(node_pool("heavy", weight=9), node_pool("light")),
        instance_types={
            "heavy": (instance_type("dear", price=0.8),),
            "light": (instance_type("cheap", price=0.1),),
        },
    )
    assert weights_bind(enc)
    assert worth_of(enc, "web") == pytest.approx(0.05e9)


def test_company_is_wanted_by_those_who_ask_for_it_and_those_they_ask_for() -> None:
    """On a node or in a zone; being kept apart or spread is not company."""
    for reach in ("hostname", "zone"):
        enc = encoded(
            [
                pod("friend"),
                pod("fan", affinity=[{"topology_key": reach, "selector": {"app": "friend"}}]),
                pod("loner", anti_affinity=[{"topology_key": reach}]),
                pod("even", spread=[{"topology_key": reach}]),
            ]
        )
        company = wanting_company(enc).tolist()
        wanted = {group.pods[0].name: company[n] for n, group in enumerate(enc.groups)}
        assert wanted == {"friend": True, "fan": True, "loner": False, "even": False}


def test_where_nothing_can_be_bought_every_pod_is_priceless() -> None:
    """There are as many values as groups."""
    enc = encoded([pod("x", cpu=1), pod("y", cpu=2)], instance_types={})
    values = priceless(enc, np.zeros(0, dtype=np.int64))
    assert np.isinf(values.cell_worth(0)).all()
    assert np.isinf(values.cell_worth(1)).all()


def test_what_a_machine_has_without_limit_is_worth_nothing() -> None:
    """Volumes of a driver that nobody limits do not count in a full node."""
    held = pod(claims=["data"])
    volumes = {held.key: PodVolumes(attachments=(("csi", ("default/data",)),))}
    enc = encoded([held], SMALL, volumes=volumes)
    place = enc.resources.index("attach/csi")
    assert enc.cap_or[0, place] > 10**15
    assert capacity(enc, np.arange(1))[0, place] == 0.0


def test_roughly_a_pod_is_worth_the_share_of_a_node_that_it_fills() -> None:
    """On the cheapest offer that takes it, cell by cell; priceless where none does."""
    enc = encoded([pod("half", cpu="4", memory="1Gi"), pod("giant", cpu="100")], LARGE)
    values = rough(enc, np.arange(enc.n_offers))
    names = [group.pods[0].name for group in enc.groups]
    half = values.cell_worth(names.index("half"))
    share = 4000 / LARGE.allocatable["cpu"] * LARGE.offerings[0].price_nanousd
    assert half.min() == pytest.approx(share)
    assert np.isinf(values.cell_worth(names.index("giant"))).all()


def test_rough_values_know_the_same_places_as_exact_ones() -> None:
    """Whoever may go somewhere by one may go there by the other."""
    for seed in range(60):
        enc = encode(random_puzzle(seed))
        exact = valued(enc)
        if exact is None:
            continue
        about = rough(enc, exact.offers)
        for group in range(len(enc.groups)):
            want = np.isfinite(exact.cell_worth(group))
            assert np.array_equal(np.isfinite(about.cell_worth(group)), want), f"seed {seed}"
