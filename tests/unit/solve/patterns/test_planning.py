from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from dovetail.decide import decide
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot
from dovetail.model.volumes import PodVolumes
from dovetail.solve.kernel import loading
from dovetail.testing.builders import deployment, instance_type, pod, snapshot
from tests.oracle.check import check
from tests.unit.solve.patterns.instances import base_of, loads_for, sorted_out

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TYPES = (
    instance_type("s", cpu=2, memory="8Gi", price=0.11, zones=("a",)),
    instance_type("m", cpu=4, memory="16Gi", price=0.2, zones=("a",)),
    instance_type("l", cpu=16, memory="32Gi", price=0.7, zones=("a",)),
)


def mixed(n_sorts: int) -> list[Pod]:
    """Pods of so many sorts, two of each."""
    return [
        one
        for n in range(n_sorts)
        for one in deployment(2, f"d{n}", cpu=f"{100 + 7 * n}m", memory=f"{64 + 31 * (n % 9)}Mi")
    ]


def planned(cluster: Snapshot) -> bytes:
    """The plan as bytes, which a checker has found nothing wrong with."""
    plan = decide(cluster, NOW)
    assert not check(cluster, NOW, plan)
    return msgspec.json.encode(plan, order="deterministic")


def test_pods_alike_get_the_cheapest_nodes() -> None:
    """Twelve pods of 1 CPU on nodes of 2 for 0.11, 4 for 0.2 and 16 for 0.7: no node of 16."""
    base = base_of(deployment(12, cpu=1, memory="1Mi"), *TYPES)
    rates, pods = sorted_out(base)
    (loads,) = loads_for(base, rates, pods)
    assert sum(rates.price[load] for load in loads) == 3 * 200_000_000
    assert sum(len(rates.pods(load)) for load in loads) == 12


def test_a_mix_gets_nodes_that_hold_no_more_than_there_is() -> None:
    """All that is in the loads is asked for, and most of what is asked for is in them."""
    base = base_of(mixed(7), *TYPES)
    rates, pods = sorted_out(base)
    dives = loads_for(base, rates, pods)
    assert len(dives) == 2
    for loads in dives:
        held = [sort for load in loads for sort in rates.pods(load)]
        assert all(held.count(sort) <= count for sort, count in pods.items())
        assert len(held) >= 0.7 * sum(pods.values())
    assert base.values.pattern_worths


@pytest.mark.parametrize(
    ("pods", "parts"),
    [
        pytest.param(mixed(400), {}, id="too many sorts"),
        pytest.param([], {}, id="nobody"),
        pytest.param([pod(cpu=99)], {}, id="nobody who fits a node"),
        pytest.param(
            [pod("p", claims=["x"]), pod("q", claims=["x"])],
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
def test_patterns_are_no_help(pods: list[Pod], parts: dict[str, object]) -> None:
    """Then there are no loads, and the plan is made without them."""
    base = base_of(pods, *TYPES, **parts)
    assert loads_for(base, *sorted_out(base)) == []


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param(mixed(400), id="hundreds of sorts"),
        pytest.param(
            [
                pod(f"p{n}", cpu="500m", requests={f"example.com/r{n}": 1, "example.com/all": n})
                for n in range(59)
            ],
            id="sixty resources",
        ),
        pytest.param(
            [
                *deployment(9, "tiny", cpu="1m", memory="1"),
                *deployment(3, "odd", cpu="333m", memory="1000000007"),
            ],
            id="bytes beside primes",
        ),
        pytest.param(mixed(9), id="a plain mix"),
    ],
)
def test_the_same_pods_get_the_same_plan(pods: list[Pod]) -> None:
    """To the last byte, compiled or not, and a checker agrees."""
    extra = {f"example.com/r{n}": 1 for n in range(59)}
    kind = instance_type(
        "x",
        cpu=64,
        memory="64Gi",
        price=2.0,
        zones=("a",),
        resources={**extra, "example.com/all": 99},
    )
    cluster = snapshot(pods, types=(*TYPES, kind))
    first = planned(cluster)
    assert planned(cluster) == first
    with loading.plain():
        assert planned(cluster) == first


@pytest.mark.parametrize("price", [0.0, 1e-9, 1_000_000.0])
def test_prices_may_be_anything(price: float) -> None:
    """Nothing, a nanodollar, or a million dollars an hour."""
    kind = instance_type("x", cpu=2, memory="8Gi", price=price, zones=("a",))
    pods = [*deployment(30, "a", cpu=1), *deployment(30, "b", cpu="600m")]
    planned(snapshot(pods, types=(kind,)))
