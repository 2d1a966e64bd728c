"""The exhaustive search finds the plan that places most pods, and of those the cheapest."""

from __future__ import annotations

from itertools import combinations

import msgspec
import pytest

from dovetail import labels
from dovetail.model.node import Node
from dovetail.model.pod import Pod
from dovetail.model.pool import NodePool
from dovetail.model.requirements import requirement
from dovetail.model.snapshot import Snapshot
from dovetail.model.topology import HostPort, PodTerm, Spread, equality
from tests.fuzz.tiny import built, words_of
from tests.oracle.build import NOW, ask, cluster, kind, offering, pick, pod
from tests.oracle.hosts import waiting_pods
from tests.oracle.launchable import all_offers
from tests.oracle.most_placed import best_plan
from tests.oracle.optimum import optimum
from tests.oracle.tiny_plan import Witness, counts

SMALL = kind("small", holds={"cpu": 2000, "pods": 9}, offerings=(offering(price=60),))
LARGE = kind("large", holds={"cpu": 4000, "pods": 9}, offerings=(offering(price=100),))


def best(snapshot: Snapshot) -> Witness:
    """The best plan for whoever waits."""
    found = best_plan(snapshot, NOW, waiting_pods(snapshot, NOW))
    assert found is not None
    return found


def pods(n: int, name: str = "web", cpu: int = 1000, **fields: object) -> tuple[Pod, ...]:
    """So many pods of one app."""
    spec = ask(requests={"cpu": cpu, "pods": 1}, **fields)
    return tuple(pod(f"{name}-{one}", labels={"app": name}, spec=spec) for one in range(n))


def test_all_are_placed_for_the_least_money() -> None:
    """Five pods: one large and one small node, not two large and not three small."""
    found = best(cluster(*pods(5), kinds=(SMALL, LARGE)))
    assert (found.n_placed, found.price_nanousd) == (((0, 5),), 160)
    assert sorted(found.bought.values()) == [
        "pool large a on-demand",
        "pool small a on-demand",
    ]


def test_a_limit_of_nodes_makes_a_larger_node_worth_its_price() -> None:
    """One node for all, though two smaller ones would be cheaper for each."""
    limited = (pick("pool", limits={"nodes": 1}),)
    found = best(cluster(*pods(6), kinds=(SMALL, LARGE), pools=limited))
    assert found.n_placed == ((0, 4),)


def test_pods_of_higher_priority_come_before_many_others() -> None:
    """One pod of priority 10 takes the room of four."""
    limited = (pick("pool", limits={"nodes": 1}),)
    first = pods(1, "first", cpu=4000, priority=10)
    found = best(cluster(*pods(4), *first, kinds=(LARGE,), pools=limited))
    assert found.n_placed == ((10, 1),)
    assert set(found.host_by_pod) == {"default/first-0"}


def test_followers_are_placed_with_whom_they_follow() -> None:
    """Only the large type holds a leader and both of its followers."""
    near = PodTerm(labels.HOSTNAME, equality({"app": "web"}))
    waiting = (*pods(1, cpu=100), *pods(2, "follower", cpu=1500, affinity=(near,)))
    found = best(cluster(*waiting, kinds=(SMALL, LARGE)))
    assert (found.n_placed, found.price_nanousd) == (((0, 3),), 100)


def test_whoever_keeps_two_away_is_left_out() -> None:
    """One pod repels two others from the only node that can be had."""
    limited = (pick("pool", limits={"nodes": 1}),)
    far = PodTerm(labels.HOSTNAME, equality({"app": "web"}))
    waiting = (*pods(2), *pods(1, "hermit", anti_affinity=(far,)))
    found = best(cluster(*waiting, kinds=(LARGE,), pools=limited))
    assert set(found.host_by_pod) == {"default/web-0", "default/web-1"}


def test_existing_room_costs_nothing() -> None:
    """Ports keep two pods apart, so one of them needs a new node."""
    node = Node("n1", labels={labels.ZONE: "a"}, allocatable={"cpu": 9000, "pods": 9})
    waiting = pods(2, host_ports=(HostPort(80),))
    found = best(cluster(*waiting, kinds=(SMALL,), nodes=(node,)))
    assert (found.n_placed, found.price_nanousd) == (((0, 2),), 60)


def test_spread_is_read_strictly() -> None:
    """The second zone is opened, though kube-scheduler alone would be content with one."""
    both = kind(offerings=(offering("a", 100), offering("b", 150)))
    waiting = pods(2, spread=(Spread(labels.ZONE, equality({"app": "web"})),))
    snapshot = cluster(*waiting, kinds=(both,))
    assert best(snapshot).price_nanousd == 250
    lax = best_plan(snapshot, NOW, waiting, is_strict=False)
    assert lax is not None
    assert lax.price_nanousd == 100


def test_a_reservation_is_used_only_as_often_as_it_can_be() -> None:
    """Two reserved nodes of one pod each; the third pod waits."""
    reserved = msgspec.structs.replace(
        offering(price=1, capacity_type=labels.RESERVED),
        reservation_id="cr",
        reservation_capacity=2,
    )
    only = kind("only", holds={"cpu": 1000, "pods": 9}, offerings=(reserved,))
    assert best(cluster(*pods(3), kinds=(only,))).n_placed == ((0, 2),)


def test_min_values_keep_a_node_as_small_as_its_alternatives() -> None:
    """A node for which the pool wants two types holds only what both would hold."""
    picky = NodePool("pool", requirements=(requirement(labels.INSTANCE_TYPE, "Exists", (), 2),))
    limited = (msgspec.structs.replace(picky, limits={"nodes": 1}),)
    found = best(cluster(*pods(4), kinds=(SMALL, LARGE), pools=limited))
    assert found.n_placed == ((0, 2),)


def test_pools_of_different_weight_have_no_optimum() -> None:
    """Price does not decide between them; how many are placed is still known."""
    pools = (pick("heavy", weight=10), pick("light"))
    assert best(cluster(*pods(3), kinds=(SMALL,), pools=pools)).n_placed == ((0, 3),)


def test_a_search_without_steps_knows_nothing() -> None:
    """The answer is None, not a guess."""
    waiting = pods(5)
    assert best_plan(cluster(*waiting, kinds=(SMALL,)), NOW, waiting, steps=3) is None


@pytest.mark.parametrize("is_strict", [True, False])
def test_the_plain_search_agrees(is_strict: bool) -> None:  # noqa: FBT001  a parameter of the test
    """On generated clusters, asking `optimum` about every set of pods gives the same answer."""
    n_compared = 0
    for seed in range(120):
        snapshot = built(words_of(seed))
        waiting = waiting_pods(snapshot, NOW)
        if not _is_plain(snapshot, waiting):
            continue
        want = _by_subsets(snapshot, waiting, is_strict=is_strict)
        found = best_plan(snapshot, NOW, waiting, is_strict=is_strict)
        assert found is not None, f"seed {seed}"
        assert found.n_placed == want[0], f"seed {seed}: {found}"
        if len({pool.weight for pool in snapshot.node_pools}) == 1:
            assert found.price_nanousd == want[1], f"seed {seed}: {found}"
        n_compared += 1
    assert n_compared > 10


def _is_plain(snapshot: Snapshot, waiting: list[Pod]) -> bool:
    wishes = (one for pool in snapshot.node_pools for one in pool.requirements)
    has_min_values = any(one.min_values for one in wishes)
    return len(waiting) <= 3 and len(all_offers(snapshot, NOW)) <= 12 and not has_min_values


def _by_subsets(
    snapshot: Snapshot, waiting: list[Pod], *, is_strict: bool
) -> tuple[tuple[tuple[int, int], ...], int]:
    priorities = sorted({one.spec.priority for one in waiting}, reverse=True)
    best_key: tuple[tuple[int, ...], int] = ((-1,), 0)
    best_counts: tuple[tuple[int, int], ...] = ()
    for n in range(len(waiting) + 1):
        for some in combinations(waiting, n):
            price = optimum(snapshot, NOW, some, is_strict=is_strict)
            if price is None:
                continue
            placed = tuple(sum(one.spec.priority == p for one in some) for p in priorities)
            if (placed, -price) > best_key:
                best_key, best_counts = (placed, -price), counts(some)
    return best_counts, -best_key[1]
