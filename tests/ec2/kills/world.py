"""The world of `tests/kills` on AWS: its machines are instances of the EC2 for tests."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from dovetail import api
from dovetail.api.crds import crds
from dovetail.cloud.context import ProviderContext
from dovetail.cloud.provider import CloudProvider, CloudWorker
from dovetail.controllers.cache import NODE_CLAIM
from dovetail.kube.seam import Deletion, Json, Kube, Patch, Ref, Scope
from dovetail.providers.aws.node_class.definition import KIND
from dovetail.providers.aws.node_class.types import EC2NodeClass
from dovetail.providers.aws.plugin import PLUGIN
from dovetail.providers.aws.provider import AwsProvider
from dovetail.providers.aws.settings import AwsSettings
from dovetail.providers.aws.status.controller import NodeClassController
from dovetail.providers.aws.status.parts import ControllerOptions
from dovetail.sim import wire
from tests.ec2.control import REGION
from tests.ec2.kills.blocking import BlockingClient, blocking_apis, tell_time
from tests.ec2.kills.interruptions import QUEUE, QueueReader, n_messages
from tests.ec2.kubelet.join_request import ClusterFacts
from tests.ec2.kubelet.standin import Ec2Kubelets, Manner
from tests.ec2.kubelet.standin import World as Outside
from tests.ec2.provider.cloud import KnownCatalogue
from tests.ec2.setting import Aws
from tests.kills.mortal import Mortal
from tests.kills.world import HABITS, World, halfway, head
from tests.unit.providers.aws.interruption import texts

_CLUSTER = ClusterFacts("kills", "https://kills.example.com", "Y2E=", "172.20.0.0/16")
_SETTINGS = AwsSettings(
    cluster_name=_CLUSTER.name,
    cluster_endpoint=_CLUSTER.endpoint,
    cluster_ca_bundle=_CLUSTER.ca_bundle,
    region=REGION,
)
_DISCOVERY = {"karpenter.sh/discovery": _CLUSTER.name}
_ROLE = "KarpenterNodeRole-kills"
_FAMILIES = frozenset({"m5"})
_POLL_SECONDS = 3.0
_DEFINITIONS = tuple(crds((PLUGIN.extension,)))


class _SettledCatalogue(KnownCatalogue):
    """A catalogue that is not refreshed: that comes after twelve hours."""

    async def run(self) -> None:
        await asyncio.Event().wait()


class AwsWorld(World):
    """What outlives any process, in an account of AWS that is empty but for its network."""

    extensions = (PLUGIN.extension,)
    definitions = _DEFINITIONS
    class_kind = KIND

    def __init__(self, aws: Aws) -> None:
        super().__init__()
        self.aws = aws
        self.refused: dict[str, str] = {}  # why instances did not join
        self._clients: Mapping[str, Any] = aws.clients
        aws.control.reset()
        tell_time(aws.clients, self.time)
        _prepare(aws)

    def kubelets(self) -> CloudWorker:
        """Kubelets that join by the user data of their instances."""
        ec2: Any = BlockingClient(self.aws.ec2, Mortal())
        outside = Outside(self.time, self.time, halfway)
        manner = Manner(poll_seconds=_POLL_SECONDS, habits=HABITS)
        return Ec2Kubelets(self.api, ec2, _CLUSTER, outside, manner, refused=self.refused)

    def cloud(self, context: ProviderContext[Kube], mortal: Mortal) -> CloudProvider:
        """The provider of one process, as `opening.open_provider` makes it."""
        apis = blocking_apis(self._clients, mortal)
        source = _SettledCatalogue(
            apis, _SETTINGS, families=_FAMILIES, clock=self.time, timer=self.time
        )
        source.call_on_change(context.types_changed)
        options = ControllerOptions(catalogue=source.inputs)
        classes = NodeClassController(context, apis, _SETTINGS, options)
        provider = AwsProvider(context, apis, _SETTINGS, source=source, workers=(classes,))
        provider.employ(QueueReader(context, apis, provider, self.aws.clients["sqs"]))
        return provider

    # ---- what users do

    async def node_class(self, delay: str = "") -> None:
        """The node class."""
        del delay
        tags: list[Json] = [{"tags": dict(_DISCOVERY)}]
        spec: dict[str, Json] = {
            "role": _ROLE,
            "amiSelectorTerms": [{"alias": "al2023@latest"}],
            "subnetSelectorTerms": tags,
            "securityGroupSelectorTerms": tags,
        }
        await self.api.create(KIND, {**head(KIND, "default"), "spec": spec})

    async def amend_class(self, **changes: Json) -> None:
        """From now on instances are made otherwise."""
        await self.api.patch(Ref(KIND, "default"), Patch({"spec": changes}))

    async def warn(self) -> None:
        """EC2 takes all instances back in two minutes."""
        sqs = self.aws.clients["sqs"]
        url = sqs.create_queue(QueueName=QUEUE)["QueueUrl"]
        for place in sorted(self._instances()):
            body = texts.spot(place.rpartition("/")[2], sent_at=self.time.now())
            sqs.send_message(QueueUrl=url, MessageBody=body)

    def n_messages(self) -> int:
        """How many messages nobody has deleted."""
        return n_messages(self.aws.clients["sqs"])

    async def delete_class(self) -> None:
        """The node class is no longer wanted."""
        await self.api.delete(Ref(KIND, "default"), Deletion())

    # ---- what there is

    async def machines(self) -> dict[str, str]:
        """Every instance that is not terminated: the uid of the claim that names it."""
        page = await self.api.list(Scope(NODE_CLAIM))
        claims = [api.decode(api.NodeClaim, raw) for raw in page.items]
        uids = {claim.status.provider_id: claim.metadata.uid for claim in claims}
        return {
            place: uids.get(place, "")
            for place, instance in self._instances().items()
            if instance["State"]["Name"] != "terminated"
        }

    def tags(self) -> dict[str, dict[str, str]]:
        """The tags of every instance that is not terminated, by provider id."""
        return {
            place: {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
            for place, instance in self._instances().items()
            if instance["State"]["Name"] != "terminated"
        }

    def machines_made(self) -> dict[str, set[tuple[str, datetime]]]:
        """Every instance there ever was, by the uid of its claim; one without by its own id."""
        uids: dict[str, str] = {}
        for happened in self.history:
            if isinstance(happened.object, api.NodeClaim):
                uids[happened.object.status.provider_id] = happened.object.metadata.uid
        made: dict[str, set[tuple[str, datetime]]] = {}
        for place, instance in self._instances().items():
            key = uids.get(place, instance["InstanceId"])
            made.setdefault(key, set()).add((place, instance["LaunchTime"]))
        return made

    def _instances(self) -> dict[str, Any]:
        """Every instance that EC2 knows, by provider id."""
        pages = self.aws.ec2.get_paginator("describe_instances").paginate()
        return {
            f"aws:///{one['Placement']['AvailabilityZone']}/{one['InstanceId']}": one
            for page in pages
            for reservation in page["Reservations"]
            for one in reservation["Instances"]
        }

    async def leftovers(self) -> list[str]:
        """What is left of launches in AWS, and of classes: what is wrong with it."""
        templates = self.aws.ec2.describe_launch_templates()["LaunchTemplates"]
        complaints = [f"template {one['LaunchTemplateName']} is left" for one in templates]
        page = await self.api.list(Scope(KIND))
        classes = [api.decode(EC2NodeClass, raw) for raw in page.items]
        profiles = self.aws.clients["iam"].list_instance_profiles()["InstanceProfiles"]
        if len(profiles) != len(classes):
            complaints.append(f"there are {len(profiles)} profiles for {len(classes)} classes")
        for one in classes:
            if one.metadata.deletion_timestamp is not None:
                complaints.append("the node class never goes")
            elif not wire.is_true(one.status.conditions, "Ready"):
                complaints.append(f"the node class is not ready: {one.status.conditions}")
        return complaints


def _prepare(aws: Aws) -> None:
    """What an account has before the controller is installed."""
    subnets = [*aws.subnets().values()]
    groups = aws.ec2.describe_security_groups()["SecurityGroups"]
    group_id = next(one["GroupId"] for one in groups if one["GroupName"] == "default")
    tags = [{"Key": key, "Value": value} for key, value in _DISCOVERY.items()]
    aws.ec2.create_tags(Resources=[*subnets, group_id], Tags=tags)
    aws.clients["iam"].create_role(RoleName=_ROLE, AssumeRolePolicyDocument="{}")
    aws.clients["eks"].create_cluster(
        name=_CLUSTER.name,
        version="1.35",
        roleArn="arn:aws:iam::123456789012:role/cluster",
        resourcesVpcConfig={"subnetIds": subnets},
    )
