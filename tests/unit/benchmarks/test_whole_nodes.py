from __future__ import annotations

from itertools import product

import msgspec
import pytest

from benchmarks.small_mix import FIRST, mixed, small, uniform
from benchmarks.whole_nodes import (
    Machine,
    Sort,
    bound_nanousd,
    held,
    is_sold,
    market,
    optimum_nanousd,
)
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.snapshot import Snapshot
from dovetail.testing.builders import deployment, instance_type, pod, snapshot

SMALL = instance_type("small", cpu=2, memory="8Gi", price=0.11, zones=("a",))
LARGE = instance_type("large", cpu=8, memory="16Gi", price=0.4, zones=("a",))


def cheapest(cluster: Snapshot) -> int:
    """The least price of whole nodes for whole pods: every way is tried, pod by pod."""
    kinds = [(one.allocatable, one.offerings[0].price_nanousd) for one in (SMALL, LARGE)]
    pods = cluster.pods
    best = 2**62

    def place(left: tuple[Pod, ...], nodes: list[tuple[int, dict[str, int]]], paid: int) -> None:
        nonlocal best
        if paid >= best:
            return
        if not left:
            best = paid
            return
        asked = left[0].spec.requests
        for number, (kind, free) in enumerate(nodes):
            if all(free.get(name, 0) >= n for name, n in asked.items()):
                rest = {name: n - asked.get(name, 0) for name, n in free.items()}
                changed = [*nodes[:number], (kind, rest), *nodes[number + 1 :]]
                place(left[1:], changed, paid)
        for kind, (room, price) in enumerate(kinds):
            if all(room.get(name, 0) >= n for name, n in asked.items()):
                rest = {name: n - asked.get(name, 0) for name, n in room.items()}
                place(left[1:], [*nodes, (kind, rest)], paid + price)

    place(pods, [], 0)
    return best


@pytest.mark.parametrize(
    ("n_pods", "cpu"), list(product((1, 3, 5, 6), ("500m", "1", "1500m", "2")))
)
def test_the_optimum_of_pods_alike_is_exact(n_pods: int, cpu: str) -> None:
    """As every way to place them says; the bound of whole nodes is no more than that."""
    cluster = snapshot(deployment(n_pods, cpu=cpu), types=(SMALL, LARGE))
    want = cheapest(cluster)
    assert optimum_nanousd(cluster) == want
    assert 0 < bound_nanousd(cluster) <= want


@pytest.mark.parametrize("counts", [(2, 2), (1, 4), (3, 3)])
def test_the_bound_of_a_mix_is_below_its_optimum(counts: tuple[int, int]) -> None:
    """And near: nodes are whole, and no node holds more of a sort than fit it."""
    first, second = counts
    pods = [
        *deployment(first, "a", cpu="1500m", memory="1Gi"),
        *deployment(second, "b", cpu="700m", memory="3Gi"),
    ]
    cluster = snapshot(pods, types=(SMALL, LARGE))
    want = cheapest(cluster)
    assert 0.7 * want <= bound_nanousd(cluster) <= want


def test_what_no_whole_pod_can_use_is_not_there() -> None:
    """Pods of 600m and 1200m leave 200m of 2 CPU unused: three of 1200m need three machines."""
    pods = [*deployment(2, "a", cpu="1200m"), pod("b", cpu="600m")]
    _, machines = market(snapshot(pods, types=(SMALL,)))
    assert machines[0].room[0] == 1800
    tight = snapshot([*deployment(9, "a", cpu="600m"), pod("b", cpu="1200m")], types=(SMALL,))
    assert bound_nanousd(tight) >= 0.999 * 4 * 110_000_000


def test_a_bound_that_takes_too_long_is_still_a_bound() -> None:
    """Without any time there is none, or one that holds."""
    cluster = small(FIRST)
    assert 0 <= bound_nanousd(cluster, 0.0) <= bound_nanousd(cluster) * (1 + 1e-5)


def test_a_pod_that_fits_nowhere_has_no_optimum() -> None:
    """It is said, not guessed."""
    cluster = snapshot(deployment(2, cpu=99), types=(SMALL, LARGE))
    with pytest.raises(ValueError, match="no machine takes"):
        optimum_nanousd(cluster)


def test_only_what_the_pool_takes_is_on_the_market() -> None:
    """On demand, available, amd64, c, m and r, generation 3 and later; nothing pointless."""
    cluster = uniform(FIRST)
    (pool,) = cluster.node_pools
    sold = [
        (one, offering)
        for one in cluster.instance_types["default"]
        for offering in one.offerings
        if is_sold(pool, one, offering)
    ]
    assert sold
    assert {one.name[0] for one, _ in sold} == {"c", "m", "r"}
    assert {offering.capacity_type for _, offering in sold} == {"on-demand"}
    assert all(offering.is_available for _, offering in sold)
    names = {one.name for one, _ in sold}
    assert "m5.large" in names
    assert not names & {"m6g.large", "m1.large", "t3.large"}
    _, machines = market(cluster)
    assert 10 < len(machines) < len(sold)


def test_a_machine_holds_what_fits() -> None:
    """In the scarcest resource, and no more than there are."""
    machine = Machine((4000, 16, 10), 1)
    assert held(Sort((1000, 1, 1), 99), machine) == 4
    assert held(Sort((100, 0, 1), 99), machine) == 10
    assert held(Sort((1, 0, 1), 3), machine) == 3
    assert held(Sort((5000, 1, 1), 3), machine) == 0


def test_clusters_are_as_they_are_said_to_be() -> None:
    """Sizes, sorts, and the same cluster for the same number."""
    for number in range(FIRST, FIRST + 40):
        one, few, many = uniform(number), small(number), mixed(number)
        assert 3 <= len(one.pods) <= 300
        assert len({pod.labels["app"] for pod in one.pods}) == 1
        assert 20 <= len(few.pods) <= 300
        assert len(many.pods) == 300
        for cluster in (few, many):
            assert 2 <= len({pod.labels["app"] for pod in cluster.pods}) <= 20
    assert uniform(FIRST).pods == uniform(FIRST).pods != uniform(FIRST + 1).pods


def test_the_first_finding_of_a_new_user_has_its_optimum() -> None:
    """100 pods of 1 CPU on the getting-started NodePool cost $3.978 an hour."""
    cluster = uniform(FIRST)
    spec = PodSpec(requests={"cpu": 1000, "memory": 128 << 20, "pods": 1})
    pods = tuple(Pod(f"web-{n}", "bench", spec, labels={"app": "web"}) for n in range(100))
    assert optimum_nanousd(msgspec.structs.replace(cluster, pods=pods)) == 3_978_000_000
