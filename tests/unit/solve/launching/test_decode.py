from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec
import numpy as np

from dovetail import labels
from dovetail.model.pod import DaemonSet, Pod
from dovetail.model.resources import total
from dovetail.solve.encoding.dominance import undominated_offers
from dovetail.solve.encoding.encode import encode
from dovetail.solve.launching.decode import decode, node_labels, unplaced_pods
from dovetail.solve.launching.seating import seats
from dovetail.solve.packing.attempt import Attempt, left_of
from dovetail.solve.packing.bins import EXISTING
from dovetail.solve.packing.bulk import run_attempt
from dovetail.solve.packing.contents import loads
from dovetail.solve.pipeline import solve
from dovetail.solve.program.pod_worth import priceless
from dovetail.testing.builders import deployment, instance_type, node, node_pool, pod
from tests.unit.solve.puzzles import LARGE, SMALL, empty_attempt, encoded, puzzle, random_puzzle


def attempts() -> Iterator[tuple[int, Attempt]]:
    """Plans for random puzzles, as arrays."""
    for seed in range(60):
        enc = encode(random_puzzle(seed))
        offers, _ = undominated_offers(enc)
        if enc.groups:
            yield seed, run_attempt(enc, offers, priceless(enc, offers))


def test_loads_count_every_pod_of_the_log_once() -> None:
    """Unit by unit, and nobody on a node that was given up."""
    n_pods = 0
    for seed, attempt in attempts():
        held: Counter[int] = Counter()
        for place, counts in loads(attempt.bins.log).items():
            assert not attempt.bins.dead[place], f"seed {seed}"
            assert all(counts.values()), f"seed {seed}"
            held.update(counts)
        left = left_of(attempt).tolist()
        want = {n: unit.count - left[n] for n, unit in enumerate(attempt.units)}
        assert {n: held[n] for n in want} == want, f"seed {seed}"
        n_pods += sum(held.values())
    assert n_pods > 100


def test_whoever_left_a_node_is_not_part_of_its_load() -> None:
    """An entry of the log may have been counted down to nothing."""
    attempt = empty_attempt(encoded([pod()]))
    number = attempt.book.add(0, -1, 1)
    attempt.bins.open(0, 2)
    attempt.bins.put(number, attempt.units[number], np.array([0, 1]), np.array([0, 1]))
    assert loads(attempt.bins.log) == {1: {number: 1}}


def test_every_placed_pod_has_one_name_and_one_turn() -> None:
    """No pod is on two nodes, and the order of binding names just those that are placed."""
    for seed, attempt in attempts():
        launches, placed, order = decode(attempt)
        names = [one.key for launch in launches for one in launch.pods]
        names += [one.key for _, pods in placed for one in pods]
        n_placed = sum(sum(held.values()) for held in loads(attempt.bins.log).values())
        assert len(names) == len(set(names)) == n_placed, f"seed {seed}"
        assert sorted(order) == sorted(names), f"seed {seed}"


def test_a_launch_requests_what_its_pods_and_daemon_sets_ask_for() -> None:
    """Resource by resource, and no more than the machine has."""
    for seed in range(60):
        for launch in solve(random_puzzle(seed)).launches:
            asked = total(one.spec.requests for one in launch.pods)
            for name, amount in asked.items():
                assert launch.requests[name] >= amount, f"seed {seed}"
                assert launch.requests[name] <= launch.instance_type.allocatable.get(name, 0)
    agent = pod("agent", cpu="250m", memory="1Gi")
    daemon = DaemonSet("agent", "default", agent.spec, agent.labels)
    (launch,) = solve(
        puzzle(deployment(2, cpu="500m", memory="1Gi"), daemon_sets=(daemon,))
    ).launches
    assert launch.requests == {"cpu": 1250, "memory": 3 * 2**30, "pods": 3}


def test_pods_of_merged_groups_are_handed_out_in_order() -> None:
    """A unit of two groups: first all pods of one, then those of the other."""
    pods = [*deployment(2, "a"), *deployment(2, "b"), pod("w", affinity=[_near("a")])]
    attempt = empty_attempt(encoded(pods))
    groups = {group.pods[0].name: n for n, group in enumerate(attempt.enc.groups)}
    first = attempt.book.add(groups["b-0"], -1, 2)
    attempt.units[first].add(groups["a-0"], 2)
    attempt.bins.open(0, 3)
    attempt.bins.put(first, attempt.units[first], np.arange(3), np.array([1, 2, 1]))
    held = [(place, [one.name for one in pods]) for place, pods in seats(attempt).by_node()]
    assert held == [(0, ["b-0"]), (1, ["b-1", "a-0"]), (2, ["a-1"])]


def _near(name: str) -> dict[str, object]:
    return {"topology_key": "zone", "selector": {"app": name}}


def test_pods_for_nodes_that_are_there_are_named_with_them() -> None:
    """And what is bought is apart from them."""
    attempt = _planned(deployment(6, cpu=1), nodes=(node("n1", cpu=4),))
    launches, placed, _ = decode(attempt)
    assert [(name, len(pods)) for name, pods in placed] == [("n1", 4)]
    assert [len(launch.pods) for launch in launches] == [2]
    assert attempt.bins.offer[0] == EXISTING


def _planned(pods: tuple[Pod, ...], **parts: object) -> Attempt:
    enc = encoded(pods, SMALL, **parts)
    offers, _ = undominated_offers(enc)
    return run_attempt(enc, offers, priceless(enc, offers))


def test_those_who_stay_out_are_the_last_of_their_group() -> None:
    """Names are handed out from the front."""
    attempt = empty_attempt(encoded([*deployment(3, "a", cpu=1), *deployment(2, "b", cpu=2)]))
    waiting = {n: len(group.pods) - 1 for n, group in enumerate(attempt.enc.groups)}
    assert [one.name for one in unplaced_pods(attempt, waiting)] == ["a-1", "a-2", "b-1"]
    assert unplaced_pods(attempt, {}) == []


def test_a_node_carries_every_label_that_is_definite() -> None:
    """Of pool, type and offering, and what was chosen for labels that were left open."""
    pool = node_pool(
        labels={"team": "blue"}, requirements=["rack In r1, r2", "tier Exists", "gone NotIn x"]
    )
    kind = instance_type("x", zones=("a",), labels={"family": "m"})
    enc = encoded(
        [pod(node_affinity=[["rack In r1", "gone DoesNotExist"]])], kind, node_pools=(pool,)
    )
    attempt = empty_attempt(enc)
    found = [node_labels(attempt, one) for one in enc.market.offers]
    assert {held.get("rack") for held in found} == {"r1", "r2"}
    assert any("gone" not in held for held in found)
    for held in found:
        assert (held["team"], held["family"]) == ("blue", "m")
        assert (held[labels.ZONE], held[labels.NODE_POOL]) == ("a", "default")
        assert "tier" not in held


def test_fallbacks_are_named_cheapest_first_after_the_chosen_type() -> None:
    """With the zones and capacity types of all of them, and no more types than allowed."""
    solution = solve(puzzle(deployment(2, cpu=1), LARGE, SMALL))
    (launch,) = solution.launches
    assert launch.alternatives == ("small", "large")
    assert (launch.zones, launch.capacity_types) == (("a", "b"), ("on-demand",))
    held = puzzle(deployment(2, cpu=1), LARGE, SMALL)
    few = msgspec.structs.replace(held.policy, max_instance_types=1)
    (launch,) = solve(msgspec.structs.replace(held, policy=few)).launches
    assert launch.alternatives == ("small",)


def test_pods_are_bound_in_an_order_that_keeps_their_spread() -> None:
    """At no moment do two zones differ by more than one."""
    solution = solve(puzzle(deployment(9, cpu=1, spread=[{"topology_key": "zone"}])))
    zone_of = {one.key: launch.offering.zone for launch in solution.launches for one in launch.pods}
    held = {"a": 0, "b": 0}
    for key in solution.order:
        held[zone_of[key]] += 1
        assert abs(held["a"] - held["b"]) <= 1
    assert sum(held.values()) == 9


def test_pods_that_share_a_host_come_in_their_turn() -> None:
    """Only company elsewhere would make them come first; a spread that counts them goes before."""
    counting = [{"topology_key": "zone", "selector": {"app": "herd"}}]
    near = [{"topology_key": "hostname", "selector": {"app": "herd"}}]
    pods = [*deployment(1, "big", cpu=1, spread=counting), *deployment(2, "herd", affinity=near)]
    solution = solve(puzzle(pods))
    assert solution.order == ("default/big-0", "default/herd-0", "default/herd-1")
