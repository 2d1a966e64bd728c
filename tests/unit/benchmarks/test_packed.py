from __future__ import annotations

from collections import Counter

from benchmarks.packed import NOW, packed_cluster
from dovetail.decide.disrupt.emptiness import is_quiet
from dovetail.decide.provision import provision
from dovetail.model.resources import fits, total
from dovetail.model.snapshot import Snapshot

N_PODS = 400


def movable(cluster: Snapshot) -> int:
    """How many pods would want another node."""
    return sum(not pod.is_daemon for pod in cluster.pods)


def test_everybody_runs_on_a_quiet_node_with_room_for_all() -> None:
    """Nothing waits, nothing is overfull, everything may be consolidated."""
    cluster = packed_cluster(N_PODS)
    assert movable(cluster) == N_PODS
    assert provision(cluster, NOW).n_pods == 0
    for node in cluster.nodes:
        here = [pod for pod in cluster.pods if pod.node_name == node.name]
        assert fits(total(pod.spec.requests for pod in here), node.allocatable)
        assert is_quiet(node)
        assert node.node_claim


def test_a_seed_fixes_the_cluster() -> None:
    """Two runs see the same."""
    assert packed_cluster(N_PODS, 3) == packed_cluster(N_PODS, 3)
    assert packed_cluster(N_PODS, 3) != packed_cluster(N_PODS, 4)


def test_pods_that_have_gone_leave_the_same_number_on_more_nodes() -> None:
    """What is asked for is what is left; nodes without pods are gone."""
    before, after = packed_cluster(N_PODS), packed_cluster(N_PODS, leaving=0.4)
    assert movable(after) == N_PODS
    assert len(after.nodes) > len(before.nodes)
    used = Counter(pod.node_name for pod in after.pods if not pod.is_daemon)
    assert all(used[node.name] for node in after.nodes)


def test_budgets_guard_some_of_the_pods_and_let_some_of_those_go() -> None:
    """A quarter of each, rounded up."""
    cluster = packed_cluster(N_PODS)
    assert cluster.disruption_budgets
    assert all(one.disruptions_allowed >= 1 for one in cluster.disruption_budgets)
