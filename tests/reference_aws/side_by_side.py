"""Runs the reference's controller and Dovetail, one after the other, on one cluster and EC2."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.controlplane.plane import ControlPlane
from tests.e2e.controller_logs import recorded
from tests.e2e.ec2_world import CLUSTER, ROLE, Ec2World
from tests.e2e.live import condition, free_port, objects, until
from tests.e2e.manifests import listed
from tests.reference_aws.combinations import (
    GROUP_NAME,
    IMAGE_TAG,
    NAMESPACE,
    OWN_IMAGE,
    OWN_PROFILE,
    PLACEMENT_GROUP,
    Account,
    Combination,
)
from tests.reference_aws.reference import ZONES, controller

Tree = dict[str, Any]

_KINDS = ("nodepools", "ec2nodeclasses", "nodeclaims", "nodes")
_NO_FINALIZERS = '{"metadata":{"finalizers":null}}'


@dataclass(frozen=True)
class Observed:
    """What one controller asked of EC2 and wrote to the API."""

    calls: list[Tree]
    node_classes: list[Tree]
    claims: list[Tree]
    nodes: list[Tree]
    instances: list[Tree]


def prepare(world: Ec2World) -> Account:
    """Add what the combinations name to the account."""
    ec2, iam = world.clients["ec2"], world.clients["iam"]
    (vpc,) = ec2.describe_vpcs()["Vpcs"]
    group = ec2.create_security_group(GroupName=GROUP_NAME, Description="-", VpcId=vpc["VpcId"])
    iam.create_instance_profile(InstanceProfileName=OWN_PROFILE)
    iam.add_role_to_instance_profile(InstanceProfileName=OWN_PROFILE, RoleName=ROLE)
    subnets = ec2.describe_subnets()["Subnets"]
    ec2.create_placement_group(GroupName=PLACEMENT_GROUP, Strategy="cluster")
    return Account(
        subnet=next(each["SubnetId"] for each in subnets if each["AvailabilityZone"] == ZONES[0]),
        group=group["GroupId"],
        image=world.control.add_image(OWN_IMAGE, tags=IMAGE_TAG),
        reservation=world.control.add_reservation("m5.2xlarge", ZONES[0], 5),
    )


@contextmanager
def reference(plane: ControlPlane, world: Ec2World) -> Iterator[int]:
    """The reference's controller for as long as the block lasts; the port of its metrics."""
    metrics, health = free_port(), free_port()
    log = plane.folder / f"reference-{metrics}.log"
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("AWS_")},
        **world.environment,
        "CLUSTER_NAME": CLUSTER,
        "CLUSTER_ENDPOINT": world.facts.endpoint,
        "CLUSTER_CA_BUNDLE": world.facts.ca_bundle,
        "SYSTEM_NAMESPACE": "kube-system",
        "KUBECONFIG": str(plane.kubeconfig),
        "DISABLE_LEADER_ELECTION": "true",
        "DISABLE_DRY_RUN": "true",
        "METRICS_PORT": str(metrics),
        "HEALTH_PROBE_PORT": str(health),
    }
    with log.open("wb") as sink:
        process = subprocess.Popen([controller()], stdout=sink, stderr=sink, env=environment)
    with recorded(log.stem, lambda: log.read_text(errors="replace")):
        try:
            until(lambda: _is_ready(process, health), "the reference is ready")
            yield metrics
            assert process.poll() is None, "the reference's controller has ended"
        finally:
            process.kill()
            process.wait()


def _is_ready(process: subprocess.Popen[bytes], port: int) -> bool:
    assert process.poll() is None, "the reference's controller has ended"
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=60):
            return True
    except OSError:
        return False


def apply(plane: ControlPlane, wanted: Iterable[Combination]) -> None:
    """Create the objects of combinations."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    trees = [namespace, *(tree for each in wanted for tree in each.manifests())]
    plane.kubectl("apply", "--server-side", "-f", "-", given=json.dumps(listed(trees)))


def unsettled(plane: ControlPlane, wanted: tuple[Combination, ...]) -> list[str]:
    """What is still missing, in words."""
    classes = {each["metadata"]["name"]: each for each in objects(plane, "ec2nodeclasses")}
    claims = {each["metadata"]["labels"][_POOL]: each for each in objects(plane, "nodeclaims")}
    missing = []
    for each in wanted:
        ready = condition(classes[each.name], "Ready").get("status")
        if ready not in ("True", "False") or (each.launches and ready != "True"):
            missing.append(f"{each.name}: Ready is {ready}")
        claim = claims.get(each.name, {})
        reached = "Registered" if each.joins else "Launched"
        if each.launches and condition(claim, reached).get("status") != "True":
            missing.append(f"{each.name}: the claim is not {reached}")
        elif each.launches and each.joins and not _is_tagged(claim):
            missing.append(f"{each.name}: the instance is not tagged")
    return missing


_POOL = "karpenter.sh/nodepool"


def _is_tagged(claim: Tree) -> bool:
    tagged: str = claim["metadata"].get("annotations", {}).get("karpenter.k8s.aws/tagged", "")
    return tagged == "true"


def observe(plane: ControlPlane, world: Ec2World, *, after: int = 0) -> Observed:
    """What there is now, with the calls since the one of this number."""
    calls = world.control.calls(after=after)
    return Observed(
        calls=[{"action": each.action, "parameters": dict(each.parameters)} for each in calls],
        node_classes=objects(plane, "ec2nodeclasses"),
        claims=objects(plane, "nodeclaims"),
        nodes=objects(plane, "nodes"),
        instances=json.loads(json.dumps(world.instances(), default=str)),
    )


def clear(plane: ControlPlane, world: Ec2World, *, namespace: str = NAMESPACE) -> None:
    """Remove everything that a controller made, and the manifests, while no controller runs."""
    plane.kubectl("delete", "pods", "-n", namespace, "--all", "--force", "--grace-period=0")
    for instance in world.instances():
        world.control.terminate(instance["InstanceId"])
    for kind in _KINDS:
        plane.kubectl("delete", kind, "--all", "--wait=false")
        names = [each["metadata"]["name"] for each in objects(plane, kind)]
        if names:
            words = ("--type=merge", "-p", _NO_FINALIZERS)
            plane.kubectl("patch", kind, *names, *words, check=False)
    until(lambda: not any(objects(plane, kind) for kind in _KINDS), "the cluster is empty")
    until(lambda: not world.instances(), "no instance is left")
    for template in world.templates():
        world.clients["ec2"].delete_launch_template(LaunchTemplateName=template)
    for profile in set(world.profiles()) - {OWN_PROFILE}:
        iam = world.clients["iam"]
        iam.remove_role_from_instance_profile(InstanceProfileName=profile, RoleName=ROLE)
        iam.delete_instance_profile(InstanceProfileName=profile)
