from __future__ import annotations

import numpy as np
import pytest

from dovetail.model.pod import Pod
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.zones.late_starters import is_late, late_places
from dovetail.testing.builders import node, pod
from tests.unit.solve.puzzles import SMALL, empty_attempt, encoded

NODES = (node("n1", zone="a", cpu=8), node("n2", zone="b", cpu=8))
SPREAD = [{"topology_key": "hostname"}]


def follower(name: str, leader: str, key: str = "zone", **words: object) -> Pod:
    """A spread pod that wants another near."""
    near = [{"topology_key": key, "selector": {"app": leader}}]
    return pod(name, labels={"app": name}, cpu="100m", affinity=near, spread=SPREAD, **words)


def leader(**words: object) -> Pod:
    """A pod that others want near."""
    return pod("leader", labels={"app": "leader"}, cpu="200m", **words)


def planned(places: dict[str, int], pods: list[Pod], **parts: object) -> Attempt:
    """A plan that puts pods on nodes: 0 and 1 are there, in zones a and b, 2 is new in zone a."""
    attempt = empty_attempt(encoded(pods, SMALL, nodes=NODES, **parts))
    attempt.bins.open(0, 1)
    for group, one in enumerate(attempt.enc.groups):
        name = one.pods[0].name
        if name in places:
            cell = int(attempt.bins.cell[places[name]])
            number = attempt.book.add(group, cell, 1)
            where = np.array([places[name]])
            attempt.bins.put(number, attempt.units[number], where, np.array([1]))
    return attempt


def late(attempt: Attempt) -> list[str]:
    """The pods that are late, by name."""
    groups = [attempt.units[unit].members[0][0] for unit, _ in late_places(attempt)]
    return sorted(attempt.enc.groups[group].pods[0].name for group in groups)


@pytest.mark.parametrize(
    ("places", "want"),
    [
        pytest.param({"leader": 2, "web": 0}, ["web"], id="company on a new node"),
        pytest.param({"leader": 0, "web": 0}, [], id="company on a node that is there"),
        pytest.param({"leader": 2, "web": 0, "db": 0}, ["db", "web"], id="company that is late"),
        pytest.param({"leader": 0, "web": 0, "db": 0}, [], id="company that is early"),
        pytest.param({"leader": 2, "web": 2}, [], id="nobody on a node that is there"),
    ],
)
def test_whoever_waits_for_company_from_a_new_node_is_late(
    places: dict[str, int], want: list[str]
) -> None:
    """Company in the zone comes with a node, or is there before any."""
    pods = [leader(), follower("web", "leader"), follower("db", "web", "hostname")]
    assert late(planned(places, pods)) == want


def test_a_pod_that_is_its_own_company_may_be_the_first() -> None:
    """It waits for nobody; beside one that runs elsewhere it would."""
    attempt = planned({"web": 0}, [follower("web", "web")])
    assert late(attempt) == []


def test_running_company_is_there_from_the_start() -> None:
    """A leader runs in zone a, so only who goes to zone b would wait."""
    old = pod("old", labels={"app": "leader"}, node="n1")
    attempt = planned({"web": 0}, [follower("web", "leader")], bound=(old,))
    cells = attempt.enc.cell_n.tolist()
    assert late(attempt) == []
    assert [is_late(attempt, 0, cell) for cell in cells] == [False, True]


def test_pods_that_want_nobody_are_never_late() -> None:
    """Spread pods alone."""
    attempt = planned({"web": 0}, [pod("web", labels={"app": "web"}, spread=SPREAD)])
    assert late(attempt) == []
    assert not is_late(attempt, 0, 0)


def test_it_does_not_matter_who_is_late_where_nobody_is_spread() -> None:
    """Then no new node counts against anybody."""
    near = [{"topology_key": "zone", "selector": {"app": "leader"}}]
    pods = [leader(), pod("web", labels={"app": "web"}, affinity=near)]
    assert late(planned({"leader": 2, "web": 0}, pods)) == []
