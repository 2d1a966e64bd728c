"""A controller of EC2NodeClass on an API server in memory and the EC2 for tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import Any

from aiobotocore.config import AioConfig
from aiobotocore.session import AioSession, get_session

from dovetail import api
from dovetail.apiserver import MemoryKube
from dovetail.cloud.context import ProviderContext
from dovetail.decide.lifecycle.step import Event
from dovetail.kube.errors import NotFoundError
from dovetail.kube.seam import Body, Deletion, Json, Kube, Patch, Ref, Scope
from dovetail.providers.aws.apis import USER_AGENT, AwsApis
from dovetail.providers.aws.catalogue.inputs import CatalogueInputs
from dovetail.providers.aws.catalogue.machines import packaged_prices, packaged_types
from dovetail.providers.aws.node_class.types import EC2NodeClass
from dovetail.providers.aws.settings import AwsSettings
from dovetail.providers.aws.status.controller import NodeClassController
from dovetail.providers.aws.status.objects import NODE_CLAIM, NODE_CLASS, NODE_POOL
from dovetail.providers.aws.status.parts import ControllerOptions
from dovetail.testing.virtual_time import VirtualTime
from tests.ec2.control import REGION, Ec2Control
from tests.ec2.setting import ZONES, Aws

CLUSTER = "prod"
ROLE = "KarpenterNodeRole-prod"
DISCOVERY = {"karpenter.sh/discovery": CLUSTER}
SETTINGS = AwsSettings(
    cluster_name=CLUSTER,
    cluster_endpoint="https://prod.example",
    cluster_ca_bundle="Y2E=",
    region=REGION,
)
SPEC: dict[str, Json] = {
    "amiSelectorTerms": [{"alias": "al2023@latest"}],
    "subnetSelectorTerms": [{"tags": dict(DISCOVERY)}],
    "securityGroupSelectorTerms": [{"tags": dict(DISCOVERY)}],
    "role": ROLE,
}
DEPENDENTS = (
    "AMIsReady",
    "CapacityReservationsReady",
    "PlacementGroupReady",
    "SubnetsReady",
    "SecurityGroupsReady",
    "InstanceProfileReady",
    "ValidationSucceeded",
)


@cache
def catalogue() -> CatalogueInputs:
    """Every packaged type, in all zones."""
    machines = packaged_types()
    return CatalogueInputs(
        machines=machines,
        region=REGION,
        zones={machine.name: ZONES for machine in machines},
        on_demand_nanousd=packaged_prices(),
    )


@cache
def sdk() -> AioSession:
    """What clients are made of; it keeps the service models, which are large."""
    return get_session()


@asynccontextmanager
async def clients(control: Ec2Control) -> AsyncIterator[AwsApis]:
    """Clients of the provider; each call is made once, so that an ordered fault is seen."""
    config = AioConfig(
        retries={"total_max_attempts": 1},
        connect_timeout=60,
        read_timeout=60,
        user_agent_extra=USER_AGENT,
    )
    async with AsyncExitStack() as stack:

        async def client(service: str) -> Any:
            made = sdk().create_client(
                service,
                region_name=REGION,
                endpoint_url=control.url,
                aws_access_key_id="test",
                aws_secret_access_key="test",  # noqa: S106 -- any will do
                config=config,
            )
            return await stack.enter_async_context(made)

        ec2 = await client("ec2")
        yield AwsApis(
            ec2=ec2,
            ec2_once=ec2,
            eks=await client("eks"),
            iam=await client("iam"),
            pricing=await client("pricing"),
            sqs=await client("sqs"),
            ssm=await client("ssm"),
            zonal_shift=await client("arc-zonal-shift"),
        )


@dataclass
class Lines:
    """A log that keeps its lines."""

    lines: list[str] = field(default_factory=list)

    def debug(self, message: str, /, **fields: object) -> None:
        """Keep it."""
        self.lines.append(f"{message} {fields}")

    def error(self, message: str, /, **fields: object) -> None:
        """Keep it."""
        self.lines.append(f"{message} {fields}")

    def info(self, message: str, /, **fields: object) -> None:
        """Keep it."""
        self.lines.append(f"{message} {fields}")

    def warning(self, message: str, /, **fields: object) -> None:
        """Keep it."""
        self.lines.append(f"{message} {fields}")


class NodeClassBench:
    """One controller with all that is around it."""

    def __init__(
        self,
        aws: Aws,
        apis: AwsApis,
        settings: AwsSettings,
        *,
        is_checked: bool = True,
        **options: Any,
    ) -> None:
        self.aws = aws
        self.control = aws.control
        self.time = VirtualTime(start=aws.control.now())
        self.kube = MemoryKube(self.time, definitions=None if is_checked else ())
        self.apis = apis
        self.settings = settings
        self.log = Lines()
        self.told: list[Event] = []
        self.options = ControllerOptions(**{"catalogue": catalogue, **options})
        self.controller = self.started_anew()

    def started_anew(self) -> NodeClassController:
        """Another controller, as after a restart: it remembers nothing."""
        context: ProviderContext[Kube] = ProviderContext(
            self.kube, self.time, self.time, log=self.log, tell=self.told.append
        )
        self.controller = NodeClassController(context, self.apis, self.settings, self.options)
        return self.controller

    # ------------------------------------------------------------ objects

    async def create(self, class_name: str = "default", /, **changes: Json) -> None:
        """Make a class: the usual one with other fields; None leaves one out."""
        spec: dict[str, Json] = {
            key: value for key, value in {**SPEC, **changes}.items() if value is not None
        }
        await self.kube.create(NODE_CLASS, _object(NODE_CLASS, {"name": class_name}, spec))

    async def change(self, name: str = "default", /, **changes: Json) -> None:
        """Change the spec of a class."""
        await self.kube.patch(Ref(NODE_CLASS, name), Patch(body={"spec": changes}))

    async def annotate(self, name: str = "default", /, **annotations: Json) -> None:
        """Annotate a class."""
        body: Body = {"metadata": {"annotations": annotations}}
        await self.kube.patch(Ref(NODE_CLASS, name), Patch(body=body))

    @staticmethod
    def without_status(**status: Json) -> tuple[Ref, Patch]:
        """A write that leaves nothing of the status but this."""
        empty: dict[str, Json] = dict.fromkeys(
            ("amis", "subnets", "securityGroups", "instanceProfile", "conditions")
        )
        body: Body = {"status": {**empty, **status}}
        return Ref(NODE_CLASS, "default"), Patch(body=body, subresource="status")

    async def delete(self, name: str = "default") -> None:
        """Delete a class; it stays while its finalizer is there."""
        await self.kube.delete(Ref(NODE_CLASS, name), Deletion())

    async def node_class(self, name: str = "default") -> EC2NodeClass:
        """The class as the API has it."""
        return api.decode(EC2NodeClass, bytes(await self.kube.get(Ref(NODE_CLASS, name))))

    async def exists(self, name: str = "default") -> bool:
        """Whether there is such a class."""
        try:
            await self.kube.get(Ref(NODE_CLASS, name))
        except NotFoundError:
            return False
        return True

    async def create_claim(
        self, name: str, node_class: str = "default", annotations: Mapping[str, str] | None = None
    ) -> None:
        """Make a NodeClaim of a class."""
        reference: Json = {
            "group": NODE_CLASS.group, "kind": NODE_CLASS.name, "name": node_class,
        }  # fmt: skip
        meta: dict[str, Json] = {"name": name, "annotations": dict(annotations or {})}
        spec: Json = {"nodeClassRef": reference, "requirements": []}
        await self.kube.create(NODE_CLAIM, _object(NODE_CLAIM, meta, spec))

    async def claim(self, name: str) -> api.NodeClaim:
        """The claim as the API has it."""
        return api.decode(api.NodeClaim, bytes(await self.kube.get(Ref(NODE_CLAIM, name))))

    async def create_pool(self, name: str, requirements: Sequence[Json]) -> None:
        """Make a NodePool of the class `default`."""
        reference: Json = {
            "group": NODE_CLASS.group, "kind": NODE_CLASS.name, "name": "default",
        }  # fmt: skip
        template: Json = {"spec": {"nodeClassRef": reference, "requirements": [*requirements]}}
        body = _object(NODE_POOL, {"name": name}, {"template": template})
        await self.kube.create(NODE_POOL, body)

    # ------------------------------------------------------------ passes

    async def look(self, name: str = "default") -> timedelta:
        """One pass over a class with everything known; when the next one is due."""
        async with asyncio.TaskGroup() as group:
            following = group.create_task(self.controller.objects.run())
            await self._caught_up()
            again_after = await self.controller.look_at(name)
            following.cancel()
        return again_after

    async def known(self) -> None:
        """Let the controller know all objects as they are."""
        async with asyncio.TaskGroup() as group:
            following = group.create_task(self.controller.objects.run())
            await self._caught_up()
            following.cancel()

    async def _caught_up(self) -> None:
        """Return once the controller knows the classes and claims as they are."""
        objects = self.controller.objects
        await objects.wait_in_sync()
        wanted = {kind: await self._versions(kind) for kind in (NODE_CLASS, NODE_CLAIM)}
        got: dict[api.Kind, dict[str, str]] = {}
        for _ in range(1000):
            got = {NODE_CLASS: _of(objects.classes()), NODE_CLAIM: _of(objects.claims())}
            if got == wanted:
                return
            await asyncio.sleep(0)
        msg = f"the controller knows {got}, and the API has {wanted}"
        raise AssertionError(msg)

    async def _versions(self, kind: api.Kind) -> dict[str, str]:
        page = await self.kube.list(Scope(kind))
        return _of([api.decode(api.Object, bytes(raw)) for raw in page.items])

    async def advance(self, span: timedelta) -> None:
        """Let time pass, here and in EC2."""
        self.control.advance(span)
        await self.time.advance(span)

    # ------------------------------------------------------------ what came of it

    async def condition(self, name: str, node_class: str = "default") -> api.Condition:
        """A condition of a class."""
        found = await self.node_class(node_class)
        return next(one for one in found.status.conditions if one.type == name)

    async def reason(self, name: str) -> tuple[str, str]:
        """Status and reason of a condition of the class `default`."""
        condition = await self.condition(name)
        return condition.status, condition.reason

    def events(self) -> list[tuple[str, str, str]]:
        """Type, reason and message of every event."""
        return [(event.type, event.reason, event.message) for event in self.told]

    def profiles(self) -> dict[str, list[str]]:
        """The roles in each instance profile of IAM, by name."""
        listed = self.aws.clients["iam"].list_instance_profiles()["InstanceProfiles"]
        return {
            one["InstanceProfileName"]: [role["RoleName"] for role in one["Roles"]]
            for one in listed
        }

    def actions(self, *names: str) -> list[str]:
        """The calls of these actions, in order."""
        return [call.action for call in self.control.calls() if call.action in names]


def _of(objects: Sequence[api.Object]) -> dict[str, str]:
    return {one.metadata.name: one.metadata.resource_version for one in objects}


def _object(kind: api.Kind, meta: dict[str, Json], spec: Json) -> Body:
    return {
        "apiVersion": kind.api_version, "kind": kind.name, "metadata": meta, "spec": spec,
    }  # fmt: skip


@asynccontextmanager
async def node_class_bench(
    aws: Aws, settings: AwsSettings = SETTINGS, **options: Any
) -> AsyncIterator[NodeClassBench]:
    """A bench with a cluster, three subnets, a security group and the role of nodes. With
    `is_checked` False the API server has no definitions, as if those of another release.
    """
    _prepare(aws)
    async with clients(aws.control) as apis:
        yield NodeClassBench(aws, apis, settings, **options)


def _prepare(aws: Aws) -> None:
    tags = [{"Key": key, "Value": value} for key, value in DISCOVERY.items()]
    subnets = aws.subnets()
    groups = aws.ec2.describe_security_groups()["SecurityGroups"]
    group_id = next(one["GroupId"] for one in groups if one["GroupName"] == "default")
    aws.ec2.create_tags(Resources=[*subnets.values(), group_id], Tags=tags)
    iam = aws.clients["iam"]
    iam.create_role(RoleName=ROLE, AssumeRolePolicyDocument="{}")
    iam.create_role(RoleName="other", AssumeRolePolicyDocument="{}")
    aws.clients["eks"].create_cluster(
        name=CLUSTER,
        version="1.35",
        roleArn="arn:aws:iam::123456789012:role/cluster",
        resourcesVpcConfig={"subnetIds": list(subnets.values())},
    )
