"""Do nodes go that should, one for another and within all budgets, and does nobody wait for it?

A real scheduler places whoever is evicted, and real controllers count who may be.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from dovetail.clock import SystemClock
from tests.controlplane.plane import ControlPlane
from tests.e2e import conftest, disruptions
from tests.e2e.disruptions import (
    BROKEN,
    CLOSED,
    DRIFTED,
    FIXED,
    GUARDED,
    HOME,
    MERGED,
    N_APART,
    REFUSED,
    RENEWED,
    SHRUNK,
    SPLIT,
    STALLED,
    STARTING,
    VACANT,
    Seen,
    claims_of,
    names,
    nodes_of,
    pods_of,
    types_of,
    uids,
)
from tests.e2e.history import (
    became_true,
    deleted,
    ever_fenced,
    evicted,
    evictions,
    fewest_ready,
    is_fenced,
    is_marked,
    most_leaving,
    was_undone,
    without_a_node,
)
from tests.e2e.live import Objects, Running, condition, controller, one, until, watching
from tests.e2e.manifests import HOME as HOME_LABEL
from tests.e2e.stage import Script, Stage, staged

pytestmark = pytest.mark.xdist_group("controlplane")

ANY_SAVING = ("--eviction-cost", "0s")  # pods are moved here that are seconds old
FLAGS = ("--feature-gates", disruptions.GATES, *ANY_SAVING, *conftest.ALONE)
_BROKEN_FOR = timedelta(minutes=11)


@pytest.fixture(scope="module")
def faults(plane: ControlPlane) -> dict[str, str]:
    """What the cloud refuses."""
    path = plane.folder / "disruption-faults.json"
    path.write_text(json.dumps(disruptions.FAULTS))
    return {"KWOK_FAULTS_FILE_PATH": str(path)}


@pytest.fixture(scope="module")
def running(plane: ControlPlane, rights: Path, faults: dict[str, str]) -> Iterator[Running]:
    """One controller until the last test, which starts another."""
    with controller(
        plane, *FLAGS, kubeconfig=rights, home=conftest.HOME, environment=faults
    ) as started:
        yield started


@pytest.fixture(scope="module")
def seen(plane: ControlPlane, running: Running) -> Iterator[Seen]:
    """Everything runs, and then everything changes."""
    assert running.process.poll() is None
    chosen = ("-l", f"{HOME_LABEL}={HOME}")
    with ExitStack() as held:
        stage = held.enter_context(staged(plane, HOME))
        stage.apply(*disruptions.everything())
        until(lambda: stage.has_running(disruptions.N_PODS), "all pods run")
        until(lambda: len(nodes_of(stage, FIXED)) == 2, "the static nodes are there")
        since = SystemClock().now().replace(microsecond=0)
        pods = held.enter_context(watching(plane, "pods", "-n", HOME))
        nodes = held.enter_context(watching(plane, "nodes", *chosen))
        claims = held.enter_context(watching(plane, "nodeclaims", *chosen))
        until(lambda: pods() and nodes() and claims(), "the watches have begun")
        disruptions.turn(stage)
        yield Seen(stage, since, pods, nodes, claims)


def fenced(stage: Stage, script: Script) -> Objects:
    """Nodes of a script that are to go."""
    return [each for each in nodes_of(stage, script) if is_fenced(each)]


def test_a_drifted_node_is_drained_only_once_its_replacement_has_started(seen: Seen) -> None:
    """As long as the new node has a startup taint nobody is evicted; then all land on it."""
    stage = seen.stage
    until(lambda: fenced(stage, RENEWED), "the node is fenced off")
    (old,) = fenced(stage, RENEWED)
    until(lambda: len(nodes_of(stage, RENEWED)) == 2, "its replacement has joined")
    (new,) = [each for each in nodes_of(stage, RENEWED) if not is_fenced(each)]
    assert "deletionTimestamp" not in old["metadata"]
    assert not evictions(seen.pods(), "renewed")
    name = new["metadata"]["name"]
    stage.plane.kubectl("taint", "node", name, f"{STARTING['key']}-")
    until(lambda: len(nodes_of(stage, RENEWED)) == 1, "the old node is gone")
    until(lambda: stage.has_running(2, "-l", "app=renewed"), "its pods run")
    assert {each["spec"]["nodeName"] for each in pods_of(stage, RENEWED)} == {name}
    (claim,) = claims_of(stage, RENEWED)
    started_at = became_true(claim, "Initialized")
    assert started_at is not None
    gone = evictions(seen.pods(), "renewed")
    assert len(gone) == 2
    assert started_at <= gone[0]


def test_a_node_whose_replacement_never_starts_is_put_back(seen: Seen) -> None:
    """Nobody was evicted, and pods may come again. A minute later it is tried once more, which a
    slow machine may already see: what happened before is read from the history.
    """
    stage = seen.stage
    until(lambda: fenced(stage, STALLED), "the node is fenced off")
    (old,) = fenced(stage, STALLED)
    name = old["metadata"]["name"]
    until(lambda: len(claims_of(stage, STALLED)) == 2, "a replacement is ordered")
    (new,) = [
        each["metadata"]["name"]
        for each in claims_of(stage, STALLED)
        if each["metadata"]["name"] != name
    ]
    stage.plane.kubectl("delete", "nodeclaim", new, "--wait=false")
    until(lambda: was_undone(seen.nodes(), name, is_fenced), "the node is put back")
    until(lambda: was_undone(seen.claims(), name, is_marked), "its claim is no longer marked")
    left = (nodes_of, claims_of)
    until(lambda: all(new not in names(of(stage, STALLED)) for of in left), "the other is gone")
    assert old["metadata"]["uid"] in uids(nodes_of(stage, STALLED))
    assert not evictions(seen.pods(), "stalled")


def test_a_node_whose_replacement_cannot_be_had_is_put_back(seen: Seen) -> None:
    """The cloud refuses the launch; nobody was evicted."""
    stage = seen.stage
    (old,) = nodes_of(stage, REFUSED)
    name = old["metadata"]["name"]
    until(lambda: was_undone(seen.nodes(), name, is_fenced), "the node is fenced off and put back")
    assert uids(nodes_of(stage, REFUSED)) == {old["metadata"]["uid"]}
    assert not evictions(seen.pods(), "refused")


def test_drifted_nodes_go_one_after_another_under_a_budget_of_one(seen: Seen) -> None:
    """Each after its replacement has started, and with enough pods ready at any moment."""
    stage = seen.stage

    def is_new() -> bool:
        claims = claims_of(stage, DRIFTED)
        drifted = [each for each in claims if condition(each, "Drifted").get("status") == "True"]
        return len(evictions(seen.pods(), "drifted")) == N_APART and not drifted

    until(is_new, "all nodes are new")
    until(lambda: len(claims_of(stage, DRIFTED)) == N_APART, "the old nodes are gone")
    until(lambda: stage.has_running(N_APART, "-l", "app=drifted"), "the pods run")
    started = sorted(
        moment
        for each in claims_of(stage, DRIFTED)
        if (moment := became_true(each, "Initialized")) is not None
    )
    gone = evictions(seen.pods(), "drifted")
    assert len(gone) == N_APART
    assert all(first <= then for first, then in zip(started, gone, strict=True))
    assert fewest_ready(seen.pods(), "drifted", at_first=N_APART) == N_APART - 1
    assert most_leaving(seen.claims(), "drifted") == 1


def test_empty_nodes_go_one_after_another_under_a_budget_of_one(seen: Seen) -> None:
    """All of them, in the end."""
    until(lambda: not nodes_of(seen.stage, VACANT), "the empty nodes are gone")
    assert most_leaving(seen.claims(), "vacant") == 1


def test_a_static_pool_has_as_many_nodes_as_it_is_told(seen: Seen) -> None:
    """As `kubectl scale nodepool` says."""
    stage = seen.stage
    until(lambda: len(claims_of(stage, FIXED)) == 1, "one node is left")
    stage.plane.kubectl("scale", "nodepool", "fixed", "--replicas=2")

    def are_ready() -> bool:
        claims = claims_of(stage, FIXED)
        return [condition(each, "Ready").get("status") for each in claims] == ["True"] * 2

    until(are_ready, "there are two again")
    found = one(stage.plane, "nodepool", "fixed")
    assert found["spec"]["replicas"] == 2


def test_a_broken_node_is_repaired(seen: Seen, running: Running) -> None:
    """Its pod runs on another at once. The old one goes as soon as nobody waits any more for the
    pods that its kubelet does not end.
    """
    stage = seen.stage
    (node,) = nodes_of(stage, BROKEN)
    name = node["metadata"]["name"]
    since = f"{SystemClock().now() - _BROKEN_FOR:%Y-%m-%dT%H:%M:%SZ}"
    broken = {"type": "Ready", "status": "False", "reason": "Broken", "lastTransitionTime": since}
    stage.plane.kubectl("label", "node", name, "kwok.x-k8s.io/node-")  # its kubelet is gone
    words = ("patch", "node", name, "--subresource=status", "--type=strategic", "-p")
    stage.plane.kubectl(*words, json.dumps({"status": {"conditions": [broken]}}))

    def runs_elsewhere() -> bool:
        pods = pods_of(stage, BROKEN)
        return any(
            each["status"]["phase"] == "Running" and each["spec"]["nodeName"] != name
            for each in pods
        )

    until(runs_elsewhere, "the pod runs elsewhere")
    disrupted = "karpenter_nodeclaims_disrupted_total"
    assert running.total(disrupted, nodepool="broken", reason="unhealthy") == 1


@pytest.mark.parametrize(
    ("script", "n_pods", "want"),
    [
        (SHRUNK, disruptions.N_AFTER, ["c-4x", "c-4x"]),
        (SPLIT, 3, ["c-1x", "c-2x"]),
        (MERGED, 3, ["c-2x"]),
    ],
    ids=["four nodes become two", "one node becomes two", "three nodes become one"],
)
def test_pods_end_up_on_the_cheapest_nodes(
    seen: Seen, script: Script, n_pods: int, want: list[str]
) -> None:
    """And there they rest: nothing more is to be gained, and planned anew they would cost as much.

    What is proven to be the least is met by the cluster that is more than a handful of pods.
    """
    stage = seen.stage

    def shapes() -> list[str]:
        return ["-".join(each.split("-")[:2]) for each in types_of(nodes_of(stage, script))]

    until(lambda: shapes() == want, f"{script.name} has {want}")
    until(lambda: stage.has_running(n_pods, "-l", f"app={script.name}"), "the pods run")
    pool, pods = one(stage.plane, "nodepool", script.name), pods_of(stage, script)
    later = SystemClock().now() + timedelta(hours=1)
    held = [pool, *nodes_of(stage, script), *claims_of(stage, script), *pods]
    at_rest = disruptions.planned(held, later)
    assert at_rest["disruptions"] == []
    anew = disruptions.planned([pool, *map(disruptions.waiting, pods)], later)["cost"]
    paid = at_rest["cost"]["clusterBeforePerHour"]
    assert 0 < paid <= anew["newPerHour"]
    if script is SHRUNK:
        assert paid <= 1.1 * anew["lowerBoundPerHour"]


def test_enough_pods_were_ready_while_their_nodes_went(seen: Seen) -> None:
    """As many as the PodDisruptionBudget of the app that shrank asks for: at no moment fewer, and
    every pod that its ReplicaSet did not give up was let go by the eviction API. Judged by the
    history of the pods, so it does not matter how long a dip lasted.
    """
    changes = seen.pods()
    moved = evicted(changes, "shrunk")
    assert moved
    given_up = deleted(changes, "shrunk") - moved
    assert len(given_up) == disruptions.N_BEFORE - disruptions.N_AFTER
    n_ready = fewest_ready(changes, "shrunk", at_first=disruptions.N_BEFORE)
    assert n_ready >= disruptions.N_AVAILABLE


def test_a_protected_pod_keeps_its_node(seen: Seen) -> None:
    """Though that has drifted and is far too large."""
    stage = seen.stage
    assert not ever_fenced(seen.nodes(), "guarded")
    (claim,) = claims_of(stage, GUARDED)
    assert condition(claim, "Drifted").get("status") == "True"
    (pod,) = pods_of(stage, GUARDED)
    assert pod["status"]["phase"] == "Running"
    assert not evictions(seen.pods(), "guarded")
    told = stage.events("Node", claim["status"]["nodeName"])["DisruptionBlocked"]
    assert any("do-not-disrupt on pod disruption/guarded-" in message for message in told)


def counted(plane: ControlPlane) -> dict[str, int]:
    """How often pods of each workload on the stage were evicted, as it is written down."""
    held = one(plane, "configmap", "dovetail-evictions", "-n", conftest.HOME)
    total: dict[str, int] = {}
    for by_workload in json.loads(held["data"]["evictions"]).values():
        for workload, n_evictions in by_workload.items():
            _, namespace, name = workload.split("/")
            if namespace == HOME:
                total[name] = total.get(name, 0) + n_evictions
    return total


def test_whoever_takes_over_goes_on_where_the_last_was_killed(
    seen: Seen, running: Running, plane: ControlPlane, rights: Path, faults: dict[str, str]
) -> None:
    """With a node whose replacement it did not order, with the budget of zero that has stopped
    everything so far, and with the evictions that the last has counted.
    """
    stage = seen.stage
    assert not ever_fenced(seen.nodes(), "closed")
    old = uids(claims_of(stage, CLOSED))
    assert len(old) == 3
    until(lambda: counted(plane).get("merged") == 3, "evictions are written down")
    before = counted(plane)
    assert before["drifted"] == N_APART
    until(lambda: fenced(stage, STALLED), "the node that was put back is tried again")
    running.kill()
    with controller(plane, *FLAGS, kubeconfig=rights, home=conftest.HOME, environment=faults):
        disruptions.patch(stage, "closed", disruption=disruptions.disruption())
        until(lambda: len(nodes_of(stage, STALLED)) == 2, "the replacement is there")
        (new,) = [each for each in nodes_of(stage, STALLED) if not is_fenced(each)]
        assert not evictions(seen.pods(), "stalled")
        stage.plane.kubectl("taint", "node", new["metadata"]["name"], f"{STARTING['key']}-")
        until(lambda: len(nodes_of(stage, STALLED)) == 1, "the old node is gone")
        until(lambda: stage.has_running(2, "-l", "app=stalled"), "its pods run")
        assert uids(nodes_of(stage, STALLED)) == {new["metadata"]["uid"]}
        until(lambda: not old & uids(claims_of(stage, CLOSED)), "a lifted budget lets nodes go")
        until(lambda: stage.has_running(2, "-l", "app=closed"), "the pods run")
        expected = before | {"closed": 2, "stalled": 2}
        until(lambda: counted(plane) == expected, "evictions are added up")


def test_nobody_who_was_evicted_waited_for_a_new_node(seen: Seen) -> None:
    """kube-scheduler had a node for each of them: it had started before the pod was made. Only the
    node that broke was not replaced beforehand.
    """
    waited = without_a_node(seen.pods(), seen.claims(), seen.since)
    assert {app for app, _ in waited} <= {"broken"}, waited
    assert {each["status"]["phase"] for each in seen.stage.pods()} == {"Running"}
