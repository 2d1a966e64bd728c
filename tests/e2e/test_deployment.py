"""Do a thousand pods get their nodes, and do the nodes go when the pods do?"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.e2e.live import TIMEOUT, condition, until
from tests.e2e.manifests import ZONE, deployment, node_pool, pod_spec, spread
from tests.e2e.stage import Stage

pytestmark = pytest.mark.xdist_group("controlplane")

N_PODS = 1000
GONE_SECONDS = 360
DISRUPTION = {"consolidateAfter": "30s", "budgets": [{"nodes": "100%"}]}


def test_a_thousand_pods_run_and_leave_nothing_behind(stage: Stage) -> None:
    """The whole way, as a user goes it: class, pool, deployment, and the deployment deleted."""
    spec = pod_spec(topologySpreadConstraints=[spread(ZONE, "web")])
    stage.apply(
        node_pool("default", labels=stage.labels, disruption=DISRUPTION),
        deployment("web", N_PODS, spec),
    )
    stage.kubectl("rollout", "status", "deployment/web", TIMEOUT)
    pods = stage.pods()
    assert Counter(one["status"]["phase"] for one in pods) == {"Running": N_PODS}
    zone_by_node = {
        one["metadata"]["name"]: one["metadata"]["labels"][ZONE] for one in stage.nodes()
    }
    zones = Counter(zone_by_node[one["spec"]["nodeName"]] for one in pods)
    assert max(zones.values()) - min(zones.values()) <= 1
    assert len(zones) == 4
    claims = stage.claims()
    assert {condition(one, "Ready")["status"] for one in claims} == {"True"}
    assert {one["status"]["nodeName"] for one in claims} == set(zone_by_node)
    stage.kubectl("delete", "deployment", "web", "--wait=false")
    until(lambda: not (stage.claims() or stage.nodes()), "all is gone", seconds=GONE_SECONDS)
