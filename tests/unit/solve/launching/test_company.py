from __future__ import annotations

from dovetail.model.pod import DaemonSet
from dovetail.solve.launching.company import after_company, is_wanted
from dovetail.testing.builders import deployment, node, pod
from tests.unit.solve.puzzles import empty_attempt, encoded

HOST = {"topology_key": "hostname", "selector": {"app": "web"}}


def test_whoever_wants_company_waits_for_it() -> None:
    """On the same node; those who want those who want it wait longest."""
    web = pod("web", labels={"app": "web"})
    friend = pod("friend", affinity=[HOST])
    third = pod("third", affinity=[{**HOST, "selector": {"app": "friend"}}])
    attempt = empty_attempt(encoded([web, friend, third]))
    attempt.bins.open(0, 2)
    group_of = {one.pods[0].key: number for number, one in enumerate(attempt.enc.groups)}
    turns = [third.key, friend.key, web.key]
    together = {key: (group_of[key], 0) for key in turns}
    assert after_company(attempt, turns, together) == [web.key, friend.key, third.key]
    apart = {**together, web.key: (group_of[web.key], 1)}
    assert after_company(attempt, turns, apart) == [web.key, third.key, friend.key]


def test_the_first_of_a_kind_does_not_wait() -> None:
    """Nobody is anywhere; the second finds the first on its node, or waits."""
    pods = deployment(2, "web", affinity=[HOST])
    attempt = empty_attempt(encoded(pods))
    attempt.bins.open(0, 2)
    turns = [one.key for one in pods]
    assert after_company(attempt, turns, dict.fromkeys(turns, (0, 0))) == turns


def test_running_pods_and_daemon_sets_are_company() -> None:
    """They are there before anybody is bound: whose turn it is need not wait."""
    pods = [pod("friend", affinity=[HOST]), pod("other")]
    running = pod("web", labels={"app": "web"}, node="n1")
    there = encoded(pods, nodes=(node("n1", zone="a", cpu=4),), bound=(running,))
    daemon = DaemonSet("web", "default", running.spec, running.labels)
    for enc in (there, encoded(pods, daemon_sets=(daemon,)), encoded(pods)):
        attempt = empty_attempt(enc)
        attempt.bins.open(0, 1)
        group_of = {one.pods[0].key: number for number, one in enumerate(enc.groups)}
        places = {one.key: (group_of[one.key], 0) for one in pods}
        turns = list(places)
        has_company = enc is there or bool(enc.problem.daemon_sets)
        want = turns if has_company else turns[::-1]
        assert after_company(attempt, turns, places) == want


def test_company_is_only_wanted_where_somebody_says_so() -> None:
    """Anti-affinity asks for none."""
    assert is_wanted(empty_attempt(encoded([pod("friend", affinity=[HOST])])))
    assert not is_wanted(empty_attempt(encoded([pod("loner", anti_affinity=[HOST])])))
