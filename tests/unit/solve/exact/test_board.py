from __future__ import annotations

import numpy as np
import pytest

from dovetail.model.volumes import PodVolumes
from dovetail.testing.builders import deployment, instance_type, node_pool, pod
from tests.unit.solve.exact.boards import LARGE, SMALL, board_of, daemon, type_names

SHARED = PodVolumes(attachments=(("csi", ("default/x",)),))
NEAR = [{"topology_key": "hostname", "selector": {"app": "agent"}}]


def test_offers_of_heavy_pools_come_first_then_cheap_ones() -> None:
    """Two pools with the same types."""
    pools = (node_pool("light", weight=1), node_pool("heavy", weight=9))
    kinds = {"light": (SMALL, LARGE), "heavy": (LARGE, SMALL)}
    board = board_of([pod()], node_pools=pools, instance_types=kinds)
    assert board.weight == [9, 9, 1, 1]
    assert board.price == [100_000_000, 350_000_000] * 2


def test_offers_beyond_a_limit_are_not_on_the_board() -> None:
    """Only the small type is within what the pool may still add."""
    board = board_of([pod()], SMALL, LARGE, limits={"default": {"cpu": 4000}})
    assert type_names(board, -1) == ["small"]
    assert board.left == [4000]
    assert board.use == [[2000]]


def test_the_offers_that_fit_are_those_with_enough_of_everything() -> None:
    """Compared with all capacities, for many amounts."""
    sizes = ((2, 8), (4, 4), (4, 32), (8, 16))
    kinds = [
        instance_type(f"t{n}", cpu=cpu, memory=f"{gibi}Gi", price=0.1 * cpu, zones=("a",))
        for n, (cpu, gibi) in enumerate(sizes)
    ]
    board = board_of([pod(cpu=1, memory="1Gi")], *kinds)
    caps = board.enc.cap_or[board.offers]
    for cpu in (0, 1, 2000, 2001, 4000, 8000, 8001):
        for gibi in (0, 4, 8, 17, 32, 33):
            use = np.zeros(len(board.enc.resources), dtype=np.int64)
            use[board.enc.resources.index("cpu")] = cpu
            use[board.enc.resources.index("memory")] = gibi * 2**30
            want = ((caps >= use) | (use == 0)).all(axis=1)
            bits = board.offers_with_room(tuple(use.tolist()))
            assert [bool(bits >> place & 1) for place in range(len(caps))] == want.tolist()


def test_the_least_of_some_offers_is_taken_for_each_limit_apart() -> None:
    """The cheapest offer may not be the one with the least CPU."""
    wide = instance_type("wide", cpu=4, memory="64Gi", price=0.05, zones=("a",))
    board = board_of([pod()], SMALL, wide, limits={"default": {"cpu": 9000, "memory": 2**40}})
    price, use = board.least(0b11)
    assert price == 50_000_000
    assert sorted(use) == [2000, 8 * 2**30]


def test_a_sort_may_go_to_the_offers_that_take_one_pod() -> None:
    """By size, and by node selector."""
    pods = [pod("wide", cpu=4), pod("far", cpu=1, node_selector={"zone": "b"}), pod("any", cpu=1)]
    near = instance_type("near", cpu=8, price=0.3, zones=("a",))
    both = instance_type("both", cpu=2, price=0.1, zones=("a", "b"))
    board = board_of(pods, near, both)
    offers = {
        group.pods[0].name: type_names(board, sort.offers)
        for group, sort in zip(board.enc.groups, board.sorts, strict=True)
    }
    assert offers == {"wide": ["near"], "far": ["both"], "any": ["both", "both", "near"]}


def test_a_port_of_a_daemon_pod_closes_offers() -> None:
    """The daemon runs on every node, so a pod with the same port goes nowhere."""
    pods = [pod("web", host_ports=["80"]), pod("plain")]
    board = board_of(pods, SMALL, daemon_sets=(daemon(host_ports=["80"], tolerations=["*"]),))
    offers = {
        group.pods[0].name: sort.offers
        for group, sort in zip(board.enc.groups, board.sorts, strict=True)
    }
    assert offers["web"] == 0
    assert offers["plain"] != 0


def test_a_spread_counts_the_zones_that_offers_could_open() -> None:
    """Two zones for all pods, one for those with a node selector."""
    spread = [{"topology_key": "zone"}]
    pods = [
        pod("web", labels={"app": "web"}, spread=spread),
        pod("api", labels={"app": "api"}, spread=spread, node_selector={"zone": "b"}),
        pod("plain"),
    ]
    board = board_of(pods, instance_type("t", price=0.1, zones=("a", "b")))
    n_domains = {
        group.pods[0].name: max(len(sort.reach[term]) for term in sort.zone_own)
        for group, sort in zip(board.enc.groups, board.sorts, strict=True)
        if sort.is_tied
    }
    assert n_domains == {"web": 2, "api": 1}


def test_every_offer_is_in_one_cell() -> None:
    """The cells of all offers, cheapest cells first."""
    dear = instance_type("dear", price=0.2, zones=("a", "b"))
    cheap = instance_type("cheap", price=0.1, zones=("b",))
    board = board_of([pod(spread=[{"topology_key": "zone"}])], dear, cheap)
    assert [type_names(board, bits) for bits in board.cells.values()] == [
        ["cheap", "dear"],
        ["dear"],
    ]
    assert sum(board.cells.values()) == (1 << len(board.offers)) - 1


def test_reserved_offers_are_scarce() -> None:
    """One of them can be had."""
    reserved = {
        "zone": "a",
        "price": 0.001,
        "capacity_type": "reserved",
        "reservation_id": "cr-1",
        "reservation_capacity": 1,
    }
    kind = instance_type("r", price=0.1, zones=("a",), offerings=[reserved])
    board = board_of([pod()], kind)
    assert [board.is_scarce(place) for place in range(len(board.offers))] == [True, False]


@pytest.mark.parametrize(
    ("words", "parts", "want"),
    [
        pytest.param({}, {}, True, id="plain pods"),
        pytest.param(
            {"claims": ["x"]},
            {"volumes": {"default/web-0": SHARED, "default/web-1": SHARED}},
            False,
            id="a volume that pods share",
        ),
        pytest.param(
            {"affinity": NEAR},
            {"daemon_sets": (daemon(labels={"app": "agent"}),)},
            True,
            id="a daemon pod that is company",
        ),
        pytest.param(
            {"anti_affinity": NEAR},
            {"daemon_sets": (daemon(labels={"app": "agent"}),)},
            True,
            id="a daemon pod that repels",
        ),
    ],
)
def test_a_board_is_plain_if_the_search_knows_all_its_rules(
    words: dict[str, object], parts: dict[str, object], *, want: bool
) -> None:
    """Otherwise the plan is left to others."""
    assert board_of(deployment(2, "web", **words), SMALL, **parts).is_plain == want
