from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import numpy as np

from dovetail.decide import decide
from dovetail.model.instance import InstanceType
from dovetail.model.pod import Pod
from dovetail.model.policy import MinValuesPolicy, Policy
from dovetail.solve.encoding.encode import Encoded, encode
from dovetail.solve.encoding.minvalues import hold_min_values, may_give_way, relaxed_groups
from dovetail.solve.puzzle import Puzzle
from dovetail.testing.builders import deployment, instance_type, node_pool, pod, snapshot

SIZES = (2, 4, 8)
TYPES = tuple(
    instance_type(f"t{size}", cpu=size, memory="64Gi", price=size / 10, zones=("a",))
    for size in SIZES
)


def encoded(
    *pods: Pod,
    types: tuple[InstanceType, ...] = TYPES,
    least: int = 2,
    policy: MinValuesPolicy = MinValuesPolicy.STRICT,
) -> Encoded:
    """Pods and one pool that insists on so many instance types, as arrays, minValues held."""
    said = [{"requirement": "instance-type Exists", "min_values": least}]
    return hold_min_values(
        encode(
            Puzzle(
                pods=pods,
                node_pools=(node_pool(requirements=said),),
                instance_types={"default": types},
                policy=Policy(min_values_policy=policy),
            )
        )
    )


def cpu_by_type(enc: Encoded) -> dict[str, int]:
    """The cpu that each offer is treated as having; 0 where no pod accepts it."""
    return {
        enc.market.types[enc.type_o[offer]].name: int(enc.cap_or[offer, 0])
        for offer in range(enc.n_offers)
        if enc.masks_me[:, offer].any()
    }


def test_an_offer_is_no_larger_than_the_siblings_it_needs() -> None:
    """With two types wanted, the largest is as large as the next one, and nothing else shrinks."""
    pods = [pod(f"p{number}", cpu=1) for number in range(9)]
    assert cpu_by_type(encoded(*pods)) == {"t2": 2000, "t4": 4000, "t8": 4000}


def test_what_nobody_asks_for_is_no_loss() -> None:
    """For one small pod all sizes are alike, so the cheapest siblings are kept."""
    assert cpu_by_type(encoded(pod(cpu=1))) == {"t2": 2000, "t4": 2000, "t8": 2000}


def test_without_min_values_nothing_changes() -> None:
    """The very same arrays come back."""
    plain = encode(Puzzle((pod(),), node_pools=(node_pool(),), instance_types={"default": TYPES}))
    assert hold_min_values(plain) is plain
    assert relaxed_groups(plain) == []


def test_with_too_few_types_a_strict_pool_takes_nothing() -> None:
    """Four types are wanted and there are three."""
    enc = encoded(pod(cpu=1), least=4)
    assert cpu_by_type(enc) == {}
    assert enc.n_offers == len(TYPES)
    assert not may_give_way(enc)


def test_by_best_effort_only_pods_that_cannot_be_held_see_the_full_size() -> None:
    """The large pod accepts a second row of the largest type, which the small one does not."""
    enc = encoded(pod("big", cpu=8), pod("web", cpu=1), policy=MinValuesPolicy.BEST_EFFORT)
    big = next(number for number, one in enumerate(enc.groups) if one.pods[0].name == "big")
    assert relaxed_groups(enc) == [big]
    assert may_give_way(enc)
    fits = enc.mask_go(big) & (enc.cap_or >= enc.requests_gr[big]).all(axis=1)
    assert [enc.market.types[kind].name for kind in enc.type_o[fits]] == ["t8"]
    assert not enc.mask_go(1 - big)[fits].any()


def test_a_pod_gets_siblings_of_its_own_where_the_nearest_are_too_small() -> None:
    """Every type has a twin that is a little too small for the pod, but two types hold it."""
    shapes = [(8, 4), (8, 2.9), (3, 10), (2.9, 10)]
    types = tuple(
        instance_type(f"t{n}", cpu=cpu, memory=f"{memory}Gi", price=0.1 + n / 100, zones=("a",))
        for n, (cpu, memory) in enumerate(shapes)
    )
    filler = [pod(f"p{number}", cpu=1, memory="1Gi") for number in range(40)]
    enc = encoded(*filler, pod("wide", cpu=3, memory="3Gi"), types=types)
    wide = next(number for number, one in enumerate(enc.groups) if one.pods[0].name == "wide")
    fits = enc.mask_go(wide) & (enc.cap_or >= enc.requests_gr[wide]).all(axis=1)
    assert [enc.market.types[kind].name for kind in enc.type_o[fits]] == ["t0"]
    assert enc.n_offers == len(types) + 1


def test_arrays_of_offers_stay_in_step() -> None:
    """Added rows have all that offers have, and know which offer they were."""
    enc = encoded(pod("big", cpu=8), pod("web", cpu=1), policy=MinValuesPolicy.BEST_EFFORT)
    assert enc.origin is not None
    n_offers = enc.n_offers
    assert n_offers > enc.origin.enc.n_offers
    for held in (enc.price_o, enc.plan_price_o, enc.pool_o, enc.weight_o, enc.supply_o):
        assert len(held) == n_offers
    assert len(enc.market.offers) == len(enc.cell_o) == len(enc.overhead_or) == n_offers
    assert enc.masks_me.shape[1] == enc.columns.n_entities == n_offers
    before = enc.origin.enc
    assert np.array_equal(enc.price_o, before.price_o[enc.origin.offer_o])
    assert np.array_equal(enc.type_o, before.type_o[enc.origin.offer_o])


def test_room_beside_pods_that_cannot_be_held_is_used() -> None:
    """Ten nodes are bought without their minValues; what is left of them holds ten more pods."""
    said = [{"requirement": "instance-type Exists", "min_values": 2}]
    pods = (*deployment(10, "big", cpu=6), *deployment(10, "web", cpu=2))
    cluster = snapshot(pods, node_pools=[node_pool(requirements=said)], types=TYPES)
    policy = Policy(min_values_policy=MinValuesPolicy.BEST_EFFORT)
    plan = decide(msgspec.structs.replace(cluster, policy=policy), datetime(2026, 1, 1, tzinfo=UTC))
    assert [(one.instance_type, len(one.pods)) for one in plan.launches] == [("t8", 2)] * 10
