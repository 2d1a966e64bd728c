"""Laws of preparing: a question sees what a plain puzzle would show it."""

from __future__ import annotations

from functools import cache

import msgspec
import numpy as np

from dovetail.solve.axes import Bool, Int
from dovetail.solve.encoding.encode import Encoded, encode
from dovetail.solve.encoding.ties import HostTerm, ZoneTerm
from dovetail.solve.probing.prepared import encode_probe, prepare
from dovetail.testing.builders import deployment, node, node_pool, pod
from tests.unit.solve.puzzles import LARGE, puzzle
from tests.unit.solve.questions import Question, questions

N_SEEDS = 300


Seen = tuple[int, Encoded, Encoded, Int]


@cache
def seen() -> list[Seen]:
    """Of many questions the number, the picked and the plain encoding, and where the plain one's
    nodes are in the other.
    """
    return [(seed, *both(asked)) for seed, asked in questions(N_SEEDS)]


def both(asked: Question) -> tuple[Encoded, Encoded, Int]:
    """One question in both ways."""
    found = encode_probe(asked.prepared(), asked.pods, asked.gone, asked.limits)
    plain = encode(asked.plain())
    place = {one.name: number for number, one in enumerate(found.problem.nodes)}
    return found, plain, np.array([place[one.name] for one in plain.problem.nodes], dtype=np.int64)


def test_the_same_groups_ask_for_the_same() -> None:
    """Groups may be told apart that are alike; what a pod asks for is the same."""
    for seed, found, plain, _ in seen():
        assert asks(found) == asks(plain), f"seed {seed}"


def asks(enc: Encoded) -> dict[str, tuple[int, dict[str, int]]]:
    """Priority and requests of every pod."""
    return {
        one.key: (
            int(enc.priority_g[number]),
            {
                name: amount
                for name, amount in zip(enc.resources, row.tolist(), strict=True)
                if amount
            },
        )
        for number, (group, row) in enumerate(zip(enc.groups, enc.requests_gr, strict=True))
        for one in group.pods
    }


def test_the_same_offers_and_nodes_admit_the_same_pods() -> None:
    """Pod by pod; nodes that are gone admit nobody."""
    n_refused = 0
    for seed, found, plain, nodes in seen():
        assert list(found.market.offers) == list(plain.market.offers), f"seed {seed}"
        assert admitted(found, nodes) == admitted(plain, np.arange(len(nodes))), f"seed {seed}"
        away = np.setdiff1d(np.arange(len(found.cell_n)), nodes)
        assert not found.masks_me[:, found.n_offers + away].any()
        n_refused += int((~found.masks_me).sum())
    assert n_refused > 1000


def admitted(enc: Encoded, nodes: Int) -> dict[str, tuple[list[bool], list[bool]]]:
    """Which offers and nodes each pod's wishes admit."""
    return {
        one.key: (enc.mask_go(number).tolist(), enc.mask_gn(number)[nodes].tolist())
        for number, group in enumerate(enc.groups)
        for one in group.pods
    }


def test_the_same_room_is_left() -> None:
    """On offers and on nodes that stay."""
    for seed, found, plain, nodes in seen():
        assert found.resources == plain.resources
        assert np.array_equal(found.free_nr[nodes], plain.free_nr), f"seed {seed}"
        assert np.array_equal(found.cap_or, plain.cap_or), f"seed {seed}"
        assert np.array_equal(found.supply_o, plain.supply_o), f"seed {seed}"
        assert np.array_equal(found.claims.held_an[:, nodes], plain.claims.held_an), f"seed {seed}"


def test_the_same_terms_tie_the_same_pods() -> None:
    """With the same pods counted on every node and in every domain."""
    n_tied = 0
    for seed, found, plain, nodes in seen():
        everywhere = np.arange(len(nodes))
        assert tied(found, nodes) == tied(plain, everywhere), f"seed {seed}"
        n_tied += len(found.ties.hosts) + len(found.ties.zones)
    assert n_tied > N_SEEDS // 2


def tied(enc: Encoded, nodes: Int) -> dict[str, list[tuple[object, ...]]]:
    """What terms say of every pod, in any order."""
    ties = enc.ties
    hosts = [_host(term, nodes) for term in ties.hosts]
    zones = [_zone(enc, term, nodes) for term in ties.zones]
    said: dict[str, list[tuple[object, ...]]] = {}
    for number, group in enumerate(enc.groups):
        mine = [("owns", *hosts[one]) for one in ties.host_own_g[number]]
        mine += [("matches", *hosts[one]) for one in ties.host_match_g[number]]
        mine += [("owns", *zones[one]) for one in ties.zone_own_g[number]]
        mine += [("matches", *zones[one]) for one in ties.zone_match_g[number]]
        for one in group.pods:
            said[one.key] = sorted(mine, key=repr)
    return said


def _host(term: HostTerm, nodes: Int) -> tuple[object, ...]:
    return (
        term.kind,
        term.max_skew,
        term.min_domains,
        _some(term.match_n[nodes]),
        _some(term.own_n[nodes]),
        _some(term.eligible_n[nodes]),
        _some(term.eligible_o),
        () if term.match_o is None else _some(term.match_o),
        () if term.own_o is None else _some(term.own_o),
    )


def _zone(enc: Encoded, term: ZoneTerm, nodes: Int) -> tuple[object, ...]:
    """A term over zones; counts by the entities of a domain, whatever its number."""
    domain_c = enc.ties.domains_ck[:, term.key]
    cell_e = np.concatenate([enc.cell_o, enc.cell_n[nodes]])
    domain_e = domain_c[cell_e]
    has_label = domain_e >= 0
    return (
        term.kind,
        term.max_skew,
        term.min_domains,
        _some(np.where(has_label, term.match_d[domain_e], -1)),
        _some(np.where(has_label, term.own_d[domain_e], -1)),
        _some(np.where(has_label, term.seen_d[domain_e], False)),
        _some(term.eligible_o),
    )


def _some(row: Int | Bool) -> tuple[tuple[int, int], ...]:
    """What of a row is not nothing."""
    return tuple((place, int(row[place])) for place in np.flatnonzero(row).tolist())


def test_what_pools_leave_open_depends_on_who_asks() -> None:
    """A new node carries values of open labels that those who move speak of, and no others."""
    pool = node_pool(requirements=["team Exists"])
    there = [node(name, type=LARGE.name, types=(LARGE,)) for name in "ab"]
    blue = pod("blue", node="a", node_selector={"team": "blue"})
    red = pod("red", node="b", node_selector={"team": "red"})
    asked = puzzle((), LARGE, node_pools=(pool,), nodes=tuple(there), bound=(blue, red))
    ready = Question(asked, (), ()).prepared()
    for one, other in ((blue, red), (red, blue)):
        found = encode_probe(ready, [one], [one.node_name], {})
        values = {value for choice in found.market.choices for _, value in choice}
        assert one.name in values
        assert other.name not in values


def test_tables_are_made_again_when_too_many_ask_differently() -> None:
    """Only so many are kept; answers stay the same."""
    pool = node_pool(requirements=["team Exists"])
    pods = tuple(pod(f"p{n}", node="a", node_selector={"team": f"t{n}"}) for n in range(12))
    there = node("a", type=LARGE.name, types=(LARGE,))
    asked = puzzle((), LARGE, node_pools=(pool,), nodes=(there,), bound=pods)
    ready = Question(asked, (), ()).prepared()
    first = [encode_probe(ready, [one], ["a"], {}).market.choices for one in pods]
    assert [encode_probe(ready, [one], ["a"], {}).market.choices for one in pods] == first


def test_nodes_that_are_not_there_may_be_named() -> None:
    """They make no difference."""
    _, asked = next(questions(N_SEEDS))
    ready = asked.prepared()
    with_ghost = encode_probe(ready, asked.pods, (*asked.gone, "ghost"), asked.limits)
    without = encode_probe(ready, asked.pods, asked.gone, asked.limits)
    assert np.array_equal(with_ghost.masks_me, without.masks_me)


def test_pods_with_defaults_of_their_own_are_read_too() -> None:
    """Who moves may carry selectors that nobody who runs does: their labels count as well."""
    there = tuple(node(name, type=LARGE.name, types=(LARGE,), zone=name) for name in "ab")
    running = deployment(2, "web", labels={"app": "web"}, node="a")
    spread = deployment(
        2, "web", labels={"app": "web"}, node="a", spread=[{"topology_key": "zone"}]
    )
    asked = puzzle(spread, LARGE, nodes=there)
    ready = prepare(asked, {"a": running})
    found = encode_probe(ready, spread, ["a"], {})
    assert len(found.ties.zones) == 1


def test_an_empty_cluster_can_be_prepared() -> None:
    """Without nodes, everything is bought."""
    ready = prepare(puzzle(()), {})
    found = encode_probe(ready, [pod("web", cpu="1")], [], {})
    assert found.n_offers
    assert not len(found.cell_n)
    assert msgspec.structs.asdict(found.problem)["pods"]
