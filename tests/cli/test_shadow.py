"""`dovetail run --dry-run` as a user starts it beside another autoscaler."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dovetail.present.installation import manifests
from dovetail.present.installation.choices import Choices
from tests.cli.clusters import example, serving, waiting_pod
from tests.cli.test_run import Run, running
from tests.controlplane.charts import account_kubeconfig
from tests.controlplane.plane import ControlPlane
from tests.installing import KWOK

HOME = "in-the-shadow"


def test_no_request_but_questions_leaves_a_dry_run(tmp_path: Path) -> None:
    """Not for leases, not for events, not at the end; what it would do is one line of the log."""
    with serving(tmp_path, [*example(), waiting_pod("new")]) as cluster:
        with running(cluster.kubeconfig, tmp_path / "log", "--dry-run") as run:
            told = run.said("would act")
            status, text = run.asked("/metrics", "metrics_port")
            end = ended(run)
        assert {method for method, _ in cluster.requests} == {"GET"}
        assert not [path for _, path in cluster.requests if "leases" in path or "events" in path]
    assert told["n_launches"] == end["total_launches"] == 1
    launches: Any = told["launches"]
    assert [(one["node_pool"], one["pods"]) for one in launches] == [("steady", 1)]
    assert told["launches_per_hour"] == launches[0]["price_per_hour"] > 0
    assert status == 200
    assert 'dovetail_shadow_launches_total{nodepool="steady"} 1.0' in text


def ended(run: Run) -> dict[str, object]:
    """What it says it came to, once it was told to end."""
    run.process.send_signal(signal.SIGTERM)
    assert run.ended() == 0
    (end,) = run.lines("dry run ended")
    return end


@contextmanager
def made(plane: ControlPlane, objects: list[dict[str, Any]]) -> Iterator[None]:
    """These objects, for as long as the block lasts."""
    given = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    plane.kubectl("apply", "--server-side", "-f", "-", given=given)
    try:
        yield
    finally:
        plane.kubectl("delete", "--force", "--grace-period=0", "-f", "-", given=given)


def pool_and_pod() -> list[dict[str, Any]]:
    """A pool whose nodes are pretended, and a pod that has no other place."""
    ref = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": HOME}
    pod = waiting_pod(HOME, "default")
    del pod["status"]
    pod["spec"]["nodeSelector"] = {"karpenter.sh/nodepool": HOME}
    return [
        {
            "apiVersion": "karpenter.kwok.sh/v1alpha1",
            "kind": "KWOKNodeClass",
            "metadata": {"name": HOME},
        },
        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": HOME},
            "spec": {"template": {"spec": {"nodeClassRef": ref, "requirements": []}}},
        },
        pod,
    ]


@pytest.mark.xdist_group("controlplane")
def test_reading_is_all_that_a_dry_run_needs(plane: ControlPlane, tmp_path: Path) -> None:
    """With the rights of `dovetail install --shadow` and no others, on a real API server."""
    choices = Choices(version="1", image="dovetail", namespace=HOME, is_shadow=True, **KWOK)
    trees: list[Any] = list(manifests(choices))
    now = "2026-01-01T00:00:00Z"
    ready = {"type": "Ready", "status": "True", "reason": "Ready", "message": "",
             "lastTransitionTime": now}  # fmt: skip
    with (
        account_kubeconfig(plane, trees, HOME) as kubeconfig,
        made(plane, pool_and_pod()),
        running(kubeconfig, tmp_path / "log", "--dry-run") as run,
    ):
        status = json.dumps({"status": {"conditions": [ready]}})
        plane.kubectl("patch", "nodepool", HOME, "--subresource=status", "--type=merge",
                      "-p", status)  # fmt: skip
        told = run.said("would act")
        end = ended(run)
        claims = plane.kubectl("get", "nodeclaims", "-o", "name")
        leases = plane.kubectl("get", "leases", "-n", HOME, "-o", "name")
        events = plane.kubectl("get", "events", "-A", "-o", "json")
    assert (told["n_launches"], end["total_launches"]) == (1, 1)
    assert HOME not in claims
    assert leases == ""
    mine = [one for one in json.loads(events)["items"] if one["involvedObject"]["name"] == HOME]
    assert {one["source"].get("component") for one in mine} <= {None, "default-scheduler", ""}
    log = (tmp_path / "log").read_text().lower()
    assert "forbidden" not in log
    assert '"level":"error"' not in log
