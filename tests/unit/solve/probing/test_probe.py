"""Laws of probing: nodes that stay come first, and what must be bought is bought as always."""

from __future__ import annotations

import pytest

from dovetail.model.pod import Pod
from dovetail.solve import THOROUGH, ProbeOptions, Puzzle, Solution, solve, solve_without
from dovetail.testing.builders import deployment, node, pod
from tests.unit.solve.puzzles import LARGE, SMALL, puzzle
from tests.unit.solve.questions import Question, questions

N_SEEDS = 150


def cluster(*bound: Pod, zones: str = "ab") -> Puzzle:
    """A large node in every zone, named for it, and these pods."""
    nodes = tuple(node(one, type="large", types=(SMALL, LARGE), zone=one) for one in zones)
    return puzzle((), nodes=nodes, bound=bound)


def asked(there: Puzzle, *gone: str, how: ProbeOptions = THOROUGH) -> Solution:
    """Where the pods of these nodes would go."""
    pods = tuple(one for one in there.bound if one.node_name in gone)
    return solve_without(Question(there, (), ()).prepared(), pods, gone, {}, how)


def placed(found: Solution) -> dict[str, list[str]]:
    """Names of pods by existing node."""
    return {name: [one.name for one in pods] for name, pods in found.placed}


def test_where_nobody_moves_nothing_is_asked() -> None:
    """Not even what is on offer."""
    assert asked(cluster(), "a") == Solution()


def test_nodes_that_stay_take_whom_they_can() -> None:
    """If that is everybody, nothing is bought."""
    found = asked(cluster(*deployment(3, "web", cpu="1", node="a")), "a")
    assert placed(found) == {"b": ["web-0", "web-1", "web-2"]}
    assert (found.launches, found.price_nanousd) == ((), 0)
    assert sorted(found.order) == ["default/web-0", "default/web-1", "default/web-2"]


def test_what_has_no_room_is_bought() -> None:
    """As cheaply as can be."""
    there = cluster(pod("big", cpu="6", node="a"), pod("full", cpu="7", node="b"))
    found = asked(there, "a")
    assert [one.instance_type.name for one in found.launches] == ["large"]
    assert found.price_nanousd == found.launches[0].offering.price_nanousd


@pytest.mark.parametrize("n_pods", [1, 30], ids=["few", "many"])
@pytest.mark.parametrize("is_quick", [False, True])
def test_what_costs_more_than_was_asked_for_is_not_worked_out(
    n_pods: int, *, is_quick: bool
) -> None:
    """What costs just as much is."""
    there = cluster(*deployment(n_pods, "web", cpu="6", node="a"), pod("full", cpu="7", node="b"))
    price = asked(there, "a", how=ProbeOptions(is_quick=is_quick)).price_nanousd
    just = asked(there, "a", how=ProbeOptions(is_quick=is_quick, most_nanousd=price))
    less = asked(there, "a", how=ProbeOptions(is_quick=is_quick, most_nanousd=price - 1))
    assert (just.price_nanousd, just.is_dear) == (price, False)
    assert (less.launches, less.is_dear) == ((), True)


def test_nobody_goes_to_a_node_that_counts_as_full() -> None:
    """Nodes that are not there are none."""
    there = cluster(pod("web", cpu="1", node="a"), zones="abc")
    found = asked(there, "a", how=ProbeOptions(full=frozenset({"b", "gone"})))
    assert placed(found) == {"c": ["web"]}


def test_pods_that_nothing_takes_are_named() -> None:
    """The others are not looked at."""
    there = cluster(pod("giant", cpu="60", node="a"), pod("web", node="a"))
    found = asked(there, "a")
    assert [one.name for one in found.unplaced] == ["giant"]
    assert not found.placed


def test_only_domains_that_nodes_make_count_where_nothing_is_bought() -> None:
    """kube-scheduler knows no zone without a node, so a spread does not wait for one."""
    web = deployment(4, "web", labels={"app": "web"}, node="a", spread=[{"topology_key": "zone"}])
    found = asked(cluster(*web), "a")
    assert placed(found) == {"b": ["web-0", "web-1", "web-2", "web-3"]}
    assert not found.launches


def test_preferences_choose_among_nodes_that_stay() -> None:
    """Where several have room."""
    there = cluster(
        pod("web", node="a", preferred_node_affinity=[{"weight": 10, "term": ["zone In c"]}]),
        pod("db", cpu="3", node="b"),
        zones="abc",
    )
    assert placed(asked(there, "a")) == {"c": ["web"]}


def test_wishes_for_company_know_who_runs_where() -> None:
    """The fewer of its kind, the better."""
    words = {"labels": {"app": "web"}, "preferred_anti_affinity": [{"topology_key": "hostname"}]}
    there = cluster(pod("p", node="a", **words), pod("q", node="b", **words), zones="abc")
    assert placed(asked(there, "a")) == {"c": ["p"]}


def test_whoever_has_a_place_has_one_and_it_costs_no_more() -> None:
    """Compared with the same pods waiting, and the nodes never been."""
    n_bought = 0
    for seed, one in questions(N_SEEDS):
        found = solve_without(one.prepared(), one.pods, one.gone, one.limits)
        plain = solve(one.plain())
        assert bool(found.unplaced) == bool(plain.unplaced), f"seed {seed}"
        if not plain.unplaced:
            assert found.price_nanousd <= plain.price_nanousd, f"seed {seed}"
            n_bought += bool(found.launches)
    assert n_bought > 10


def test_no_answer_depends_on_what_was_asked_before() -> None:
    """Nor on which cluster was looked at last."""
    for seed, one in questions(N_SEEDS // 3):
        fresh = solve_without(one.prepared(), one.pods, one.gone, one.limits)
        ready = one.prepared()
        for name in [other.name for other in one.cluster.nodes]:
            pods = [p for p in one.cluster.bound if p.node_name == name and not p.claim_names]
            solve_without(ready, pods[:2], [name], one.limits)
        again = solve_without(ready, one.pods, one.gone, one.limits)
        assert again == fresh, f"seed {seed}"
