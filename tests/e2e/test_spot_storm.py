"""A spot storm on EC2: thirty of a hundred spot nodes are warned at once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from dovetail.clock import SystemClock
from tests.controlplane.plane import ControlPlane
from tests.e2e.conftest import ALONE
from tests.e2e.ec2_world import CLUSTER, CREDENTIALS, ROLE, Ec2World, ec2_world
from tests.e2e.history import fewest_ready
from tests.e2e.live import Running, condition, controller, objects, one, until, watching
from tests.e2e.manifests import Tree, budget, company, container, deployment, listed
from tests.unit.providers.aws.interruption import texts

pytestmark = pytest.mark.xdist_group("controlplane")

NAMESPACE = "storm-e2e"
POOL = "storm"
QUEUE = "storm-interruptions"
N_NODES = 100
N_WARNED = 30
N_GUARDED = 60
N_ABSENT = 12
_BATCH = 10
NODE_POOL: Tree = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": POOL},
    "spec": {
        "template": {
            "spec": {
                "requirements": [
                    {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
                    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
                    {
                        "key": "karpenter.k8s.aws/instance-category",
                        "operator": "In",
                        "values": ["c", "m", "r"],
                    },
                ],
                "nodeClassRef": {
                    "group": "karpenter.k8s.aws",
                    "kind": "EC2NodeClass",
                    "name": POOL,
                },
                "expireAfter": "Never",
            }
        },
        "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never"},
    },
}
NODE_CLASS: Tree = {
    "apiVersion": "karpenter.k8s.aws/v1",
    "kind": "EC2NodeClass",
    "metadata": {"name": POOL},
    "spec": {
        "role": ROLE,
        "amiSelectorTerms": [{"alias": "al2023@latest"}],
        "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": CLUSTER}}],
        "securityGroupSelectorTerms": [{"tags": {"karpenter.sh/discovery": CLUSTER}}],
    },
}
SPEC: Tree = {
    "containers": [container()],
    "terminationGracePeriodSeconds": 5,
    "nodeSelector": {"karpenter.sh/nodepool": POOL},
}


@pytest.fixture
def world(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ec2World]:
    """An EC2 of this test, with an interruption queue."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with ec2_world(plane) as started:
        yield started


def test_pods_of_thirty_nodes_that_are_warned_at_once_move_before_their_nodes_go(
    plane: ControlPlane, world: Ec2World
) -> None:
    """Each is replaced once, by few decisions, and no PodDisruptionBudget is broken meanwhile."""
    sqs = world.clients["sqs"]
    url = sqs.create_queue(QueueName=QUEUE)["QueueUrl"]
    flags = (*ALONE, *world.flags, "--interruption-queue", QUEUE)
    with controller(plane, *flags, environment=world.environment, provider="aws") as running:
        _set_up(plane)
        try:
            until(lambda: _n_running(plane) == N_NODES + N_GUARDED, "all pods run")
            before = {claim["metadata"]["name"] for claim in objects(plane, "nodeclaims")}
            warned = _fullest(plane)
            with watching(plane, "pods", "-n", NAMESPACE) as pods:
                _warn(sqs, url, [*warned.values()])
                until(lambda: not _names(plane, "nodes") & warned.keys(), "the warned nodes go")
                until(lambda: _n_running(plane) == N_NODES + N_GUARDED, "all pods run again")
                fewest = fewest_ready(pods(), "guarded", at_first=N_GUARDED)
            assert fewest >= N_GUARDED - N_ABSENT
            _check_launches(plane, running, before)
            assert _n_messages(sqs, url) == 0
        finally:
            plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")
            plane.kubectl("delete", "--timeout=300s", "nodepool,ec2nodeclass", POOL)


def _set_up(plane: ControlPlane) -> None:
    """A hundred nodes, one for each pod that keeps apart from its like, and pods between them."""
    namespace: Tree = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    trees = listed([namespace, NODE_CLASS, NODE_POOL])
    plane.kubectl("apply", "--server-side", "-f", "-", given=json.dumps(trees))
    ready = "Ready"
    until(
        lambda: condition(one(plane, "ec2nodeclass", POOL), ready).get("status") == "True",
        "the node class is ready",
    )
    spec = SPEC | {"affinity": company("podAntiAffinity", "apart")}
    _create(plane, deployment("apart", N_NODES, spec))
    until(lambda: _n_running(plane) == N_NODES, "a hundred nodes run a pod each")
    guarded = deployment("guarded", N_GUARDED, SPEC)
    _create(plane, budget("guarded", maxUnavailable=N_ABSENT), guarded)


def _create(plane: ControlPlane, *trees: Tree) -> None:
    plane.kubectl("apply", "-n", NAMESPACE, "-f", "-", given=json.dumps(listed(trees)))


def _n_running(plane: ControlPlane) -> int:
    """Pods that run and stay."""
    pods = objects(plane, "pods", "-n", NAMESPACE)
    return sum(
        condition(pod, "Ready").get("status") == "True"
        and "deletionTimestamp" not in pod["metadata"]
        for pod in pods
    )


def _names(plane: ControlPlane, kind: str) -> set[str]:
    return {found["metadata"]["name"] for found in objects(plane, kind)}


def _fullest(plane: ControlPlane) -> dict[str, str]:
    """The nodes that are warned, those with the most pods, and their instances."""
    n_pods = Counter(pod["spec"]["nodeName"] for pod in objects(plane, "pods", "-n", NAMESPACE))
    nodes = objects(plane, "nodes", "-l", f"karpenter.sh/nodepool={POOL}")
    assert len(nodes) == N_NODES
    nodes.sort(key=lambda node: (-n_pods[node["metadata"]["name"]], node["metadata"]["name"]))
    return {
        node["metadata"]["name"]: node["spec"]["providerID"].rpartition("/")[2]
        for node in nodes[:N_WARNED]
    }


def _check_launches(plane: ControlPlane, running: Running, before: set[str]) -> None:
    """There is one for each node, by as few decisions as the warnings took calls. Names of claims
    say by which.
    """
    launched = _names(plane, "nodeclaims") - before
    assert len(launched) == N_WARNED
    decisions = Counter(name.rpartition("-")[0] for name in launched)
    assert len(decisions) <= N_WARNED // _BATCH, decisions
    assert (
        running.total(
            "karpenter_interruption_received_messages_total", message_type="spot_interrupted"
        )
        >= N_WARNED
    )


def _warn(sqs: Any, url: str, instances: list[str]) -> None:
    """Warn of all of them, in as few calls as SQS allows."""
    now = SystemClock().now()
    for start in range(0, len(instances), _BATCH):
        entries = [
            {"Id": instance, "MessageBody": texts.spot(instance, sent_at=now)}
            for instance in instances[start : start + _BATCH]
        ]
        sqs.send_message_batch(QueueUrl=url, Entries=entries)


def _n_messages(sqs: Any, url: str) -> int:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    answer = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)
    return sum(int(answer["Attributes"][name]) for name in names)
