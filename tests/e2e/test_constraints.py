"""Are pods with every kind of constraint bound, by the real kube-scheduler, to nodes that were
launched for them? All cases are applied at once and judged one by one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from tests.controlplane.plane import ControlPlane, start_scheduler
from tests.e2e.cases import CASES, FAMILY, Placed
from tests.e2e.live import Objects, Running, condition, objects, until
from tests.e2e.manifests import STAGE, ZONE, Tree, container, requirement
from tests.e2e.stage import Script, Stage, staged

pytestmark = pytest.mark.xdist_group("controlplane")

DEFAULT = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
STARTUP = {"key": "dovetail.test/starting", "effect": "NoSchedule"}
STARTING, LIMITED, COUNTED, GATED, VARIED = (
    Script(name, "constraints") for name in ("starting", "limited", "counted", "gated", "varied")
)
_QUIET_SECONDS = 5


def special() -> list[Tree]:
    """Cases whose pods do not simply run in the end."""
    half = [container(cpu="800m")]
    gate = {"name": "dovetail.test/gate"}
    many = requirement(FAMILY, "Exists", minValues=3)
    return [
        *(STARTING.pool(template={"startupTaints": [STARTUP]}), *STARTING.pods(1)),
        *(LIMITED.pool(limits={"cpu": "2"}), *LIMITED.pods(4, containers=half)),
        *(COUNTED.pool(limits={"nodes": "1"}), *COUNTED.pods(2, containers=[container(cpu="150")])),
        *(GATED.pool(), *GATED.pods(1, schedulingGates=[gate])),
        *(VARIED.pool(requirements=[many]), *VARIED.pods(1)),
    ]


@pytest.fixture(scope="module")
def flags(plane: ControlPlane) -> tuple[str, ...]:
    """The controller knows how the scheduler is configured."""
    path = plane.folder / "spread.json"
    path.write_text(json.dumps({"podTopologySpread": {"defaultConstraints": [DEFAULT]}}))
    return ("--scheduler-config", str(path))


@pytest.fixture(scope="module")
def applied(plane: ControlPlane, running: Running) -> Iterator[Stage]:
    """Everything applied, and a scheduler that spreads pods which say nothing."""
    assert running.process.poll() is None
    plane.kill("kube-scheduler")
    start_scheduler(plane, spreads=[DEFAULT])
    try:
        with staged(plane, "constraints") as held:
            held.apply(*(tree for name in CASES for tree in CASES[name](script(name))[0]))
            held.apply(*special())
            yield held
    finally:
        plane.kill("kube-scheduler")
        start_scheduler(plane)


def script(name: str) -> Script:
    """What is written for a case."""
    return Script(name, "constraints")


def pods_of(applied: Stage, name: str) -> Objects:
    """The pods that a case is about."""
    return applied.pods("-l", f"app={name}")


def nodes_of(applied: Stage, name: str) -> Objects:
    """The nodes of a case."""
    return objects(applied.plane, "nodes", "-l", f"{STAGE}={name}")


def claims_of(applied: Stage, name: str) -> Objects:
    """The claims of a case."""
    return objects(applied.plane, "nodeclaims", "-l", f"{STAGE}={name}")


def run(applied: Stage, name: str) -> bool:
    """Whether all pods of a case run."""
    return {one["status"]["phase"] for one in pods_of(applied, name)} == {"Running"}


@pytest.mark.parametrize("name", CASES)
def test_pods_are_bound_where_they_ask(applied: Stage, name: str) -> None:
    """By kube-scheduler itself, so nothing else needs to be asked about the constraint; what the
    check adds is that the constraint was one.
    """
    until(lambda: run(applied, name), f"the pods of {name} run")
    nodes = {one["metadata"]["name"]: one for one in nodes_of(applied, name)}
    _, check = CASES[name](script(name))
    check([Placed(one, nodes[one["spec"]["nodeName"]]) for one in pods_of(applied, name)])


def test_startup_taints_hold_a_node_back_until_somebody_removes_them(applied: Stage) -> None:
    """Registered, but not initialized; then both, and the pod runs."""

    def is_held_back() -> bool:
        return any(
            condition(one, "Initialized").get("reason") == "StartupTaintsExist"
            for one in claims_of(applied, "starting")
        )

    until(is_held_back, "a node waits for its startup taints to go")
    (claim,) = claims_of(applied, "starting")
    assert condition(claim, "Registered")["status"] == "True"
    assert condition(claim, "Ready")["status"] == "Unknown"
    assert not run(applied, "starting")
    name = claim["status"]["nodeName"]
    applied.plane.kubectl("taint", "node", name, f"{STARTUP['key']}:{STARTUP['effect']}-")
    until(lambda: run(applied, "starting"), "the pod runs")
    (claim,) = claims_of(applied, "starting")
    (node,) = nodes_of(applied, "starting")
    assert condition(claim, "Initialized")["status"] == "True"
    assert node["metadata"]["labels"]["karpenter.sh/initialized"] == "true"
    assert not node["spec"].get("taints")


def test_a_gated_pod_gets_a_node_only_when_its_gate_opens(applied: Stage) -> None:
    """Nothing is launched for a pod that nobody may schedule yet."""
    until(lambda: run(applied, "varied"), "a pod applied with it runs")
    assert not claims_of(applied, "gated")
    opened = json.dumps({"spec": {"schedulingGates": None}})
    applied.kubectl("patch", "pod", "gated-0", "--type=merge", "-p", opened)
    until(lambda: run(applied, "gated"), "the pod runs")


def test_a_wish_that_costs_nothing_is_met(applied: Stage) -> None:
    """Preferred affinity chooses among zones of one price; by itself, since where others that wait
    are spread over zones, wishes for a zone give way to them.
    """
    until(lambda: run(applied, "zone-spread"), "whoever is spread runs")
    term = {"matchExpressions": [requirement(ZONE, "In", "test-zone-c")]}
    wish = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 50, "preference": term}]}
    mine = script("wishing")
    applied.apply(mine.pool(), *mine.pods(2, affinity={"nodeAffinity": wish}))
    until(lambda: run(applied, "wishing"), "the pods run")
    zones = {one["metadata"]["labels"][ZONE] for one in nodes_of(applied, "wishing")}
    assert zones == {"test-zone-c"}


def test_a_claim_keeps_as_many_choices_as_the_pool_asks_for(applied: Stage) -> None:
    """minValues, in the claim that the provider is given."""
    until(lambda: run(applied, "varied"), "the pod runs")
    (claim,) = claims_of(applied, "varied")
    asked = {one["key"]: one for one in claim["spec"]["requirements"]}
    assert asked[FAMILY]["minValues"] == 3
    types = asked["node.kubernetes.io/instance-type"]["values"]
    assert len({one.partition("-")[0] for one in types}) == 3


def test_limits_end_a_pool(applied: Stage) -> None:
    """No node beyond them, and the pods that wait are told why."""
    n_nodes = {"limited": 2, "counted": 1}
    until(lambda: all(is_told_of_limits(applied, one) for one in n_nodes), "limits are told of")

    def n_running() -> dict[str, int]:
        phases = {
            name: [one["status"]["phase"] for one in pods_of(applied, name)] for name in n_nodes
        }
        return {name: found.count("Running") for name, found in phases.items()}

    until(lambda: n_running() == n_nodes, "the pods run that have room")
    time.sleep(_QUIET_SECONDS)
    assert {name: len(claims_of(applied, name)) for name in n_nodes} == n_nodes
    assert n_running() == n_nodes


def is_told_of_limits(applied: Stage, name: str) -> bool:
    """Whether an event on a pod that waits says that the pool may not grow."""
    waiting = [one for one in pods_of(applied, name) if one["status"]["phase"] == "Pending"]
    told = (applied.events("Pod", one["metadata"]["name"]) for one in waiting)
    return any("limit" in message for one in told for message in one.get("FailedScheduling", ()))
