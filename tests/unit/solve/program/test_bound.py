from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.model.instance import InstanceType
from dovetail.model.plan import Certificate, OfferKey, PodValue
from dovetail.model.pod import Pod
from dovetail.model.policy import Policy
from dovetail.model.volumes import PodVolumes
from dovetail.solve import Solution, solve
from dovetail.solve.encoding.dominance import undominated_offers
from dovetail.solve.encoding.encode import Encoded, encode
from dovetail.solve.encoding.ties import ZoneTerm
from dovetail.solve.patterns.proof import PatternBound
from dovetail.solve.program.bound import better, certify, fits_existing, is_as_good, most_in_one
from dovetail.solve.program.pod_worth import priceless
from dovetail.testing.builders import deployment, instance_type, node, node_pool, pod
from tests.unit.solve.puzzles import LARGE, SMALL, encoded, puzzle, random_puzzle

APART = [{"topology_key": "hostname"}]


def solved(pods: Iterable[Pod], *types: InstanceType, **parts: object) -> Solution:
    """The plan for these."""
    return solve(puzzle(pods, *types, **parts))


def is_proven(solution: Solution, dollars: float) -> bool:
    """Whether the bound is this price, but for a rounding."""
    bound = solution.certificate.bound_nanousd
    return bound == pytest.approx(dollars * 1e9, rel=1e-6)


def zone_term(max_skew: int, min_domains: int) -> ZoneTerm:
    """A spread over zones."""
    words = {"topology_key": "zone", "max_skew": max_skew, "min_domains": min_domains}
    return encoded([pod(spread=[words])]).ties.zones[0]


def fullest(count: int, n_domains: int, max_skew: int, min_domains: int) -> int:
    """The fullest that a domain can get, by trying every order in which pods could be bound."""
    states, most = {(0,) * n_domains}, 0
    for _ in range(count):
        following = set()
        for held in states:
            least = min(held) if n_domains >= min_domains else 0
            for domain in range(n_domains):
                if held[domain] + 1 - least <= max_skew:
                    grown = [n + (place == domain) for place, n in enumerate(held)]
                    following.add(tuple(sorted(grown)))
        states = following
    return max((max(held) for held in states), default=most)


@given(st.integers(1, 9), st.integers(1, 3), st.integers(1, 3), st.integers(1, 4))
def test_no_domain_gets_fuller_than_is_said(
    count: int, n_domains: int, max_skew: int, min_domains: int
) -> None:
    """Whatever the order of binding; and if all pods can be bound, some order gets so far."""
    said = most_in_one(count, n_domains, zone_term(max_skew, min_domains))
    reached = fullest(count, n_domains, max_skew, min_domains)
    assert reached <= said
    if reached and n_domains >= min_domains:
        assert reached == min(said, count)


def test_no_plan_costs_less_than_its_bound() -> None:
    """Neither does the bound rise above it, nor below nothing."""
    for seed in range(120):
        solution = solve(random_puzzle(seed))
        bound = solution.certificate.bound_nanousd
        assert 0 <= bound <= solution.price_nanousd, f"seed {seed}"


def test_full_nodes_are_proven_to_be_needed() -> None:
    """Six pods of one cpu fill three nodes of two."""
    assert is_proven(solved(deployment(6, cpu=1), SMALL), 0.3)


def test_whole_pods_are_part_of_the_proof() -> None:
    """Three pods of 1.2 cpu need three nodes of two, since they cannot be cut."""
    solution = solved(deployment(3, cpu="1200m"), SMALL)
    assert is_proven(solution, 0.3)
    assert {(one.resource, one.k) for one in solution.certificate.whole_pods} == {("cpu", 1)}


def test_caps_of_hosts_are_part_of_the_proof() -> None:
    """Pods that exclude each other need a node each, and the certificate names them."""
    solution = solved(deployment(3, cpu="10m", anti_affinity=APART))
    assert is_proven(solution, 0.3)
    (cap,) = solution.certificate.host_caps
    assert (cap.pods, cap.cap) == (("default/web-0", "default/web-1", "default/web-2"), 1)
    assert len(cap.multipliers) == len(solution.certificate.multipliers)


def test_spreads_are_part_of_the_proof() -> None:
    """Four of nine pods at least are in the zone that costs more."""
    offerings = [{"zone": "a", "price": 0.1}, {"zone": "b", "price": 0.9}]
    kind = instance_type("x", cpu=1, price=None, offerings=offerings)
    solution = solved(deployment(9, cpu=1, spread=[{"topology_key": "zone"}]), kind)
    assert solution.price_nanousd == 4_100_000_000
    assert is_proven(solution, 4.1)


def test_a_spread_proves_nothing_more_where_nodes_are_there() -> None:
    """They might hold the pods of the dear zone."""
    offerings = [{"zone": "a", "price": 0.1}, {"zone": "b", "price": 0.9}]
    kind = instance_type("x", cpu=1, price=None, offerings=offerings)
    spread = deployment(9, cpu=1, spread=[{"topology_key": "zone"}])
    solution = solved(spread, kind, nodes=(node("tiny", cpu=0, zone="a"),))
    assert solution.certificate.bound_nanousd <= 0.9e9


@pytest.mark.parametrize(
    ("limits", "want"),
    [
        pytest.param({"nodes": 9}, 1.8, id="nine nodes in all: no zone is sure to be opened"),
        pytest.param({"nodes": 10}, 3.8, id="enough for one node each, and one more"),
        pytest.param({"cpu": 9000}, 1.8, id="nine cheap nodes would use the limit up"),
        pytest.param({"cpu": 10_000}, 3.8, id="a plan cannot have more nodes than pods"),
    ],
)
def test_a_spread_proves_less_where_limits_may_keep_a_zone_closed(
    limits: dict[str, int], want: float
) -> None:
    """kube-scheduler only counts domains that nodes make, so all pods might have one zone."""
    offerings = [{"zone": "a", "price": 0.2}, {"zone": "b", "price": 0.7}]
    kind = instance_type("x", cpu=1, price=None, offerings=offerings)
    spread = deployment(9, cpu=1, spread=[{"topology_key": "zone"}])
    solution = solved(spread, kind, limits={"default": limits})
    assert is_proven(solution, want)


def test_a_limit_that_money_cannot_reach_keeps_no_zone_closed() -> None:
    """A plan for 0.9 has at most four nodes of 0.2, though there are eight pods."""
    offerings = [{"zone": "a", "price": 0.2}, {"zone": "b", "price": 0.7}]
    kind = instance_type("x", cpu=4, price=None, offerings=offerings)
    spread = deployment(8, cpu=1, spread=[{"topology_key": "zone"}])
    for limit, want in ((5, 0.9), (4, 0.4)):
        assert is_proven(solved(spread, kind, limits={"default": {"nodes": limit}}), want)


def test_what_nodes_could_hold_is_taken_off() -> None:
    """Four of ten pods fit the node that is there; six need three more."""
    solution = solved(deployment(10, cpu=1), SMALL, nodes=(node("n1", cpu=4),))
    assert 0.999 * 300_000_000 < solution.certificate.bound_nanousd <= 300_000_000
    assert solution.certificate.existing_multiplier >= 0


def test_pods_that_fit_no_node_count_in_full() -> None:
    """The node is too small for any of them, so its room does not matter."""
    solution = solved(deployment(2, cpu=2), SMALL, nodes=(node("n1", cpu=1),))
    assert is_proven(solution, 0.2)


def test_nothing_to_buy_is_nothing_to_prove() -> None:
    """All pods fit, and the certificate is empty."""
    solution = solved(deployment(2), nodes=(node("n1"),))
    assert solution.certificate == Certificate()


def test_pods_without_a_place_are_worth_nothing() -> None:
    """A certificate is about those that were placed."""
    enc = encoded(deployment(3))
    offers, stands_for = undominated_offers(enc)
    nobody = enc.count_g * 0
    values = priceless(enc, offers)
    assert certify(enc, values, stands_for, placed_g=nobody, price=0) == Certificate()
    limited = solved(deployment(3, cpu=2), SMALL, limits={"default": {"nodes": 1}})
    assert limited.certificate.bound_nanousd <= 0.1e9


def test_a_spread_that_nothing_is_worth_anything_for_proves_nothing() -> None:
    """No domain can be launched into, as far as the values say."""
    enc = encoded(deployment(3, spread=[{"topology_key": "zone"}]))
    offers, stands_for = undominated_offers(enc)
    values = priceless(enc, offers)
    assert certify(enc, values, stands_for, placed_g=enc.count_g, price=9) == Certificate()


def test_every_offer_is_named_with_its_choice() -> None:
    """Those that are not searched use the multiplier of the one that stands for them."""
    solution = solved(deployment(3, cpu=1), policy=Policy(effort=0))
    named = [key for key, _ in solution.certificate.choice]
    assert sorted({(key.instance_type, key.zone) for key in named}) == [
        ("large", "a"),
        ("large", "b"),
        ("small", "a"),
        ("small", "b"),
    ]
    n_vectors = len(solution.certificate.multipliers)
    assert all(0 <= number < n_vectors for _, number in solution.certificate.choice)


def test_an_offer_is_named_by_all_that_makes_it() -> None:
    """Pool, type, zone, capacity type, reservation, and the labels chosen for it."""
    reserved = {
        "zone": "a",
        "price": 0.1,
        "capacity_type": "reserved",
        "reservation_id": "cr-1",
        "reservation_capacity": 1,
    }
    enc = encoded(
        [pod(node_selector={"team": "blue"})],
        instance_type("x", price=None, offerings=[reserved]),
        node_pools=(node_pool("p", requirements=["team NotIn red"]),),
        instance_types={"p": (instance_type("x", price=None, offerings=[reserved]),)},
    )
    keys = enc.market.keys
    plain = OfferKey("p", "x", "a", "reserved", "cr-1")
    assert plain in keys
    assert OfferKey("p", "x", "a", "reserved", "cr-1", (("team", "blue"),)) in keys


def room_for_one(enc: Encoded, group: int) -> bool:
    """Whether some node has all that a pod asks for, one resource after another."""
    return any(
        bool(enc.mask_gn(group)[place])
        and all(
            asked == 0 or asked <= free
            for asked, free in zip(
                enc.requests_gr[group].tolist(), enc.free_nr[place].tolist(), strict=True
            )
        )
        for place in range(len(enc.cell_n))
    )


def test_a_group_fits_if_one_node_has_room_for_one_pod() -> None:
    """Labels, taints and resources; terms between pods do not count here."""
    found = []
    for seed in range(60):
        enc = encode(random_puzzle(seed))
        for group in range(len(enc.groups)):
            found.append(fits_existing(enc, group))
            assert found[-1] == room_for_one(enc, group), f"seed {seed}"
    assert {True, False} == set(found)


def test_volumes_that_nodes_could_attach_are_not_taken_off() -> None:
    """Room for volumes has no price: only what machines cost for counts."""
    pods = deployment(4, cpu=1, claims=["NAME"])
    volumes = {
        one.key: PodVolumes(attachments=(("csi", (f"default/{one.name}",)),)) for one in pods
    }
    solution = solved(pods, LARGE, volumes=volumes, nodes=(node("n1", cpu=2),))
    assert 0 <= solution.certificate.bound_nanousd <= solution.price_nanousd


@pytest.mark.parametrize(
    ("bound", "other", "want"),
    [
        pytest.param(100, 100, True, id="equal"),
        pytest.param(200, 100, True, id="higher"),
        pytest.param(10**9 - 1000, 10**9, True, id="lower by a rounding"),
        pytest.param(10**9 - 1001, 10**9, False, id="lower by more"),
        pytest.param(0, 1, False, id="nothing"),
        pytest.param(0, 0, True, id="nothing of nothing"),
    ],
)
def test_a_bound_is_as_good_but_for_rounding(bound: int, other: int, *, want: bool) -> None:
    """A millionth does not count."""
    assert is_as_good(bound, other) == want


def test_the_better_of_two_bounds_is_certified() -> None:
    """By what pods are worth, or by their count where all are alike; else the first one stays."""
    enc = encoded([*deployment(2, "a", cpu=1), pod("b", cpu=2), pod("free")], SMALL)
    first = Certificate(bound_nanousd=1000)
    value_g = np.array([{"a-0": 30, "b": 70}.get(one.pods[0].name, 0) for one in enc.groups])
    want = (PodValue(30, ("default/a-0", "default/a-1")), PodValue(70, ("default/b",)))
    assert better(enc, first, None) is first
    assert better(enc, first, PatternBound(1000, value_g)) is first
    assert better(enc, first, PatternBound(1100, value_g)) == Certificate(
        pod_values=want, bound_nanousd=1100
    )
    assert better(enc, first, PatternBound(1100)) == Certificate(
        is_counted=True, bound_nanousd=1100
    )


def test_pods_worth_the_same_are_listed_together() -> None:
    """Whatever group they are of."""
    enc = encoded([pod("a", cpu=1), pod("b", cpu="900m")], SMALL)
    found = better(enc, Certificate(), PatternBound(20, np.array([10, 10])))
    (only,) = found.pod_values
    assert (only.nanousd, sorted(only.pods)) == (10, ["default/a", "default/b"])
