"""An AWS provider on the EC2 for tests, with the in-memory API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import msgspec

from dovetail import api, labels
from dovetail.apiserver import MemoryKube
from dovetail.clock import LoopTimer, Timer
from dovetail.cloud.context import ProviderContext, ignore_change, ignore_ending, no_types
from dovetail.cloud.errors import SoldOut
from dovetail.decide.lifecycle import garbage
from dovetail.decide.lifecycle.step import DeleteInstance
from dovetail.kube.seam import Body, Deletion, Json, Kube, Patch, Ref, Scope
from dovetail.model.claim import ClaimObject, InstanceRecord
from dovetail.model.ending import InstanceEnding
from dovetail.model.instance import InstanceType
from dovetail.model.pool import NodeClassRef, NodePool
from dovetail.model.requirements import Requirement
from dovetail.providers.aws.apis import AwsApis, connect
from dovetail.providers.aws.catalogue.offline import offline_inputs
from dovetail.providers.aws.catalogue.source import CatalogueSource
from dovetail.providers.aws.node_class.definition import KIND
from dovetail.providers.aws.provider import AwsProvider
from dovetail.providers.aws.settings import AwsSettings
from dovetail.providers.aws.status.objects import NODE_CLASS
from dovetail.state.objects import claim_object
from dovetail.units import quantity
from tests.ec2.control import REGION, Ec2Control
from tests.ec2.setting import AL2023, ZONES, Aws

CLUSTER = "test-cluster"
FAMILIES = frozenset({"t3", "t4g", "m5", "c5", "p3"})
NODE_CLAIM = api.KINDS[labels.GROUP, "NodeClaim"]
POOL = NodePool("default", node_class=NodeClassRef(labels.AWS_GROUP, "EC2NodeClass", "default"))
SETTINGS = AwsSettings(
    cluster_name=CLUSTER,
    cluster_endpoint="https://cluster.example.com",
    cluster_ca_bundle="Y2E=",
    region=REGION,
)


class QuickTimer:
    """A timer for which no time is long."""

    def elapsed_seconds(self) -> float:
        """Seconds of the event loop."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Let others run."""
        del seconds
        await asyncio.sleep(0)


class Ec2Clock:
    """The clock of the EC2 for tests, as it was last set."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def now(self) -> datetime:
        """The present moment."""
        return self._now

    def advance(self, span: timedelta) -> None:
        """Let time pass."""
        self._now += span


class KnownCatalogue(CatalogueSource):
    """What the EC2 for tests would answer, which takes half a minute to read: a few families."""

    def __init__(self, *arguments: Any, families: frozenset[str] = FAMILIES, **others: Any) -> None:
        super().__init__(*arguments, **others)
        known = offline_inputs(ZONES)
        machines = tuple(one for one in known.machines if one.family in families)
        self._inputs = msgspec.structs.replace(known, machines=machines)


class AwsCloud:
    """A provider, and everything around it."""

    def __init__(self, control: Ec2Control, aws: Aws, apis: AwsApis, timer: Timer) -> None:
        self.control = control
        self.aws = aws
        self.apis = apis
        self.timer = timer
        self.clock = Ec2Clock(control.now())
        self.kube: Kube = MemoryKube(self.clock)
        self.pool = POOL
        self.inputs = KnownCatalogue(apis, SETTINGS, clock=self.clock, timer=timer)
        self.group = ""

    async def set_up(self) -> None:
        """Make the node class."""
        (vpc,) = self.aws.ec2.describe_vpcs()["Vpcs"]
        made = self.aws.ec2.create_security_group(
            GroupName="nodes", Description="nodes", VpcId=vpc["VpcId"]
        )
        self.group = str(made["GroupId"])
        self.aws.clients["iam"].create_instance_profile(InstanceProfileName="nodes")
        await self.kube.create(KIND, node_class_body())
        await self.set_status()
        self.provider = self.restarted()

    async def set_status(self, **changes: Json) -> None:
        """Write the status of the node class, as its controller would."""
        subnets = self.aws.ec2.describe_subnets()["Subnets"]
        status: dict[str, Json] = {
            "subnets": [
                {
                    "id": one["SubnetId"],
                    "zone": one["AvailabilityZone"],
                    "zoneID": one["AvailabilityZoneId"],
                }
                for one in subnets
            ],
            "securityGroups": [{"id": self.group, "name": "nodes"}],
            "amis": [self._ami("x86_64", "amd64"), self._ami("arm64", "arm64")],
            "instanceProfile": "nodes",
            "conditions": [ready("True")],
            **changes,
        }
        await self.kube.patch(Ref(KIND, "default"), Patch({"status": status}, subresource="status"))

    def _ami(self, architecture: str, arch: str) -> Json:
        plain: list[Json] = [
            {"key": f"{labels.AWS_GROUP}/instance-{device}-count", "operator": "DoesNotExist"}
            for device in ("gpu", "accelerator")
        ]
        return {
            "id": self.aws.image(architecture),
            "name": f"al2023-{arch}",
            "requirements": [{"key": labels.ARCH, "operator": "In", "values": [arch]}, *plain],
        }

    async def set_spec(self, **changes: Json) -> None:
        """Change the spec of the node class, and let its status follow."""
        await self.kube.patch(Ref(NODE_CLASS, "default"), Patch({"spec": {**changes}}))
        await self.set_status(conditions=[ready("True", 2)])

    def restarted(
        self,
        *,
        apis: AwsApis | None = None,
        kube: Kube | None = None,
        announce: Callable[[InstanceEnding], None] = ignore_ending,
        planned_types: Callable[[str], tuple[InstanceType, ...]] = no_types,
        types_changed: Callable[[], None] = ignore_change,
    ) -> AwsProvider:
        """Another provider of the same cloud."""
        context = ProviderContext(
            kube=kube or self.kube,
            clock=self.clock,
            timer=self.timer,
            announce=announce,
            planned_types=planned_types,
            types_changed=types_changed,
        )
        return AwsProvider(context, apis or self.apis, SETTINGS, source=self.inputs)

    async def claim(
        self,
        name: str,
        *requirements: Requirement,
        requests: Mapping[str, int] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> ClaimObject:
        """A claim of the pool, as the API server stores it."""
        body = claim_body(name, requirements, requests or {}, annotations or {})
        return claim_object(api.decode(api.NodeClaim, await self.kube.create(NODE_CLAIM, body)))

    async def read_claim(self, name: str) -> ClaimObject:
        """The claim as the API has it now."""
        return claim_object(api.decode(api.NodeClaim, await self.kube.get(Ref(NODE_CLAIM, name))))

    async def sell_out(self, offering: SoldOut) -> None:
        """From now on, that offering cannot be had."""
        capacity_type: Any = offering.capacity_type
        self.control.set_capacity(
            0,
            instance_type=offering.instance_type,
            zone=offering.zone,
            capacity_type=capacity_type,
        )

    async def settle(self) -> None:
        """Let a minute pass."""
        self.advance(timedelta(minutes=1))

    def advance(self, span: timedelta) -> None:
        """Let time pass."""
        self.control.advance(span)
        self.clock.advance(span)

    async def moment(self) -> None:
        """A call to AWS takes some of these."""
        await asyncio.sleep(0.002)

    def n_instances(self) -> int:
        """How many instances were ever launched, and are still known to EC2."""
        pages = self.aws.ec2.get_paginator("describe_instances").paginate()
        return sum(len(one["Instances"]) for page in pages for one in page["Reservations"])

    def running(self) -> list[str]:
        """The ids of instances that are paid for."""
        pages = self.aws.ec2.get_paginator("describe_instances").paginate(
            Filters=[{"Name": "instance-state-name", "Values": ["pending", "running"]}]
        )
        return sorted(
            one["InstanceId"]
            for page in pages
            for part in page["Reservations"]
            for one in part["Instances"]
        )

    async def delete_claim(self, name: str) -> None:
        """Delete a claim, and let it go."""
        await self.kube.delete(Ref(NODE_CLAIM, name), Deletion())

    async def collect_garbage(self) -> None:
        """Terminate instances without a claim, as the controller does."""
        provider = self.restarted()
        instances = tuple(
            InstanceRecord(
                provider_id=one.provider_id,
                node_claim=one.node_claim,
                node_claim_uid=one.node_claim_uid,
                created_at=one.created_at,
                is_terminating=one.is_terminating,
            )
            for one in await provider.list()
        )
        page = await self.kube.list(Scope(NODE_CLAIM))
        claims = tuple(claim_object(api.decode(api.NodeClaim, raw)) for raw in page.items)
        found = garbage.step(garbage.GarbageView(claims, (), instances), self.clock.now())
        for action in found.actions:
            assert isinstance(action, DeleteInstance), action
            await provider.delete(action.provider_id)


def ready(status: str, generation: int = 1) -> Json:
    """The condition of a node class."""
    return {
        "type": "Ready",
        "status": status,
        "reason": "Ready",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "observedGeneration": generation,
    }


def node_class_body(**spec: Json) -> Body:
    """An EC2NodeClass."""
    return {
        "apiVersion": KIND.api_version,
        "kind": KIND.name,
        "metadata": {"name": "default"},
        "spec": {
            "amiFamily": "AL2023",
            "amiSelectorTerms": [{"alias": "al2023@latest"}],
            "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": CLUSTER}}],
            "securityGroupSelectorTerms": [{"tags": {"karpenter.sh/discovery": CLUSTER}}],
            "instanceProfile": "nodes",
            **spec,
        },
    }


def claim_body(
    name: str,
    requirements: Iterable[Requirement],
    requests: Mapping[str, int],
    annotations: Mapping[str, str],
) -> Body:
    """A NodeClaim."""
    wanted: list[Json] = [
        {
            "key": key,
            "operator": str(operator),
            "values": [*values],
            **({"minValues": least} if least else {}),
        }
        for one in requirements
        for key, operator, values, least in one.wire()
    ]
    return {
        "apiVersion": NODE_CLAIM.api_version,
        "kind": NODE_CLAIM.name,
        "metadata": {
            "name": name,
            "labels": {labels.NODE_POOL: POOL.name, "team": "a"},
            "annotations": {"example.com/note": "kept", **annotations},
        },
        "spec": {
            "nodeClassRef": {
                "group": POOL.node_class.group,
                "kind": POOL.node_class.kind,
                "name": POOL.node_class.name,
            },
            "requirements": wanted,
            "resources": {
                "requests": {key: quantity.render(key, amount) for key, amount in requests.items()}
            },
        },
    }


@asynccontextmanager
async def aws_cloud(
    control: Ec2Control, aws: Aws, timer: Timer | None = None
) -> AsyncIterator[AwsCloud]:
    """An empty cloud with a node class that is ready."""
    aws.clients["eks"].create_cluster(
        name=CLUSTER,
        version="1.35",
        roleArn="arn:aws:iam::123456789012:role/cluster",
        resourcesVpcConfig={"subnetIds": [*aws.subnets().values()]},
    )
    async with connect(region=REGION, pricing_region="us-east-1", endpoint_url=control.url) as apis:
        cloud = AwsCloud(control, aws, apis, timer or QuickTimer())
        await cloud.set_up()
        yield cloud


__all__ = ["AL2023", "ZONES", "AwsCloud", "LoopTimer", "aws_cloud"]
