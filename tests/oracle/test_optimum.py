"""Trying everything finds the cheapest legal plan of tiny clusters."""

from __future__ import annotations

import msgspec

from dovetail import labels
from dovetail.model.node import Node
from dovetail.model.pod import Pod
from dovetail.model.pool import NodePool
from dovetail.model.topology import NodePolicy, PodTerm, Spread, equality
from tests.oracle.build import NOW, ask, cluster, kind, offering, pod
from tests.oracle.optimum import optimum

SMALL = kind("small", holds={"cpu": 2000, "pods": 9}, offerings=(offering(price=60),))
LARGE = kind("large", holds={"cpu": 4000, "pods": 9}, offerings=(offering(price=100),))


def pods(n: int, **fields: object) -> tuple[Pod, ...]:
    """So many pods of 1 cpu, all labelled app=web."""
    return tuple(
        pod(f"p{number}", labels={"app": "web"}, spec=ask(**fields)) for number in range(n)
    )


def test_the_best_mix_of_sizes_is_found() -> None:
    """Five pods: one large and one small node, not two large and not three small."""
    waiting = pods(5)
    assert optimum(cluster(*waiting, kinds=(SMALL, LARGE)), NOW, waiting) == 160
    assert optimum(cluster(*waiting, kinds=(SMALL,)), NOW, waiting) == 180


def test_existing_room_is_used_for_nothing() -> None:
    """Two of the five fit a node that is there."""
    node = Node("n1", labels={labels.ZONE: "a"}, allocatable={"cpu": 2000, "pods": 9})
    waiting = pods(5)
    snapshot = cluster(*waiting, kinds=(SMALL, LARGE), nodes=(node,))
    assert optimum(snapshot, NOW, waiting) == 100


def test_constraints_between_pods_are_kept() -> None:
    """Pods that exclude each other need a node each."""
    apart = PodTerm(labels.HOSTNAME, equality({"app": "web"}))
    waiting = pods(2, anti_affinity=(apart,))
    assert optimum(cluster(*waiting, kinds=(SMALL, LARGE)), NOW, waiting) == 120


def test_pods_for_nodes_that_are_there_are_bound_before_others_come() -> None:
    """Only the new zone would upset the spread, and its pod has a node before that zone exists."""
    node = Node("n1", labels={labels.ZONE: "b"}, allocatable={"cpu": 9000, "pods": 9})
    running = [pod(f"r{n}", labels={"app": "web"}, node_name="n1") for n in range(2)]
    spread = Spread(labels.ZONE, equality({"app": "web"}), node_affinity_policy=NodePolicy.IGNORE)
    stays = pod("stays", spec=ask(spread=(spread,), node_selector={labels.ZONE: "b"}))
    leaves = pod("leaves", spec=ask(node_selector={labels.ZONE: "a"}))
    snapshot = cluster(*running, stays, leaves, kinds=(LARGE,), nodes=(node,))
    assert optimum(snapshot, NOW, (stays, leaves)) == 100


def test_reservations_and_limits_are_kept() -> None:
    """One reserved node is cheap; the second must be bought, or not at all beyond the limit."""
    reserved = msgspec.structs.replace(
        offering(price=1, capacity_type=labels.RESERVED),
        reservation_id="cr",
        reservation_capacity=1,
    )
    small = kind("small", holds={"cpu": 1000, "pods": 9}, offerings=(reserved, offering()))
    waiting = pods(2)
    assert optimum(cluster(*waiting, kinds=(small,)), NOW, waiting) == 101
    tight = (msgspec.structs.replace(NodePool("pool"), limits={"nodes": 1}),)
    assert optimum(cluster(*waiting, kinds=(small,), pools=tight), NOW, waiting) is None


def test_no_way_is_no_price() -> None:
    """A pod that nothing holds makes the whole impossible."""
    waiting = pods(1, requests={"cpu": 9000})
    assert optimum(cluster(*waiting, kinds=(SMALL, LARGE)), NOW, waiting) is None


def test_the_strict_reading_of_spread_opens_the_second_zone() -> None:
    """kube-scheduler is content with one zone as long as there is no other; the owner is not."""
    both = kind(offerings=(offering("a", 100), offering("b", 150)))
    waiting = pods(2, spread=(Spread(labels.ZONE, equality({"app": "web"})),))
    snapshot = cluster(*waiting, kinds=(both,))
    assert optimum(snapshot, NOW, waiting) == 100
    assert optimum(snapshot, NOW, waiting, is_strict=True) == 250


def test_the_strict_reading_of_host_spread_opens_a_second_host() -> None:
    """No new host runs ahead of one that could be opened."""
    waiting = pods(2, spread=(Spread(labels.HOSTNAME, equality({"app": "web"})),))
    snapshot = cluster(*waiting, kinds=(LARGE,))
    assert optimum(snapshot, NOW, waiting) == 100
    assert optimum(snapshot, NOW, waiting, is_strict=True) == 200
