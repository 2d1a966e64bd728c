from __future__ import annotations

import pytest

from dovetail import labels
from dovetail.errors import InputError
from dovetail.testing import deployment, instance_type, node, node_pool, pod, snapshot


def test_a_pod_has_sane_defaults() -> None:
    """A pod in no words waits in namespace default and takes a pod slot."""
    made = pod("web")
    assert made.key == "default/web"
    assert made.node_name == ""
    assert made.spec.requests == {"cpu": 100, "memory": 128 * 2**20, "pods": 1}


def test_replicas_share_one_spec() -> None:
    """Grouping by identity works on built pods as on read ones."""
    first, second = deployment(2, "web", cpu="2")
    assert (first.name, second.name) == ("web-0", "web-1")
    assert first.spec is second.spec


def test_a_constraint_without_selector_is_about_the_pods_own_labels() -> None:
    """Spread and affinity select the pod's own kind unless told otherwise."""
    made = pod("web", labels={"app": "x"}, spread=[{"topology_key": "zone"}])
    (spread,) = made.spec.spread
    assert spread.topology_key == labels.ZONE
    assert spread.selector.matches({"app": "x"})
    assert not spread.selector.matches({"app": "web"})


def test_an_unknown_word_is_refused_by_name() -> None:
    """A slip of the pen cannot pass for a default."""
    with pytest.raises(InputError, match="cppu"):
        pod("web", cppu="1")


def test_a_node_has_the_size_of_its_type() -> None:
    """Where the type is known, the node need not repeat it."""
    small = instance_type("small", cpu=2, overhead={"cpu": "100m"})
    made = node("n1", types=[small], type="small", pool="default", zone="b")
    assert made.capacity["cpu"] == 2000
    assert made.allocatable["cpu"] == 1900
    assert made.labels[labels.INSTANCE_TYPE] == "small"
    assert made.labels[labels.ZONE] == "b"
    assert made.labels[labels.HOSTNAME] == "n1"


def test_a_type_is_offered_in_every_zone_at_each_price() -> None:
    """Price and spot price hold in all zones."""
    made = instance_type("small", price=0.1, spot=0.03, zones=["a", "b"])
    got = {(one.zone, one.capacity_type, one.price_nanousd) for one in made.offerings}
    assert got == {
        ("a", "on-demand", 100_000_000),
        ("a", "spot", 30_000_000),
        ("b", "on-demand", 100_000_000),
        ("b", "spot", 30_000_000),
    }


def test_a_pool_counts_its_limits_in_integers() -> None:
    """Limits are amounts like any other."""
    assert node_pool("p", limits={"cpu": 10, "nodes": 3}).limits == {"cpu": 10_000, "nodes": 3}


def test_a_snapshot_offers_its_types_to_every_pool() -> None:
    """Types go to all pools that were named."""
    made = snapshot(
        [pod("web", namespace="shop")],
        node_pools=[node_pool("a"), node_pool("b")],
        types=[instance_type("only")],
    )
    offered = {name: [one.name for one in types] for name, types in made.instance_types.items()}
    assert offered == {"a": ["only"], "b": ["only"]}
    assert made.namespaces == {"shop": {}}
