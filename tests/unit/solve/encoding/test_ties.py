from __future__ import annotations

import numpy as np

from dovetail.model.pod import DaemonSet
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.encoding.ties import sights
from dovetail.testing.builders import deployment, instance_type, node, pod
from tests.unit.solve.puzzles import SMALL, encoded

ARM = instance_type("arm", cpu=2, memory="8Gi", price=0.08, zones=("a",), arch="arm64")
SPREAD = [{"topology_key": "zone"}]


def daemon(**words: object) -> DaemonSet:
    """A daemon set of one small pod."""
    one = pod("agent", namespace="kube-system", **words)
    return DaemonSet("agent", "kube-system", one.spec, one.labels)


def test_running_pods_count_in_the_domain_of_their_node() -> None:
    """Two of them in zone a, none in b."""
    nodes = (node("n1", zone="a"), node("n2", zone="b"))
    old = [pod(f"old-{n}", labels={"app": "web"}, node="n1") for n in range(2)]
    enc = encoded(deployment(1, "web", spread=SPREAD), nodes=nodes, bound=tuple(old))
    (term,) = enc.ties.zones
    assert term.match_d.tolist() == [2, 0]
    assert term.seen_d.tolist() == [True, True]


def test_a_node_that_the_spread_does_not_count_makes_no_domain() -> None:
    """Node affinity is honored: a node of the wrong architecture neither counts nor is counted."""
    nodes = (node("n1", zone="a", labels={"kubernetes.io/arch": "arm64"}),)
    old = pod("old", labels={"app": "web"}, node="n1")
    picky = deployment(1, "web", spread=SPREAD, node_selector={"arch": "amd64"})
    enc = encoded(picky, SMALL, nodes=nodes, bound=(old,))
    assert not enc.ties.zones[0].match_d.any()
    assert not enc.ties.zones[0].seen_d.any()


def test_cells_are_divided_where_a_spread_counts_only_some_nodes() -> None:
    """A pod that the spread selects may stand on counted and uncounted nodes of one zone."""
    picky = deployment(
        1, "web", labels={"app": "x"}, spread=SPREAD, node_selector={"arch": "amd64"}
    )
    other = pod("other", labels={"app": "x"})
    enc = encoded([*picky, other], SMALL, ARM)
    kinds = np.array([enc.market.types[one.type].name for one in enc.market.offers])
    cells = {name: set(enc.cell_o[kinds == name].tolist()) for name in ("small", "arm")}
    assert cells["small"].isdisjoint(cells["arm"])
    term = enc.ties.zones[0]
    assert all(term.counts_c[cell] for cell in cells["small"])
    assert not any(term.counts_c[cell] for cell in cells["arm"])


def test_a_daemon_pod_still_to_come_holds_its_port() -> None:
    """On new nodes, and on a running one that it has not reached yet."""
    asked = [pod("web", host_ports=["9100"])]
    enc = encoded(asked, nodes=(node("n1", zone="a"),), daemon_sets=(daemon(host_ports=["9100"]),))
    (term,) = enc.ties.hosts
    assert term.kind == TermKind.PORT
    assert term.own_n.tolist() == [1]
    assert term.own_o is not None
    assert term.own_o.all()


def test_a_key_that_no_node_carries_ties_without_domains() -> None:
    """Spreads over it select no cell, and nothing fails."""
    enc = encoded(deployment(2, "web", spread=[{"topology_key": "rack"}]))
    assert (enc.ties.domains_ck[:, enc.ties.zones[0].key] == -1).all()
    assert not enc.ties.zones[0].match_d.any()


def test_nodes_that_other_spreads_count_look_different() -> None:
    """Offers that one spread counts and another does not have different sights."""
    picky = deployment(1, "web", spread=SPREAD, node_selector={"arch": "amd64"})
    enc = encoded(picky, SMALL, ARM)
    kinds = np.array([enc.market.types[one.type].name for one in enc.market.offers])
    sight_o = sights(enc.ties, enc.n_offers)
    assert len(set(sight_o[kinds == "small"].tolist())) == 1
    assert set(sight_o[kinds == "small"]).isdisjoint(sight_o[kinds == "arm"])
