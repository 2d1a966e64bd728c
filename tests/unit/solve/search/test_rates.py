from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations_with_replacement

import msgspec
import numpy as np
import pytest

from dovetail.model.instance import InstanceType
from dovetail.model.pod import DaemonSet, Pod
from dovetail.model.volumes import PodVolumes
from dovetail.solve.encoding.encode import Encoded, encode
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.packing.bins import Bins
from dovetail.solve.packing.units import unit_of
from dovetail.solve.puzzle import Puzzle, canonical
from dovetail.solve.search.rates import (
    IMPOSSIBLE,
    NO_LOAD,
    NO_WAY,
    Rates,
    Site,
    TermCounts,
    WorkBudget,
    is_peaceful,
)
from dovetail.testing.builders import deployment, instance_type, node, node_pool, pod

SMALL = instance_type("small", cpu=2, price=0.1, zones=("a", "b"))
LARGE = instance_type("large", cpu=8, price=0.3, zones=("a", "b"))


def encoded(pods: Iterable[Pod], *types: InstanceType, **changes: object) -> Encoded:
    """A puzzle of these pods, with one node of 4 cpu that is there."""
    puzzle = Puzzle(
        tuple(pods),
        nodes=(node("n1", cpu=4, zone="a"),),
        bound=(pod("old", cpu=1, node="n1", labels={"app": "old"}),),
        node_pools=(node_pool(),),
        instance_types={"default": types or (SMALL, LARGE)},
    )
    return encode(canonical(msgspec.structs.replace(puzzle, **changes)))


def rates_of(enc: Encoded) -> Rates:
    """The rates of a puzzle; sort n is group n, free to go anywhere."""
    rates = Rates(enc, np.arange(enc.n_offers), WorkBudget(10**9))
    for group in range(len(enc.groups)):
        rates.sort_of(unit_of(enc, group))
    return rates


def test_a_load_costs_what_the_cheapest_offer_that_holds_it_costs() -> None:
    """Two pods of one cpu fill a small node, the third needs a large one."""
    rates = rates_of(encoded(deployment(3, cpu=1)))
    prices = [rates.price[rates.load(((0, count),))] for count in (1, 2, 3)]
    assert prices == [100_000_000, 100_000_000, 300_000_000]


def test_a_load_that_nothing_holds_has_no_price() -> None:
    """Nine cpu are more than a large node has, and one pod more is no better."""
    rates = rates_of(encoded(deployment(9, cpu=1)))
    assert rates.load(((0, 9),)) == NO_WAY
    assert rates.price[NO_WAY] == IMPOSSIBLE
    assert rates.with_one_more(NO_WAY, 0) == NO_WAY


def test_a_load_has_one_number_however_it_came_about() -> None:
    """Pod by pod in either order, or named at once."""
    rates = rates_of(encoded([pod("one", cpu=1), pod("two", cpu=2)]))
    first = rates.with_one_more(rates.with_one_more(NO_LOAD, 0), 1)
    second = rates.with_one_more(rates.with_one_more(NO_LOAD, 1), 0)
    assert first == second == rates.load(((0, 1), (1, 1)))
    assert rates.pods(first) == [0, 1]


def test_pods_that_belong_to_different_cells_share_no_load() -> None:
    """One is settled in the first cell, the other in the second."""
    enc = encoded(deployment(2, cpu=1, spread=[{"topology_key": "zone"}]))
    rates = rates_of(enc)
    here, there = (rates.sort_of(replace(unit_of(enc, 0), cell=cell)) for cell in (0, 1))
    assert rates.load(((here, 2),)) != NO_WAY
    assert rates.with_one_more(rates.with_one_more(NO_LOAD, here), there) == NO_WAY
    assert rates.load(((here, 1), (there, 1))) == NO_WAY


def test_pods_of_pools_of_different_weight_share_no_load() -> None:
    """A unit may use only new nodes of the weight it was given."""
    enc = encoded([pod("one", cpu=1)])
    rates = rates_of(enc)
    heavy = rates.sort_of(replace(unit_of(enc, 0), weight=7))
    assert rates.with_one_more(NO_LOAD, heavy) == NO_WAY
    assert rates.with_one_more(rates.with_one_more(NO_LOAD, 0), heavy) == NO_WAY


@pytest.mark.parametrize(
    ("kind", "company", "want"),
    [
        pytest.param(TermKind.ANTI, TermCounts(2, 0, 0), True, id="nobody objects"),
        pytest.param(TermKind.ANTI, TermCounts(0, 2, 0), True, id="owners of a term about others"),
        pytest.param(TermKind.ANTI, TermCounts(1, 1, 1), True, id="one that excludes its own kind"),
        pytest.param(
            TermKind.ANTI, TermCounts(2, 2, 2), False, id="two that exclude their own kind"
        ),
        pytest.param(
            TermKind.ANTI, TermCounts(1, 1, 0), False, id="an owner, and one that it means"
        ),
        pytest.param(TermKind.PORT, TermCounts(2, 2, 2), False, id="two that take a port"),
        pytest.param(TermKind.SPREAD, TermCounts(2, 1, 1), True, id="as many as the skew allows"),
        pytest.param(TermKind.SPREAD, TermCounts(3, 1, 1), False, id="more than the skew allows"),
        pytest.param(TermKind.SPREAD, TermCounts(3, 0, 0), True, id="a spread that nobody states"),
        pytest.param(TermKind.AFFINITY, TermCounts(1, 1, 1), False, id="one that wants company"),
    ],
)
def test_pods_share_a_node_only_in_peace(
    kind: TermKind, company: TermCounts, *, want: bool
) -> None:
    """Whatever the order of arrival, nobody on the node may be against it."""
    assert is_peaceful(kind, 2, company) is want


def quarrelsome() -> list[Pod]:
    """Pods that exclude their kind, cap it, exclude others, or take a port."""
    return [
        *deployment(3, "lonely", cpu=1, anti_affinity=[{}]),
        *deployment(3, "capped", cpu=1, spread=[{"topology_key": "hostname", "max_skew": 2}]),
        pod("hater", cpu=1, anti_affinity=[{"selector": {"app": "plain"}}]),
        *deployment(3, "plain", cpu=1, labels={"app": "plain"}),
        *deployment(2, "port", cpu=1, host_ports=[80]),
        *deployment(2, "choosy", cpu=3, node_selector={"zone": "b"}),
    ]


def fits_one_by_one(enc: Encoded, groups: tuple[int, ...]) -> bool:
    """Whether some offer's node takes the pods, one after another, by the laws of bins."""
    for offer in range(enc.n_offers):
        bins = Bins(enc)
        span = bins.open(offer, 1)
        for group in groups:
            if bins.room(unit_of(enc, group), span)[0] < 1:
                break
            bins.put(group, unit_of(enc, group), np.array([span.start]), np.array([1]))
        else:
            return True
    return False


def test_a_load_has_a_price_exactly_if_its_pods_fit_a_node_one_by_one() -> None:
    """The laws of loads are those of bins."""
    enc = encoded(quarrelsome())
    rates = rates_of(enc)
    every = range(len(enc.groups))
    for groups in (mix for size in (1, 2, 3) for mix in combinations_with_replacement(every, size)):
        load = tuple((group, groups.count(group)) for group in sorted(set(groups)))
        assert (rates.load(load) != NO_WAY) == fits_one_by_one(enc, groups), groups


def test_a_site_takes_exactly_what_fits_beside_who_is_there() -> None:
    """Resources, selectors and terms count together with what the node holds already."""
    enc = encoded(
        [
            *deployment(4, "plain", cpu=1),
            pod("hater", cpu=1, anti_affinity=[{"selector": {"app": "old"}}]),
            pod("other-zone", cpu=1, node_selector={"zone": "b"}),
            pod("friend", cpu=1, affinity=[{"selector": {"app": "old"}}]),
            pod("stranger", cpu=1, affinity=[{"selector": {"app": "nobody"}}]),
        ]
    )
    rates = rates_of(enc)
    name = {group.pods[0].name: number for number, group in enumerate(enc.groups)}
    site = Site(rates, Bins(enc), 0)
    plain = next(number for pod_name, number in name.items() if pod_name.startswith("plain"))
    assert site.takes(((plain, 3),))
    assert not site.takes(((plain, 4),))
    assert site.takes(((name["friend"], 1),))
    for refused in ("hater", "other-zone", "stranger"):
        assert not site.takes(((name[refused], 1),)), refused


def test_a_load_is_only_for_offers_whose_daemon_pods_it_gets_on_with() -> None:
    """The daemon set of amd64 nodes takes the port, so the pod goes to the dearer arm64 node."""
    arm = instance_type("arm", cpu=2, price=0.9, arch="arm64", zones=("a",))
    wanted = {"kubernetes.io/arch": "amd64"}
    given = pod("agent", cpu="10m", host_ports=[80], node_selector=wanted)
    daemon = DaemonSet("agent", "default", given.spec)
    rates = rates_of(encoded([pod(cpu=1, host_ports=[80])], SMALL, arm, daemon_sets=(daemon,)))
    assert rates.price[rates.load(((0, 1),))] == 900_000_000


def shared(*names: str) -> PodVolumes:
    """Volumes of one driver by these claims."""
    return PodVolumes(attachments=(("ebs", tuple(f"default/{name}" for name in names)),))


def test_a_volume_that_pods_share_is_attached_once() -> None:
    """A node takes two volumes; one is shared by both pods, and each has one of its own."""
    roomy = instance_type("roomy", cpu=8, price=0.5, attach_limits={"ebs": 3})
    tight = instance_type("tight", cpu=8, price=0.4, attach_limits={"ebs": 2})
    pods = [pod("one", cpu=1, claims=["both"]), pod("two", cpu=2, claims=["both"])]
    volumes = {"default/one": shared("both", "mine"), "default/two": shared("both", "yours")}
    enc = encoded(pods, roomy, tight, volumes=volumes, nodes=(), bound=())
    rates = rates_of(enc)
    alone, together = rates.load(((0, 1),)), rates.load(((0, 1), (1, 1)))
    assert (rates.price[alone], rates.price[together]) == (400_000_000, 500_000_000)
    bins = Bins(enc)
    kinds = [enc.market.types[kind].name for kind in enc.type_o.tolist()]
    for name, want in (("roomy", True), ("tight", False)):
        site = Site(rates, bins, bins.open(kinds.index(name), 1).start)
        assert site.takes(((0, 1), (1, 1))) is want, name


def test_rating_new_loads_is_work_and_looking_them_up_is_not() -> None:
    """Work is counted, so that it can be bounded without a clock."""
    enc = encoded(deployment(3, cpu=1))
    budget = WorkBudget(100)
    rates = Rates(enc, np.arange(enc.n_offers), budget)
    sort = rates.sort_of(unit_of(enc, 0))
    rates.with_one_more(NO_LOAD, sort)
    after = budget.left
    assert after < 100
    rates.with_one_more(NO_LOAD, sort)
    assert budget.left == after
