from __future__ import annotations

import pytest

from benchmarks import catalogues
from benchmarks.growth.catalogue import catalogue
from benchmarks.growth.clusters import CLUSTERS, N_WAITING, over_nodes
from dovetail.model.resources import fits


@pytest.mark.parametrize("n_types", [100, 1_222, 3_000])
def test_a_catalogue_has_as_many_types_as_were_asked_for(n_types: int) -> None:
    """No two of one name; each can hold something and costs something."""
    types = catalogue(n_types)
    assert len({one.name for one in types}) == n_types
    for one in types:
        assert 0 <= one.allocatable["memory"] < one.capacity["memory"]
        assert min(held.price_nanousd for held in one.offerings) > 0


def test_a_larger_catalogue_holds_all_of_a_smaller_one() -> None:
    """Only what is added makes the difference."""
    small, large = catalogue(50), catalogue(1_500)
    assert large[:50] == small
    by_name = {one.name: one for one in large}
    assert all(by_name[one.name] == one for one in catalogues.cloud())


def test_what_is_added_beyond_the_cloud_is_not_the_same_again() -> None:
    """Other families, other prices, and each as its labels say."""
    own = {one.name for one in catalogues.cloud()}
    prices = {held.price_nanousd for one in catalogues.cloud() for held in one.offerings}
    added = [one for one in catalogue(1_400) if one.name not in own]
    assert len(added) == 1_400 - len(own)
    for one in added:
        settled = one.requirements.single_values()
        assert settled["node.kubernetes.io/instance-type"] == one.name
        assert one.name.startswith(f"{settled[catalogues.FAMILY]}.")
    assert not {held.price_nanousd for one in added for held in one.offerings} <= prices


@pytest.mark.parametrize("axis", CLUSTERS)
def test_a_seed_fixes_the_whole_cluster(axis: str) -> None:
    """Same seed, same snapshot; another seed, another cluster."""
    make = CLUSTERS[axis]
    assert make(60, 3) == make(60, 3)
    assert make(60, 3).pods != make(60, 4).pods


def test_nodes_have_some_room_and_the_surge_is_always_the_same() -> None:
    """What runs fits its node and leaves a seventh; what waits does not depend on the nodes."""
    small, large = over_nodes(5), over_nodes(40)
    assert [len(one.nodes) for one in (small, large)] == [5, 40]
    waiting = [[pod for pod in one.pods if not pod.node_name] for one in (small, large)]
    assert len(waiting[0]) == N_WAITING
    assert waiting[0] == waiting[1]
    for node in large.nodes:
        held = [pod.spec.requests for pod in large.pods if pod.node_name == node.name]
        used = {name: sum(one[name] for one in held) for name in ("cpu", "memory", "pods")}
        assert fits(used, node.allocatable)
        assert used["cpu"] <= node.allocatable["cpu"] * 0.85
