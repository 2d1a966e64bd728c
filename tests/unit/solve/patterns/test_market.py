from __future__ import annotations

import numpy as np
import pytest

from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.packing.units import unit_of
from dovetail.solve.patterns.market import (
    acceptance,
    apart,
    market_of,
    pattern_market,
    with_caps,
)
from dovetail.testing.builders import deployment, instance_type, node_pool, pod
from tests.unit.solve.patterns.instances import market_for
from tests.unit.solve.puzzles import encoded, units_of

HOST = {"topology_key": "hostname"}
LARGE = instance_type("large", cpu=8, memory="32Gi", price=0.4, zones=("a",))


def test_a_sort_that_keeps_its_own_kind_away_has_a_cap_of_one() -> None:
    """One more resource, of which every node has one and each pod takes one."""
    enc = encoded([*deployment(3, anti_affinity=[HOST]), pod("other")], LARGE)
    request_sr, cap_or, most_s = with_caps(
        enc, units_of(enc), np.arange(enc.n_offers), [TermKind.ANTI]
    )
    loner = next(g for g, group in enumerate(enc.groups) if group.spec.anti_affinity)
    assert request_sr[:, -1].tolist() == [int(group == loner) for group in range(2)]
    assert cap_or[:, -1].tolist() == [1]
    assert most_s[loner] == 1 < most_s[1 - loner]


def test_a_spread_over_hosts_caps_a_node_where_plans_are_made() -> None:
    """At its maxSkew; not where a bound is proven, since a lone host may take them all."""
    enc = encoded(deployment(5, spread=[{"topology_key": "hostname", "max_skew": 2}]), LARGE)
    offers, units = np.arange(enc.n_offers), units_of(enc)
    assert with_caps(enc, units, offers, [TermKind.SPREAD])[2].tolist() == [2]
    request_sr, _, most_s = with_caps(enc, units, offers, [TermKind.ANTI])
    assert most_s[0] > 5
    assert request_sr.shape[1] == len(enc.resources)
    nodes = (offers, enc.price_o[offers], acceptance(enc, units, offers))
    market = market_of(enc, units, enc.count_g, nodes, is_spread_capped=False)
    assert market.segments[0].items.most_i.tolist() == [5]


def test_affinity_is_no_cap() -> None:
    """Pods that want each other's company fill a node as they like."""
    enc = encoded(deployment(3, affinity=[HOST]), LARGE)
    request_sr, _, _ = with_caps(enc, units_of(enc), np.arange(enc.n_offers), [TermKind.SPREAD])
    assert request_sr.shape[1] == len(enc.resources)


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        pytest.param({"anti_affinity": [{**HOST, "selector": {"app": "b"}}]}, True, id="anti"),
        pytest.param({"host_ports": [80]}, True, id="a port that both take"),
        pytest.param({"host_ports": [81]}, False, id="another port"),
        pytest.param({}, False, id="nothing"),
    ],
)
def test_sorts_that_exclude_each_other_are_apart(fields: dict[str, object], *, want: bool) -> None:
    """On both sides, whoever says so; a sort is never apart from itself, for which there are
    caps.
    """
    enc = encoded([pod("a", **fields), pod("b", host_ports=[80], cpu=2)], LARGE)
    assert apart(enc, units_of(enc)).tolist() == [[False, want], [want, False]]


def test_units_with_a_cell_or_a_weight_are_taken_there_only() -> None:
    """Everything else takes them as if it were not on sale."""
    kind = instance_type("x", cpu=8, price=0.4, zones=("a", "b"))
    enc = encoded(
        [pod(spread=[{"topology_key": "zone"}])],
        node_pools=(node_pool("heavy", weight=9), node_pool("light")),
        instance_types={"heavy": (kind,), "light": (kind,)},
    )
    offers = np.arange(enc.n_offers)
    assert acceptance(enc, [unit_of(enc, 0)], offers).all()
    cell, weight = int(enc.cell_o[0]), int(enc.weight_o[0])
    there = acceptance(enc, [unit_of(enc, 0, cell), unit_of(enc, 0, weight=weight)], offers)
    assert there[0].tolist() == (enc.cell_o == cell).tolist()
    assert there[1].tolist() == (enc.weight_o == weight).tolist()
    assert not there.all()


def test_nodes_that_another_makes_pointless_are_not_in_the_market() -> None:
    """A dearer one that is no larger; one that is larger than all pods together."""
    kinds = [
        instance_type("dear", cpu=4, memory="16Gi", price=0.3, zones=("a",)),
        instance_type("fair", cpu=4, memory="16Gi", price=0.2, zones=("a",)),
        instance_type("huge", cpu=64, memory="256Gi", price=2.0, zones=("a",)),
    ]
    enc = encoded([pod("a", cpu=1), pod("b", cpu=2)], *kinds)
    (segment,) = market_for(enc).segments
    assert [enc.market.types[enc.market.offers[o].type].name for o in segment.offers] == ["fair"]


def test_small_and_large_nodes_are_on_different_segments() -> None:
    """And a segment of small nodes has no sorts that do not fit there."""
    kinds = [
        instance_type("s", cpu=1, memory="4Gi", price=0.1, zones=("a",)),
        instance_type("l", cpu=64, memory="256Gi", price=3.0, zones=("a",)),
    ]
    pods = [*deployment(70, cpu=1), *deployment(2, "big", cpu=8)]
    market = market_for(encoded(pods, *kinds))
    sizes = sorted((int(one.cap_or[0, 0]), len(one.rows)) for one in market.segments)
    assert [n_rows for _, n_rows in sizes] == [1, 2]


def test_sorts_that_nothing_takes_are_on_no_segment() -> None:
    """Neither is anything, where nothing is on sale."""
    enc = encoded([pod("a", cpu=1), pod("b", cpu=1, node_selector={"zone": "z"})], LARGE)
    rows = [segment.rows.tolist() for segment in market_for(enc).segments]
    assert [len(one) for one in rows] == [1]
    assert market_for(enc, np.zeros(0, dtype=np.int64)).segments == ()
    refused = encoded([pod("b", cpu=1, node_selector={"zone": "z"})], LARGE)
    assert market_for(refused).segments == ()
    too_large = encoded([pod("b", cpu=99)], LARGE)
    assert market_for(too_large).segments == ()


def test_a_node_holds_no_more_of_a_sort_than_there_are() -> None:
    """Nor more than fit the largest one."""
    enc = encoded([*deployment(3, "few", cpu="10m"), *deployment(90, "many", cpu=1)], LARGE)
    market = pattern_market(enc, units_of(enc), enc.count_g, np.arange(enc.n_offers))
    (segment,) = market.segments
    most = dict(zip(segment.rows.tolist(), segment.items.most_i.tolist(), strict=True))
    by_name = {enc.groups[row].pods[0].labels["app"]: count for row, count in most.items()}
    assert by_name["few"] == 3
    assert by_name["many"] in (7, 8)
