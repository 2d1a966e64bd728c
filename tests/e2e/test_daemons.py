"""Are DaemonSets counted when nodes are chosen, and do they run on them?"""

from __future__ import annotations

import pytest

from tests.e2e.live import objects, until
from tests.e2e.manifests import HOSTNAME, STAGE, container, deployment
from tests.e2e.stage import Stage

pytestmark = pytest.mark.xdist_group("controlplane")


def test_nodes_have_room_for_their_daemons(stage: Stage) -> None:
    """A pod of 800m would fit the smallest machine; beside a daemon of 400m it does not. A daemon
    that such nodes will never have is not counted.
    """
    daemon = stage.spec(containers=[container(cpu="400m")], tolerations=[{"operator": "Exists"}])
    elsewhere = stage.spec(
        nodeSelector={"dovetail.test/other": "yes"}, containers=[container(cpu="3")]
    )
    apart = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}}
    terms = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    web = stage.spec(containers=[container(cpu="800m")], affinity=terms)
    daemons = [
        deployment(name, 0, spec, kind="DaemonSet")
        for name, spec in (("everywhere", daemon), ("elsewhere", elsewhere))
    ]
    for one in daemons:
        del one["spec"]["replicas"]
    stage.apply(stage.pool(), *daemons)
    stage.apply(deployment("web", 2, web))
    until(lambda: stage.has_running(4), "pods and daemons run")
    nodes = {one["metadata"]["name"]: one for one in stage.nodes()}
    assert [one["status"]["capacity"]["cpu"] for one in nodes.values()] == ["2", "2"]
    for app in ("web", "everywhere"):
        found = stage.pods("-l", f"app={app}")
        assert {one["spec"]["nodeName"] for one in found} == set(nodes)
    claims = objects(stage.plane, "nodeclaims", "-l", f"{STAGE}={stage.name}")
    assert [one["spec"]["resources"]["requests"]["cpu"] for one in claims] == ["1200m", "1200m"]
