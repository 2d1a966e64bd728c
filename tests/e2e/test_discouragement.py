"""Do new pods keep off a node that is marked, as long as others have room, and does the mark go?

The mark is put on by hand while no controller runs: what a real scheduler makes of it does not
depend on which nodes a plan would mark.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dovetail import labels
from dovetail.units import quantity
from tests.controlplane.plane import ControlPlane
from tests.e2e.conftest import ALONE, HOME
from tests.e2e.live import controller, one, until
from tests.e2e.manifests import INSTANCE_TYPE, company, container, requirement
from tests.e2e.stage import Stage, staged

pytestmark = pytest.mark.xdist_group("controlplane")

APP = "apart"
SMALL = requirement(INSTANCE_TYPE, "In", "c-4x-amd64-linux")
OFF = (*ALONE, "--discourage-scheduling", "false")
CPU_FIRST, CPU_LATE = 100, 500  # millis of each pod
KEPT = {"key": "example.com/kept", "value": "yes", "effect": "PreferNoSchedule"}


def taints(node: Mapping[str, Any]) -> list[dict[str, str]]:
    """What a node bears, but for when."""
    held = node["spec"].get("taints", [])
    return [{key: text for key, text in each.items() if key != "timeAdded"} for each in held]


def two_nodes(stage: Stage) -> tuple[str, str]:
    """Nodes alike, each with one small pod that keeps it."""
    app = {"app": APP}
    alone = {"affinity": company("podAntiAffinity", APP)}
    small = [container(cpu=f"{CPU_FIRST}m")]
    first = stage.script.pods(2, name=APP, labels=app, containers=small, **alone)
    stage.apply(stage.pool(requirements=[SMALL]), *first)
    until(lambda: stage.has_running(2), "both nodes are there")
    plain, marked = sorted(each["metadata"]["name"] for each in stage.nodes())
    return plain, marked


def places(stage: Stage) -> dict[str, int]:
    """How many late pods are bound to each node."""
    found: dict[str, int] = {}
    for each in stage.pods("-l", "app=late"):
        name = each["spec"].get("nodeName", "")
        found[name] = found.get(name, 0) + 1
    return found


def test_new_pods_keep_off_a_marked_node_while_others_have_room(
    plane: ControlPlane, rights: Path
) -> None:
    """Those that fit nowhere else do not wait. A controller that wants no marks takes it off, and
    leaves other taints as they are; nobody is moved.
    """
    with staged(plane, "discouraged") as stage:
        with controller(plane, *OFF, kubeconfig=rights, home=HOME) as started:
            plain, marked = two_nodes(stage)
            assert started.stop() == 0
        plane.kubectl("taint", "node", marked, f"{labels.DISCOURAGED}=:PreferNoSchedule")
        free = quantity.milli(one(plane, "node", plain)["status"]["allocatable"]["cpu"])
        n_fit = (free - CPU_FIRST) // CPU_LATE
        assert n_fit > 1
        late = {"labels": {"app": "late"}, "containers": [container(cpu=f"{CPU_LATE}m")]}
        stage.apply(*stage.script.pods(n_fit, name="late", **late))
        until(lambda: "" not in places(stage) and places(stage), "they are bound")
        assert places(stage) == {plain: n_fit}
        stage.apply(*stage.script.pods(1, name="last", **late))
        until(lambda: places(stage).get(marked), "the last one is bound as well")
        assert places(stage) == {plain: n_fit, marked: 1}
        plane.kubectl("taint", "node", marked, "example.com/kept=yes:PreferNoSchedule")
        with controller(plane, *OFF, kubeconfig=rights, home=HOME) as started:
            until(lambda: taints(one(plane, "node", marked)) == [KEPT], "the mark is gone")
            assert places(stage) == {plain: n_fit, marked: 1}
            assert {each["metadata"]["name"] for each in stage.nodes()} == {plain, marked}
            assert started.stop() == 0
