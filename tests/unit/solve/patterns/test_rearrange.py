from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from dovetail.model.policy import Policy
from dovetail.solve.finishing.soundness import is_sound
from dovetail.solve.packing.attempt import Attempt, left_of
from dovetail.solve.packing.contents import loads
from dovetail.solve.patterns.rearrange import rearrange, rearrange_by_market, rearrange_widely
from dovetail.testing.builders import deployment, instance_type, pod
from tests.unit.solve.patterns.instances import base_of

TYPES = (
    instance_type("s", cpu=2, memory="8Gi", price=0.11, zones=("a",)),
    instance_type("m", cpu=4, memory="16Gi", price=0.2, zones=("a",)),
    instance_type("l", cpu=16, memory="64Gi", price=0.7, zones=("a",)),
)
RESERVED = instance_type(
    "r",
    cpu=2,
    memory="8Gi",
    zones=("a",),
    offerings=[
        {
            "zone": "a",
            "price": 0.001,
            "capacity_type": "reserved",
            "reservation_id": "cr-1",
            "reservation_capacity": 9,
        }
    ],
)
HOST = {"topology_key": "hostname"}


def alone(attempt: Attempt, kind: str) -> Attempt:
    """The plan with every pod on a node of its own, of this type."""
    market = attempt.enc.market
    names = [market.types[offer.type].name for offer in market.offers]
    offer = names.index(kind)
    for group, count in enumerate(attempt.enc.count_g.tolist()):
        number = attempt.book.add(group, -1, count)
        span = attempt.bins.open(offer, count)
        nodes = np.arange(span.start, span.stop)
        attempt.bins.put(number, attempt.units[number], nodes, np.ones(count, dtype=np.int64))
    attempt.left_u = left_of(attempt)
    return attempt


def held(attempt: Attempt) -> Counter[int]:
    """How many pods of every unit have a node."""
    pods: Counter[int] = Counter()
    for counts in loads(attempt.bins.log).values():
        pods.update(counts)
    return pods


def test_the_same_pods_get_cheaper_nodes() -> None:
    """Two Deployments that had a node for each pod."""
    pods = [*deployment(9, "a", cpu=1), *deployment(6, "b", cpu="500m")]
    attempt = alone(base_of(pods, *TYPES), "s")
    before = attempt.price()
    rearrange(attempt)
    assert attempt.price() < before / 2
    assert sorted(held(attempt).values()) == [6, 9]
    assert not attempt.left_u.any()
    assert is_sound(attempt)


def test_a_plan_that_cannot_be_cheaper_stays() -> None:
    """Four pods that fill a node each."""
    attempt = alone(base_of(deployment(4, cpu=2, memory="8Gi"), *TYPES[:1]), "s")
    log = list(attempt.bins.log)
    rearrange(attempt)
    assert attempt.bins.log == log
    assert attempt.bins.n == 4


def test_pods_that_keep_apart_stay_apart() -> None:
    """They get smaller nodes at most."""
    attempt = alone(base_of(deployment(4, cpu=1, anti_affinity=[HOST]), *TYPES), "l")
    rearrange(attempt)
    assert attempt.price() == 4 * 110_000_000
    assert is_sound(attempt)


def test_reserved_nodes_stay() -> None:
    """They are paid for."""
    attempt = alone(base_of(deployment(4, cpu=1), *TYPES, RESERVED), "r")
    rearrange(attempt)
    assert attempt.price() == 4_000_000


def test_nodes_of_pods_that_need_company_stay() -> None:
    """Whom they came with is not known any more."""
    near = [{**HOST, "selector": {"app": "web"}}]
    pods = [
        pod("web", labels={"app": "web"}, cpu=1),
        pod("db", labels={"app": "db"}, cpu=1, affinity=near),
    ]
    attempt = base_of(pods, *TYPES)
    market = attempt.enc.market
    offer = [market.types[one.type].name for one in market.offers].index("l")
    node = np.array([attempt.bins.open(offer, 1).start])
    for group in range(2):
        number = attempt.book.add(group, -1, 1)
        attempt.bins.put(number, attempt.units[number], node, np.array([1]))
    attempt.left_u = left_of(attempt)
    rearrange(attempt)
    assert attempt.price() == 700_000_000


def test_of_many_sorts_only_the_worst_nodes_are_rearranged() -> None:
    """A hundred and sixty Deployments of one pod, each on a node that is far too large; forty of
    those nodes, and at most three times as many others, are taken apart.
    """
    pods = [pod(f"p{n:03}", cpu=f"{100 + n}m") for n in range(200)]
    attempt = alone(base_of(pods, *TYPES), "s")
    before = attempt.price()
    rearrange(attempt)
    new = slice(0, 200)
    assert 40 <= int(attempt.bins.dead[new].sum()) <= 160
    assert attempt.price() < before
    assert sorted(held(attempt).values()) == [1] * 200
    assert is_sound(attempt)


def test_a_plan_near_its_bound_is_left_alone() -> None:
    """Large nodes, all of them full: what they cost is what their pods are worth."""
    attempt = base_of(deployment(32, cpu=1, memory="1Gi"), *TYPES)
    market = attempt.enc.market
    offer = [market.types[one.type].name for one in market.offers].index("l")
    number = attempt.book.add(0, -1, 32)
    room = int(attempt.enc.cap_or[offer, 0] // 1000)
    span = attempt.bins.open(offer, 32 // room)
    nodes = np.arange(span.start, span.stop)
    attempt.bins.put(number, attempt.units[number], nodes, np.full(len(nodes), room))
    attempt.left_u = left_of(attempt)
    log = list(attempt.bins.log)
    rearrange(attempt)
    assert attempt.bins.log == log


def test_units_that_only_names_tell_apart_are_rearranged_together() -> None:
    """Two units of equal pods are one sort; each keeps as many pods as it had."""
    attempt = base_of(deployment(9, cpu=1), *TYPES)
    market = attempt.enc.market
    offer = [market.types[one.type].name for one in market.offers].index("l")
    numbers = [attempt.book.add(0, -1, 4), attempt.book.add(0, -1, 5, weight=0)]
    attempt.units[numbers[1]].weight = attempt.units[numbers[0]].weight
    for number, count in zip(numbers, (4, 5), strict=True):
        span = attempt.bins.open(offer, count)
        nodes = np.arange(span.start, span.stop)
        attempt.bins.put(number, attempt.units[number], nodes, np.ones(count, dtype=np.int64))
    attempt.left_u = left_of(attempt)
    before = attempt.price()
    rearrange(attempt)
    assert attempt.price() < before
    assert held(attempt) == {numbers[0]: 4, numbers[1]: 5}
    assert not attempt.left_u.any()


def test_limits_hold() -> None:
    """Large nodes would be cheaper, and have too much CPU for the pool."""
    pods = [*deployment(8, "a", cpu=1), *deployment(3, "b", cpu="500m")]
    limits = {"default": {"cpu": 23_000}}
    attempt = alone(base_of(pods, *TYPES, limits=limits), "s")
    rearrange(attempt)
    assert is_sound(attempt)
    assert attempt.price() < 11 * 110_000_000


@pytest.mark.parametrize("effort", [1, 3])
def test_pods_of_an_empty_plan_stay_out(effort: int) -> None:
    """There is no node to be rearranged."""
    attempt = base_of(deployment(3), *TYPES, policy=Policy(effort=effort))
    rearrange(attempt)
    assert attempt.bins.n == 0


def test_each_market_is_rearranged_by_itself() -> None:
    """Nodes for each pod in two zones, whose pods may not leave them."""
    zones = ("a", "b")
    types = [
        instance_type(kind.name, cpu=cpu, memory=f"{4 * cpu}Gi", price=price, zones=zones)
        for kind, cpu, price in zip(TYPES, (2, 4, 16), (0.11, 0.2, 0.7), strict=True)
    ]
    pods = [
        one
        for zone in zones
        for one in deployment(12, f"in-{zone}", cpu=1, node_selector={"zone": zone})
    ]
    attempt = base_of(pods, *types)
    market = attempt.enc.market
    for group in range(2):
        wanted = attempt.enc.groups[group].pods[0].spec.node_selector
        offer = next(
            number
            for number, one in enumerate(market.offers)
            if market.types[one.type].name == "s" and one.offering.zone in wanted.values()
        )
        number = attempt.book.add(group, -1, 12)
        span = attempt.bins.open(offer, 12)
        nodes = np.arange(span.start, span.stop)
        attempt.bins.put(number, attempt.units[number], nodes, np.ones(12, dtype=np.int64))
    attempt.left_u = left_of(attempt)
    before = attempt.price()
    rearrange_by_market(attempt)
    assert attempt.price() < 0.6 * before
    assert sorted(held(attempt).values()) == [12, 12]
    assert is_sound(attempt)


def test_a_wide_search_is_no_dearer_than_a_narrow_one_here() -> None:
    """Sixty Deployments of one to three pods, each pod on a node of its own."""
    pods = [
        one
        for n in range(60)
        for one in deployment(
            1 + n % 3, f"d{n:02}", cpu=f"{100 + 37 * n}m", memory=f"{1 + n % 7}Gi"
        )
    ]
    narrow, wide = (alone(base_of(pods, *TYPES), "l") for _ in range(2))
    rearrange(narrow)
    rearrange_widely(wide)
    assert wide.price() <= narrow.price()
    assert sorted(held(wide).values()) == sorted(held(narrow).values())
    assert is_sound(wide)
