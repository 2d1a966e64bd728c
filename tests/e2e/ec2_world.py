"""An EC2 beside a real control plane, with kubelets that join by the user data of instances."""

from __future__ import annotations

import asyncio
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from botocore.config import Config
from botocore.session import get_session

from dovetail.clock import LoopTimer, SystemClock
from dovetail.providers.aws.apis import connect
from tests.conformance.kube.real import HttpServer
from tests.controlplane.plane import ControlPlane
from tests.ec2.control import REGION, Ec2Control
from tests.ec2.kubelet.join_request import ClusterFacts
from tests.ec2.kubelet.standin import Ec2Kubelets, World
from tests.ec2.process import running

CLUSTER = "karpenter-demo"
ROLE = f"KarpenterNodeRole-{CLUSTER}"
DISCOVERY = [{"Key": "karpenter.sh/discovery", "Value": CLUSTER}]
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": REGION}
_ALIVE = ["pending", "running", "stopping", "stopped", "shutting-down"]


@dataclass
class Ec2World:
    """An account with a cluster, and the kubelets of its instances."""

    plane: ControlPlane
    control: Ec2Control
    clients: dict[str, Any]
    facts: ClusterFacts
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def flags(self) -> tuple[str, ...]:
        """What a controller has to be told of the cluster."""
        return (
            *("--cluster-name", CLUSTER),
            *("--cluster-endpoint", self.facts.endpoint),
            *("--cluster-ca-bundle", self.facts.ca_bundle),
        )

    @property
    def environment(self) -> dict[str, str]:
        """How AWS is reached."""
        return {**CREDENTIALS, "AWS_ENDPOINT_URL": self.control.url}

    def instances(self) -> list[dict[str, Any]]:
        """Every instance that is not terminated."""
        states = [{"Name": "instance-state-name", "Values": _ALIVE}]
        pages = self.clients["ec2"].get_paginator("describe_instances").paginate(Filters=states)
        return [
            instance
            for page in pages
            for reservation in page["Reservations"]
            for instance in reservation["Instances"]
        ]

    def templates(self) -> list[str]:
        """The names of launch templates."""
        answer = self.clients["ec2"].describe_launch_templates()
        return [template["LaunchTemplateName"] for template in answer["LaunchTemplates"]]

    def profiles(self) -> list[str]:
        """The names of instance profiles."""
        answer = self.clients["iam"].list_instance_profiles()
        return [profile["InstanceProfileName"] for profile in answer["InstanceProfiles"]]


@contextmanager
def ec2_world(plane: ControlPlane) -> Iterator[Ec2World]:
    """An EC2 whose instances join this control plane, for as long as the block lasts."""
    with running() as control:
        control.follow_real_time()
        world = Ec2World(plane, control, _clients(control.url), _facts(plane))
        _set_up(world)
        with _kubelets(world):
            yield world


def _facts(plane: ControlPlane) -> ClusterFacts:
    authority = b64encode((plane.folder / "ca.crt").read_bytes()).decode()
    return ClusterFacts(CLUSTER, plane.url, authority, "")


def _clients(url: str) -> dict[str, Any]:
    config = Config(retries={"total_max_attempts": 1}, connect_timeout=60, read_timeout=60)
    session = get_session()
    return {
        name: session.create_client(
            name,
            region_name=REGION,
            endpoint_url=url,
            aws_access_key_id="test",
            aws_secret_access_key="test",  # noqa: S106 -- any will do
            config=config,
        )
        for name in ("ec2", "eks", "iam", "sqs")
    }


def _set_up(world: Ec2World) -> None:
    """What the getting-started guide has made before Karpenter is installed."""
    ec2, iam, eks = (world.clients[name] for name in ("ec2", "iam", "eks"))
    subnets = [subnet["SubnetId"] for subnet in ec2.describe_subnets()["Subnets"]]
    (vpc,) = ec2.describe_vpcs()["Vpcs"]
    group = ec2.create_security_group(GroupName="nodes", Description="-", VpcId=vpc["VpcId"])
    ec2.create_tags(Resources=[*subnets, group["GroupId"]], Tags=DISCOVERY)
    role = iam.create_role(RoleName=ROLE, AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    eks.create_cluster(
        name=CLUSTER, version="1.35", roleArn=role, resourcesVpcConfig={"subnetIds": subnets}
    )
    told = eks.describe_cluster(name=CLUSTER)["cluster"]
    cidr = told["kubernetesNetworkConfig"]["serviceIpv4Cidr"]
    world.facts = ClusterFacts(CLUSTER, world.facts.endpoint, world.facts.ca_bundle, cidr)


@contextmanager
def _kubelets(world: Ec2World) -> Iterator[None]:
    """Kubelets in a thread of their own."""
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(_tend(world, stop),))
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


async def _tend(world: Ec2World, stop: asyncio.Event) -> None:
    outside = World(SystemClock(), LoopTimer(), Random(1).random)  # noqa: S311 -- no secret
    url = world.control.url
    async with (
        HttpServer(world.plane).open() as kube,
        connect(region=REGION, pricing_region=REGION, endpoint_url=url) as apis,
        asyncio.TaskGroup() as group,
    ):
        kubelets = Ec2Kubelets(kube, apis.ec2, world.facts, outside, refused=world.refused)
        task = group.create_task(kubelets.run())
        await stop.wait()
        task.cancel()
