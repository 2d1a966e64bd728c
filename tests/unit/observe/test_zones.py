"""Where a waiting pod must run follows from whatever binds it, and only from that."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dovetail.model.volumes import Volume, VolumeClaim
from dovetail.observe.zones import zones_of_waiting
from dovetail.testing import shorthand
from dovetail.testing.builders import node, pod, snapshot

NODES = (node("na", zone="a"), node("nb", zone="b"), node("nc", zone="c"))
ZONE = "zone"


@pytest.mark.parametrize(
    ("words", "want"),
    [
        pytest.param({}, "flexible", id="nothing binds it"),
        pytest.param({"node_selector": {"zone": "a"}}, "a", id="its selector names a zone"),
        pytest.param({"node_selector": {"zone": "far"}}, "far", id="a zone that nobody offers"),
        pytest.param({"node_affinity": [["zone In a,b"]]}, "flexible", id="two zones"),
        pytest.param({"node_affinity": [["zone NotIn a,b"]]}, "c", id="all zones but two"),
        pytest.param(
            {"node_affinity": [["zone In a"], ["zone In b"]]}, "flexible", id="alternatives"
        ),
        pytest.param(
            {"node_affinity": [["zone In a"], ["arch In arm64"]]},
            "flexible",
            id="an alternative without a zone",
        ),
        pytest.param(
            {"node_selector": {"zone": "a"}, "node_affinity": [["zone In b"]]},
            "none",
            id="what contradicts itself",
        ),
        pytest.param({"claims": ["data"]}, "b", id="its volume is in one zone"),
        pytest.param(
            {"claims": ["data"], "node_selector": {"zone": "a"}},
            "none",
            id="its volume is elsewhere",
        ),
        pytest.param({"claims": ["missing"]}, "none", id="its volume does not exist"),
        pytest.param(
            {"affinity": [{"topology_key": ZONE, "selector": {"app": "db"}}]},
            "c",
            id="near a pod",
        ),
        pytest.param(
            {"affinity": [{"topology_key": ZONE, "selector": {"app": "web"}}]},
            "flexible",
            id="the first that wants to be near its like",
        ),
        pytest.param(
            {"affinity": [{"topology_key": ZONE, "selector": {"app": "nobody"}}]},
            "none",
            id="near a pod that is not there",
        ),
        pytest.param(
            {"anti_affinity": [{"topology_key": ZONE, "selector": {"app": "cache"}}]},
            "c",
            id="away from pods in two zones",
        ),
        pytest.param(
            {"labels": {"app": "cache"}, "spread": [{"topology_key": ZONE}]},
            "c",
            id="spread over zones of which one is behind",
        ),
        pytest.param(
            {"spread": [{"topology_key": ZONE}]}, "flexible", id="spread with nothing there yet"
        ),
        pytest.param(
            {"labels": {"app": "cache"}, "spread": [{"when_unsatisfiable": "ScheduleAnyway"}]},
            "flexible",
            id="a spread that only prefers",
        ),
    ],
)
def test_the_zone_is_what_everything_that_binds_leaves(words: dict[str, Any], want: str) -> None:
    """A database runs in c, caches in a and b, and the volume of `data` is in b."""
    bound = (
        pod("db", node="nc"),
        pod("cache-1", labels={"app": "cache"}, node="na"),
        pod("cache-2", labels={"app": "cache"}, node="nb"),
    )
    whole = msgspec.structs.replace(
        snapshot((*bound, pod("web", **words)), nodes=NODES),
        volume_claims={"default/data": VolumeClaim("data", "default", volume_name="v1")},
        volumes={"v1": Volume("v1", terms=(shorthand.term(["zone In b"]),))},
    )
    assert zones_of_waiting(whole) == {want: 1}


def test_pods_that_do_not_wait_are_not_counted() -> None:
    """Neither those that run nor those that have run."""
    pods = (pod("runs", node="na"), pod("ran", phase="Succeeded"), pod("waits"), pod("too"))
    assert zones_of_waiting(snapshot(pods, nodes=NODES)) == {"flexible": 2}
