"""A cluster on EC2: from an EC2NodeClass to nodes that join, and back to nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.controlplane.plane import ControlPlane
from tests.e2e.conftest import ALONE
from tests.e2e.ec2_world import CLUSTER, CREDENTIALS, ROLE, Ec2World, ec2_world
from tests.e2e.live import condition, controller, objects, one, until
from tests.e2e.manifests import Tree, container, deployment, listed

pytestmark = pytest.mark.xdist_group("controlplane")

NAMESPACE = "aws-e2e"
N_PODS = 200
# The manifests of the getting-started guide, with names of our own.
NODE_POOL: Tree = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "aws-default"},
    "spec": {
        "template": {
            "spec": {
                "requirements": [
                    {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
                    {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
                    {
                        "key": "karpenter.sh/capacity-type",
                        "operator": "In",
                        "values": ["on-demand"],
                    },
                    {
                        "key": "karpenter.k8s.aws/instance-category",
                        "operator": "In",
                        "values": ["c", "m", "r"],
                    },
                    {
                        "key": "karpenter.k8s.aws/instance-generation",
                        "operator": "Gt",
                        "values": ["2"],
                    },
                ],
                "nodeClassRef": {
                    "group": "karpenter.k8s.aws",
                    "kind": "EC2NodeClass",
                    "name": "aws-default",
                },
                "expireAfter": "720h",
            }
        },
        "limits": {"cpu": 1000},
        "disruption": {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "1m"},
    },
}
NODE_CLASS: Tree = {
    "apiVersion": "karpenter.k8s.aws/v1",
    "kind": "EC2NodeClass",
    "metadata": {"name": "aws-default"},
    "spec": {
        "role": ROLE,
        "amiSelectorTerms": [{"alias": "al2023@latest"}],
        "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": CLUSTER}}],
        "securityGroupSelectorTerms": [{"tags": {"karpenter.sh/discovery": CLUSTER}}],
    },
}
CHOICE = {"nodeSelector": {"karpenter.sh/nodepool": "aws-default"}}


@pytest.fixture
def world(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ec2World]:
    """An EC2 of this test."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with ec2_world(plane) as started:
        yield started


def test_two_hundred_pods_run_on_nodes_that_joined_by_their_user_data(
    plane: ControlPlane, world: Ec2World
) -> None:
    """The getting-started guide: scaled up they run, and scaled down nothing is left."""
    spec = {"containers": [container(cpu="1", memory="256Mi")], **CHOICE}
    inflate = deployment("inflate", N_PODS, spec | {"terminationGracePeriodSeconds": 0})
    with controller(plane, *ALONE, *world.flags, environment=world.environment, provider="aws"):
        _apply(plane, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        _apply(plane, NODE_CLASS, NODE_POOL)
        until(lambda: _is_ready(plane), "the node class is ready")
        plane.kubectl("apply", "-n", NAMESPACE, "-f", "-", given=json.dumps(inflate))
        try:
            until(lambda: _n_running(plane) == N_PODS, "all pods run")
            _check_nodes(plane, world)
            plane.kubectl("scale", "-n", NAMESPACE, "deployment/inflate", "--replicas=0")
            until(lambda: not world.instances(), "no instance is left", seconds=480)
            until(lambda: not objects(plane, "nodeclaims"), "no claim is left")
            plane.kubectl("delete", "nodepool,ec2nodeclass", "aws-default", "--timeout=240s")
            assert world.profiles() == []
            until(lambda: not world.templates(), "no launch template is left")
        finally:
            plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")
            plane.kubectl("delete", "--ignore-not-found", "--wait=false", "nodepool", "aws-default")


def _apply(plane: ControlPlane, *trees: Tree) -> None:
    plane.kubectl("apply", "--server-side", "-f", "-", given=json.dumps(listed(trees)))


def _is_ready(plane: ControlPlane) -> bool:
    ready = condition(one(plane, "ec2nodeclass", "aws-default"), "Ready")
    return ready.get("status") == "True"


def _n_running(plane: ControlPlane) -> int:
    pods = objects(plane, "pods", "-n", NAMESPACE)
    return sum(pod["status"]["phase"] == "Running" for pod in pods)


def _check_nodes(plane: ControlPlane, world: Ec2World) -> None:
    """Every instance is a node, and every node has an instance, a claim and the labels of both."""
    nodes = objects(plane, "nodes", "-l", "karpenter.sh/nodepool=aws-default")
    instances = {instance["InstanceId"]: instance for instance in world.instances()}
    assert world.refused == {}
    assert len(nodes) == len(instances)
    for node in nodes:
        instance = instances[node["spec"]["providerID"].rpartition("/")[2]]
        labels = node["metadata"]["labels"]
        assert labels["node.kubernetes.io/instance-type"] == instance["InstanceType"]
        assert labels["karpenter.sh/registered"] == "true"
        assert labels["karpenter.sh/capacity-type"] == "on-demand"
        tags = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
        assert tags["karpenter.sh/nodepool"] == "aws-default"
        assert tags["eks:eks-cluster-name"] == CLUSTER
