"""Who matters to pods that move."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.decide.disrupt.crowds import crowds_of, remainder
from dovetail.model.pod import Pod
from dovetail.testing import node, pod

NODES = [node("a", cpu=4), node("b", cpu=4), node("full", cpu=1)]


def left(moving: Pod, *running: Pod, gone: str = "") -> tuple[list[str], dict[str, int]]:
    """The pods that stay in, and the cpu that the nodes which matter seem to have."""
    by_node = {one.name: [pod for pod in running if pod.node_name == one.name] for one in NODES}
    found = remainder(crowds_of(NODES, by_node), [moving], frozenset({gone}))
    return [one.name for one in found.bound], {
        one.name: one.allocatable["cpu"] for one in found.nodes
    }


def test_who_only_takes_room_is_taken_off_the_node() -> None:
    """Nodes without room for anybody are left out with them."""
    others = [pod("p", node="a", cpu=1), pod("q", node="b", cpu=2), pod("r", node="full", cpu=1)]
    assert left(pod("m", cpu=1), *others) == ([], {"a": 3000, "b": 2000})
    assert left(pod("m", cpu=3), *others) == ([], {"a": 3000})
    assert left(pod("m", cpu=1), *others, gone="a") == ([], {"b": 2000})


@pytest.mark.parametrize(
    ("moving", "running"),
    [
        pytest.param({}, {"owner": "DaemonSet/d"}, id="a daemon pod that has come"),
        pytest.param({"host_ports": ["80"]}, {"host_ports": ["81"]}, id="ports"),
        pytest.param({"claims": ["x"]}, {"claims": ["y"]}, id="volumes"),
        pytest.param({"spread": [{"topology_key": "zone"}]}, {}, id="who is spread among them"),
        pytest.param({"affinity": [{"topology_key": "zone"}]}, {}, id="who wants to be near"),
        pytest.param(
            {}, {"anti_affinity": [{"topology_key": "hostname"}]}, id="who keeps others away"
        ),
    ],
)
def test_who_matters_stays_in(moving: dict[str, Any], running: dict[str, Any]) -> None:
    """With its room given back to its node, since it is counted there."""
    labels = {"app": "web"}
    there = pod("p", node="a", cpu=1, labels=labels, **running)
    bound, room = left(pod("m", cpu=1, labels=labels, **moving), there)
    assert bound == ["p"]
    assert room["a"] == 4000


def test_domains_count_for_whoever_is_tied_to_others() -> None:
    """Then full nodes stay in too."""
    tied = pod("m", cpu=2, spread=[{"topology_key": "zone"}])
    assert set(left(tied)[1]) == {"a", "b", "full"}
    assert set(left(pod("m", cpu=2))[1]) == {"a", "b"}
