"""What does a user see of a scale-up and a scale-down? Metrics, events, logs and profiles."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from tests.controlplane.plane import ControlPlane
from tests.e2e.live import Running, until
from tests.e2e.manifests import HOSTNAME, ZONE, container, deployment
from tests.e2e.stage import Script, Stage, staged

pytestmark = pytest.mark.xdist_group("controlplane")

NAME = "metrics"
SCRIPT = Script(NAME)
LIMITS = {"cpu": "500m", "memory": "128Mi"}
# What must have moved, or be there, while pods run.
UP = (
    "scheduler_scheduling_duration_seconds_count",
    "scheduler_unschedulable_pods_count",
    "scheduler_ignored_pods_count",
    "cluster_state_node_count",
    "cluster_state_synced",
    "cluster_utilization_percent",
    "pods_scheduling_decision_duration_seconds_count",
    "pods_state",
    "pods_startup_duration_seconds_count",
    "pods_bound_duration_seconds_count",
    "pods_provisioning_bound_duration_seconds_count",
    "pods_provisioning_startup_duration_seconds_count",
    "pods_unbound_time_seconds",
    "pods_unstarted_time_seconds",
    "nodeclaims_created_total",
    "nodes_created_total",
    "nodes_allocatable",
    "nodes_total_pod_requests",
    "nodes_total_pod_limits",
    "nodes_total_daemon_requests",
    "nodes_total_daemon_limits",
    "nodes_system_overhead",
    "nodes_current_lifetime_seconds",
    "nodepools_limit",
    "nodepools_usage",
    "nodepools_cost_total",
    "nodepools_allowed_disruptions",
    "cloudprovider_duration_seconds_count",
    "build_info",
)
# What must have moved once they have gone.
DOWN = (
    "pods_eviction_requests_total",
    "pods_drained_total",
    "nodeclaims_terminated_total",
    "nodeclaims_disrupted_total",
    "nodeclaims_termination_duration_seconds_count",
    "nodeclaims_instance_termination_duration_seconds_count",
    "nodes_terminated_total",
    "nodes_drained_total",
    "nodes_termination_duration_seconds_count",
    "nodes_lifetime_duration_seconds_count",
    "voluntary_disruption_decision_evaluation_duration_seconds_count",
    "voluntary_disruption_decisions_total",
    "voluntary_disruption_decisions_by_nodepool_total",
)
UNPREFIXED = (
    "operator_nodeclaim_status_condition_transitions_total",
    "operator_nodeclaim_status_condition_transition_seconds_count",
    "operator_nodeclaim_termination_duration_seconds_count",
    "operator_nodepool_status_condition_count",
    "client_go_request_total",
    "client_go_request_duration_seconds_count",
)


@pytest.fixture(scope="module")
def flags() -> tuple[str, ...]:
    """Everything that can be shown."""
    return ("--enable-profiling", "--log-level", "debug")


@pytest.fixture(scope="module")
def up(plane: ControlPlane, running: Running) -> Iterator[Stage]:
    """Pods and daemons run; one pod waits in vain, and one cannot be planned for."""
    assert running.process.poll() is None
    apart = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}}
    terms = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    missing = {"name": "data", "persistentVolumeClaim": {"claimName": "not-there"}}
    with staged(plane, NAME) as stage:
        limited = [container(limits=LIMITS)]
        daemon = deployment("daemon", 0, stage.spec(containers=limited), kind="DaemonSet")
        del daemon["spec"]["replicas"]
        stage.apply(
            stage.pool(limits={"cpu": "100"}),
            daemon,
            deployment("web", 3, stage.spec(containers=limited, affinity=terms)),
            *SCRIPT.pods(1, name="hopeless", nodeSelector={ZONE: "nowhere"}),
            *SCRIPT.pods(1, name="ignored", volumes=[missing]),
        )
        until(lambda: stage.has_running(3, "-l", "app=web"), "the pods run")
        until(lambda: stage.has_running(3, "-l", "app=daemon"), "the daemons run")
        yield stage


@pytest.fixture(scope="module")
def down(up: Stage) -> Stage:
    """One node was deleted under its pod; then all pods went, and their nodes after them, although
    daemons were left on them.
    """
    name = up.nodes()[0]["metadata"]["name"]
    up.plane.kubectl("delete", "node", name, "--wait=false")
    until(lambda: "Evicted" in up.events("Pod"), "its pod is evicted")
    up.kubectl("delete", "deployment", "web", "--wait=false")
    until(lambda: not (up.nodes() or up.claims()), "the nodes are gone")
    return up


@pytest.mark.parametrize("name", UP)
def test_a_scale_up_is_measured(up: Stage, running: Running, name: str) -> None:
    """As the reference's metrics are named."""
    assert up.name == NAME
    until(lambda: running.total(f"karpenter_{name}") > 0, f"{name} has moved")


def test_metrics_tell_pools_apart(up: Stage, running: Running) -> None:
    """With the labels that dashboards ask for."""
    created = running.total(
        "karpenter_nodeclaims_created_total", nodepool=NAME, reason="provisioned"
    )
    assert created == len(up.claims()) == 3
    usage = {"nodepool": NAME, "resource_type": "cpu"}
    until(lambda: running.total("karpenter_nodepools_usage", **usage) == 3, "usage is counted")
    assert running.total("karpenter_nodepools_limit", **usage) == 100


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("Pod", "Nominated"),
        ("Pod", "FailedScheduling"),
        ("NodeClaim", "Launched"),
        ("NodeClaim", "Registered"),
        ("NodeClaim", "Initialized"),
        ("NodeClaim", "Ready"),
        ("NodePool", "Ready"),
    ],
)
def test_a_scale_up_is_told(up: Stage, kind: str, reason: str) -> None:
    """In events, which `kubectl describe` shows."""
    until(lambda: reason in up.events(kind), f"a {kind} is told: {reason}")


def test_health_is_answered(up: Stage, running: Running) -> None:
    """By the paths that probes ask for."""
    assert up.name == NAME
    for path in ("healthz", "readyz"):
        assert answer(running.health_port, path)[0] == 200


def test_profiles_can_be_had_when_they_are_enabled(up: Stage, running: Running) -> None:
    """By the paths of Go's profiles."""
    assert up.name == NAME
    status, index = answer(running.metrics_port, "debug/pprof/")
    assert status == 200
    assert "profile" in index
    assert answer(running.metrics_port, "debug/pprof/goroutine")[0] == 200
    status, stacks = answer(running.metrics_port, "debug/pprof/profile?seconds=0.3")
    assert status == 200
    assert "dovetail" in stacks


def answer(port: int, path: str) -> tuple[int, str]:
    """What is said to a request."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=60) as said:
            return said.status, said.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""


@pytest.mark.parametrize("name", DOWN)
def test_a_scale_down_is_measured(down: Stage, running: Running, name: str) -> None:
    """As the reference's metrics are named."""
    assert down.name == NAME
    until(lambda: running.total(f"karpenter_{name}") > 0, f"{name} has moved")


@pytest.mark.parametrize("name", UNPREFIXED)
def test_conditions_and_requests_are_measured(down: Stage, running: Running, name: str) -> None:
    """As the reference's libraries name them."""
    assert down.name == NAME
    until(lambda: running.total(name) > 0, f"{name} has moved")


def test_gauges_of_nodes_that_are_gone_are_gone(down: Stage, running: Running) -> None:
    """Nothing is shown of what is no more."""
    until(
        lambda: running.total("karpenter_nodes_allocatable", nodepool=NAME) == 0,
        "no node is shown any more",
    )
    assert running.total("karpenter_nodeclaims_disrupted_total", reason="empty", nodepool=NAME) >= 2
    assert down.nodes() == []


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("Pod", "Evicted"),
        ("Node", "FailedDraining"),
        ("Node", "DisruptionTerminating"),
        ("NodeClaim", "DisruptionTerminating"),
        ("NodeClaim", "Drained"),
        ("NodeClaim", "Finalized"),
    ],
)
def test_a_scale_down_is_told(down: Stage, kind: str, reason: str) -> None:
    """In events, also about what is gone."""
    until(lambda: reason in down.events(kind), f"a {kind} is told: {reason}")


def test_logs_are_json_and_say_what_and_why(down: Stage, running: Running) -> None:
    """Every line by itself, with the names of what it is about."""
    assert down.name == NAME
    lines = running.lines()
    assert all({"level", "time", "logger", "message"} <= set(line) for line in lines)
    created = [line for line in lines if line["message"] == "created nodeclaim"]
    assert {line["NodePool"] for line in created} == {NAME}
    assert all(line["instance-types"] and line["pods"] for line in created)
    disrupted = [line for line in lines if line["message"] == "disrupting node(s)"]
    assert {line["reason"] for line in disrupted} == {"empty"}
    evicted = [line for line in lines if line["message"] == "evicted pod"]
    assert all(line["reason"] and line["node"] for line in evicted)
    assert not [line for line in lines if line["level"] == "ERROR"]
