from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pytest

from dovetail.model.instance import InstanceType
from dovetail.model.pod import DaemonSet, Pod
from dovetail.solve.encoding.dominance import undominated_offers
from dovetail.solve.encoding.encode import encode
from dovetail.solve.finishing.rightsize import right_size, swap
from dovetail.solve.packing.attempt import Attempt, left_of
from dovetail.solve.packing.bulk import run_attempt
from dovetail.solve.packing.contents import loads
from dovetail.solve.packing.units import ANY_CELL
from dovetail.solve.program.pod_worth import priceless
from dovetail.testing.builders import deployment, instance_type, node, node_pool, pod
from tests.unit.solve.puzzles import LARGE, SMALL, empty_attempt, encoded, random_puzzle


def attempts() -> Iterator[tuple[int, Attempt]]:
    """Plans for random puzzles."""
    for seed in range(80):
        enc = encode(random_puzzle(seed))
        offers, _ = undominated_offers(enc)
        if enc.groups:
            yield seed, run_attempt(enc, offers, priceless(enc, offers))


def on_one_node(pods: Iterable[Pod], kind: str, *types: InstanceType, **parts: object) -> Attempt:
    """All pods on one new node of this type, in zone b."""
    attempt = empty_attempt(encoded(pods, *types, **parts))
    enc, bins = attempt.enc, attempt.bins
    place = bins.open(offer_of(attempt, kind), 1)
    for group in range(len(enc.groups)):
        count = int(enc.count_g[group])
        number = attempt.book.add(group, ANY_CELL, count)
        bins.put(number, attempt.units[number], np.array([place.start]), np.array([count]))
    attempt.left_u = left_of(attempt)
    return attempt


def offer_of(attempt: Attempt, kind: str, zone: str = "b") -> int:
    """The offer of a type in a zone."""
    market = attempt.enc.market
    return next(
        place
        for place, one in enumerate(market.offers)
        if (market.types[one.type].name, one.offering.zone) == (kind, zone)
    )


def types_of(attempt: Attempt) -> list[str]:
    """The types of the new nodes."""
    market, bins = attempt.enc.market, attempt.bins
    new = bins.offer[bins.n_existing : bins.n].tolist()
    return [market.types[market.offers[one].type].name for one in new]


def test_no_plan_gets_dearer_and_every_node_still_holds_its_pods() -> None:
    """Node by node: enough of everything, labels and taints that all its pods accept."""
    n_cheaper = 0
    for seed, attempt in attempts():
        bins, before, held = attempt.bins, attempt.price(), loads(attempt.bins.log)
        right_size(attempt)
        assert attempt.price() <= before, f"seed {seed}"
        n_cheaper += attempt.price() < before
        assert loads(attempt.bins.log) == held, f"seed {seed}"
        for place, counts in held.items():
            if place < bins.n_existing:
                continue
            asked = sum(attempt.units[n].request * count for n, count in counts.items())
            cap = attempt.enc.cap_or[bins.offer[place]]
            fits = cap >= asked
            assert fits.all(), f"seed {seed}"
            assert (bins.free[:, place] >= 0).all(), f"seed {seed}"
            for number in counts:
                unit = attempt.units[number]
                assert bins.accept[unit.mask, place], f"seed {seed}"
                assert unit.cell in {ANY_CELL, int(bins.cell[place])}, f"seed {seed}"
    assert n_cheaper


def test_limits_still_hold_afterwards() -> None:
    """Smaller nodes may have used less, never more than there was."""
    for seed, attempt in attempts():
        before = list(attempt.bins.limits.left)
        right_size(attempt)
        after = attempt.bins.limits.left
        assert all(now >= 0 or now >= was for now, was in zip(after, before, strict=True)), (
            f"seed {seed}"
        )


def test_a_node_becomes_the_cheapest_that_holds_its_pods() -> None:
    """Two cpu need no machine of eight; three do."""
    for n_pods, want in ((2, "small"), (3, "large")):
        attempt = on_one_node(deployment(n_pods, cpu=1), "large")
        right_size(attempt)
        assert types_of(attempt) == [want]


def test_pods_that_must_stay_in_their_cell_keep_their_node_there() -> None:
    """The cheap machine is in the other zone."""
    offerings = [{"zone": "a", "price": 0.1}, {"zone": "b", "price": 0.3}]
    kind = instance_type("x", cpu=8, price=None, offerings=offerings)
    spread = deployment(1, spread=[{"topology_key": "zone"}])
    attempt = on_one_node(spread, "x", kind)
    attempt.units[0].cell = int(attempt.bins.cell[0])
    right_size(attempt)
    assert attempt.bins.offer[0] == offer_of(attempt, "x")


def test_a_node_does_not_leave_a_zone_that_a_spread_counts() -> None:
    """Its own pods could go anywhere, but others are spread over the zones there are. A cheaper
    machine in the same zone is welcome.
    """
    offerings = [{"zone": "a", "price": 0.1}, {"zone": "b", "price": 0.3}]
    near = instance_type("near", cpu=8, price=None, offerings=offerings)
    here = instance_type("here", cpu=8, price=0.2, zones=("b",))
    pods = [pod("free", cpu=1), pod("even", spread=[{"topology_key": "zone"}])]
    for types, want in (((near,), "near"), ((near, here), "here")):
        attempt = on_one_node(pods, "near", *types)
        right_size(attempt)
        assert types_of(attempt) == [want]
        assert attempt.enc.market.offers[int(attempt.bins.offer[0])].offering.zone == "b"


@pytest.mark.parametrize(
    ("stand", "want"),
    [
        pytest.param("abb", "aab", id="all but one of the dear ones move"),
        pytest.param("bbb", "bbb", id="nobody opens a zone"),
    ],
)
def test_nodes_move_to_a_cheaper_zone_only_where_others_stay_in_both(stand: str, want: str) -> None:
    """A spread that counts zones finds the same ones as before."""
    offerings = [{"zone": "a", "price": 0.1}, {"zone": "b", "price": 0.3}]
    kind = instance_type("x", cpu=1, price=None, offerings=offerings)
    pods = [*deployment(3, "free", cpu=1), pod("even", cpu=2, spread=[{"topology_key": "zone"}])]
    attempt = empty_attempt(encoded(pods, kind))
    enc, bins = attempt.enc, attempt.bins
    free = next(n for n, one in enumerate(enc.groups) if one.pods[0].name == "free-0")
    number = attempt.book.add(free, ANY_CELL, 3)
    for zone in stand:
        bins.open(offer_of(attempt, "x", zone), 1)
    bins.put(number, attempt.units[number], np.arange(3), np.ones(3, dtype=np.int64))
    right_size(attempt)
    zones = [enc.market.offers[one].offering.zone for one in bins.offer[:3].tolist()]
    assert "".join(sorted(zones)) == want
    assert (bins.cell[:3] == enc.cell_o[bins.offer[:3]]).all()


def test_nodes_that_are_there_stay_as_they_are() -> None:
    """Nobody buys them."""
    attempt = empty_attempt(encoded([pod()], nodes=(node("n1"),)))
    number = attempt.book.add(0, ANY_CELL, 1)
    attempt.bins.put(number, attempt.units[number], np.array([0]), np.array([1]))
    right_size(attempt)
    assert attempt.bins.offer[0] == -1


def test_a_lighter_pool_is_no_way_to_save() -> None:
    """The pod went to the heavy pool because it is heavier."""
    attempt = on_one_node(
        [pod()],
        "large",
        node_pools=(node_pool("heavy", weight=9), node_pool("light")),
        instance_types={"heavy": (LARGE,), "light": (SMALL,)},
    )
    right_size(attempt)
    assert types_of(attempt) == ["large"]


@pytest.fixture
def tended() -> Attempt:
    """A web pod on a dear machine; on the cheap one a daemon set takes its port."""
    agent = pod("agent", host_ports=[80], node_selector={"instance-type": "small"})
    daemon = DaemonSet("agent", "default", agent.spec, agent.labels)
    web = pod("web", host_ports=[80])
    return on_one_node([web], "large", daemon_sets=(daemon,), limits={"default": {"nodes": 3}})


def test_a_node_is_not_swapped_for_one_with_other_daemons(tended: Attempt) -> None:
    """Nothing changes, and limits are as they were."""
    left = list(tended.bins.limits.left)
    assert left == [2]
    assert not swap(tended, 0, offer_of(tended, "small"))
    right_size(tended)
    assert (types_of(tended), tended.bins.limits.left) == (["large"], left)


def test_a_swap_keeps_to_limits_and_counts_the_old_node_as_given_back() -> None:
    """One node may be had: it may become another, as long as that is allowed at all."""
    attempt = on_one_node([pod()], "large", limits={"default": {"nodes": 1, "cpu": 8000}})
    assert attempt.bins.limits.left == [0, 0]
    assert swap(attempt, 0, offer_of(attempt, "small"))
    assert attempt.bins.limits.left == [6000, 0]
    assert attempt.bins.free[0, 0] == 2000 - 100
    assert swap(attempt, 0, offer_of(attempt, "large"))
    attempt.bins.limits.left[0] = -1
    assert not swap(attempt, 0, offer_of(attempt, "large", "a"))


def test_where_limits_forbid_the_cheapest_offer_the_next_one_is_taken() -> None:
    """A bargain beyond the limit does not keep a node larger than it need be."""
    types = (
        instance_type("huge", cpu=16, memory="64Gi", price=0.05, zones=("b",)),
        instance_type("fit", cpu=2, memory="8Gi", price=0.1, zones=("b",)),
        instance_type("large", cpu=8, memory="32Gi", price=0.35, zones=("b",)),
    )
    attempt = on_one_node([pod(cpu=1)], "large", *types, limits={"default": {"cpu": 8000}})
    right_size(attempt)
    assert types_of(attempt) == ["fit"]


def test_where_limits_forbid_all_cheaper_offers_a_node_stays() -> None:
    """It is dear, but within the limit."""
    types = (
        instance_type("huge", cpu=16, memory="64Gi", price=0.05, zones=("b",)),
        instance_type("large", cpu=8, memory="32Gi", price=0.35, zones=("b",)),
    )
    attempt = on_one_node([pod(cpu=1)], "large", *types, limits={"default": {"cpu": 8000}})
    right_size(attempt)
    assert types_of(attempt) == ["large"]
