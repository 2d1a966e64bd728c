from __future__ import annotations

from dovetail.solve.zones.settle import counted_hosts, host_minimum, settle_all
from dovetail.testing.builders import deployment, node, pod
from tests.unit.solve.puzzles import SMALL, empty_attempt, encoded

HOSTS = [{"topology_key": "hostname"}]
TWO = (node("n1", zone="a", cpu=8), node("n2", zone="b", cpu=8))


def test_pods_go_to_nodes_that_are_there_first() -> None:
    """All of them fit, so nobody is left."""
    attempt = empty_attempt(encoded(deployment(4, "web", cpu=1), nodes=TWO))
    settle_all(attempt, range(1))
    assert not attempt.left_u.any()
    assert attempt.bins.n == 2


def test_a_host_spread_rises_with_its_true_minimum() -> None:
    """Two nodes take two replicas each within a skew of one."""
    attempt = empty_attempt(encoded(deployment(4, "web", cpu=1, spread=HOSTS), nodes=TWO))
    settle_all(attempt, range(1))
    assert attempt.bins.match[0, :2].tolist() == [2, 2]
    assert not attempt.bins.floor.any()


def test_too_few_hosts_for_min_domains_hold_the_minimum_at_zero() -> None:
    """Two nodes where three are asked for: one replica each."""
    words = [{"topology_key": "hostname", "min_domains": 3}]
    attempt = empty_attempt(encoded(deployment(4, "web", cpu=1, spread=words), nodes=TWO))
    settle_all(attempt, range(1))
    assert attempt.bins.match[0, :2].tolist() == [1, 1]


def test_an_empty_new_node_lowers_the_minimum() -> None:
    """It counts as soon as it is planned, unless it was given up."""
    old = [pod(f"old-{n}", labels={"app": "web"}, node=f"n{n}") for n in (1, 2)]
    enc = encoded(deployment(1, "web", spread=HOSTS), SMALL, nodes=TWO, bound=tuple(old))
    bins = empty_attempt(enc).bins
    assert host_minimum(bins, 0) == 1
    span = bins.open(0, 1)
    assert host_minimum(bins, 0) == 0
    bins.dead[span.start] = True
    assert counted_hosts(bins, 0).tolist() == [True, True, False]


def test_a_zone_spread_counts_what_it_puts_on_nodes_that_are_there() -> None:
    """Two nodes in two zones take two replicas each, in turn."""
    words = [{"topology_key": "zone"}]
    attempt = empty_attempt(encoded(deployment(4, "web", cpu=1, spread=words), nodes=TWO))
    settle_all(attempt, range(1))
    assert attempt.settler.state.match[0].tolist() == [2, 2]
    assert sum(count for _, _, count in attempt.steps) == 4


def test_what_no_cell_takes_is_told() -> None:
    """Nothing can be launched and no node has room: all of them are unsettled."""
    words = [{"topology_key": "zone"}]
    attempt = empty_attempt(encoded(deployment(2, "web", cpu=100, spread=words), nodes=TWO))
    settle_all(attempt, range(1))
    assert attempt.unsettled == {0: 2}
