"""What watches for interruptions on the EC2 for tests, with all that it says kept."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from dovetail import labels
from dovetail.clock import Timer
from dovetail.cloud.context import ProviderContext
from dovetail.decide.lifecycle.step import Event
from dovetail.kube.seam import Body, Deletion, Json, Kube, Patch, Ref
from dovetail.model.ending import InstanceEnding
from dovetail.providers.aws.interruption.claims import NODE_CLAIM
from dovetail.providers.aws.interruption.handler import InterruptionHandler
from dovetail.providers.aws.interruption.instance_status import InstanceStatusChecks
from dovetail.providers.aws.interruption.queue import InterruptionQueue
from dovetail.providers.aws.interruption.zonal_shift import ZonalShifts
from tests.ec2.control import Ec2Control
from tests.ec2.provider.cloud import CLUSTER, POOL, AwsCloud, QuickTimer, aws_cloud, claim_body
from tests.ec2.setting import ZONES, Aws
from tests.ec2.status.bench import Lines

QUEUE = "interruptions"


@dataclass
class Counts:
    """Meters that keep what is counted."""

    counts: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    def count(self, name: str, /, **labels: str) -> None:
        """Keep it."""
        self.counts[" ".join((name.removeprefix("interruption_"), *labels.values()))] += 1

    def observe(self, name: str, seconds: float, /, **labels: str) -> None:
        """Keep it."""
        del name, labels
        self.seconds.append(seconds)


@dataclass
class Watch:
    """A provider's watchers, and what they said."""

    cloud: AwsCloud
    timer: Timer
    announced: list[InstanceEnding] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    lines: Lines = field(default_factory=Lines)
    meters: Counts = field(default_factory=Counts)
    n_changed: int = 0
    url: str = ""

    def __post_init__(self) -> None:
        """A queue that is empty, and those who watch."""
        self.context: ProviderContext[Kube] = ProviderContext(
            kube=self.cloud.kube,
            clock=self.cloud.clock,
            timer=self.timer,
            log=self.lines,
            tell=self.events.append,
            announce=self.announced.append,
            types_changed=self._changed,
            meters=self.meters,
        )
        self.make_queue()

    def _changed(self) -> None:
        self.n_changed += 1

    @property
    def sqs(self) -> Any:
        """The queue's service."""
        return self.cloud.aws.clients["sqs"]

    def make_queue(self) -> None:
        """Make the queue."""
        self.url = self.sqs.create_queue(QueueName=QUEUE)["QueueUrl"]

    def handler(self, *, replaces_rebalanced: bool = False) -> InterruptionHandler:
        """What acts."""
        catalogue = self.cloud.provider.catalogue
        return InterruptionHandler(
            self.context,
            catalogue.unavailable,
            catalogue.reservations,
            replaces_rebalanced=replaces_rebalanced,
        )

    def queue(self, *, replaces_rebalanced: bool = False) -> InterruptionQueue:
        """A reader of the queue that does not wait for messages."""
        handler = self.handler(replaces_rebalanced=replaces_rebalanced)
        return InterruptionQueue(self.context, self.cloud.apis.sqs, QUEUE, handler, wait_seconds=0)

    def checks(self) -> InstanceStatusChecks:
        """Whoever asks for the status of instances."""
        return InstanceStatusChecks(self.context, self.cloud.apis.ec2, self.handler())

    def shifts(self) -> ZonalShifts:
        """Whoever asks for zonal shifts."""
        return ZonalShifts(
            self.context,
            self.cloud.apis.zonal_shift,
            self.cloud.apis.eks,
            cluster_name=CLUSTER,
            source=self.cloud.inputs,
        )

    def send(self, *bodies: str) -> None:
        """Send messages, as EventBridge would."""
        for body in bodies:
            self.sqs.send_message(QueueUrl=self.url, MessageBody=body)

    def n_left(self) -> int:
        """How many messages are in the queue, those that somebody is at included."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        answer = self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=names)
        return sum(int(answer["Attributes"][name]) for name in names)

    def show_again(self) -> None:
        """Make every message visible, as SQS does when nobody deletes it in time."""
        attributes = {"VisibilityTimeout": "0"}
        self.sqs.set_queue_attributes(QueueUrl=self.url, Attributes=attributes)

    async def add_claim(
        self, name: str, instance: str, *, zone: str = ZONES[0], **stated: str
    ) -> str:
        """A claim that has that instance, spot unless stated; its UID."""
        body: Body = claim_body(name, (), {}, {})
        own: dict[str, Json] = {
            labels.INSTANCE_TYPE: "m5.large",
            labels.ZONE: zone,
            labels.CAPACITY_TYPE: labels.SPOT,
            labels.NODE_POOL: POOL.name,
            **stated,
        }
        metadata: dict[str, Json] = {"name": name, "labels": own, "finalizers": ["test/kept"]}
        made = json.loads(
            bytes(await self.cloud.kube.create(NODE_CLAIM, {**body, "metadata": metadata}))
        )
        status: Json = {"providerID": f"aws:///{zone}/{instance}", "nodeName": f"node-{name}"}
        patch = Patch({"status": status}, subresource="status")
        await self.cloud.kube.patch(Ref(NODE_CLAIM, name), patch)
        return str(made["metadata"]["uid"])

    async def delete_claim(self, name: str) -> None:
        """Delete a claim; its finalizer keeps it."""
        await self.cloud.kube.delete(Ref(NODE_CLAIM, name), Deletion())

    async def annotations(self, name: str) -> dict[str, str]:
        """The annotations of a claim."""
        raw = json.loads(bytes(await self.cloud.kube.get(Ref(NODE_CLAIM, name))))
        return dict(raw["metadata"].get("annotations", {}))

    @property
    def told(self) -> list[tuple[str, str, str]]:
        """Kind, name and reason of every event."""
        return [(event.kind, event.name, event.reason) for event in self.events]


@asynccontextmanager
async def watching(control: Ec2Control, aws: Aws) -> AsyncIterator[Watch]:
    """An empty cloud that is watched."""
    timer = QuickTimer()
    async with aws_cloud(control, aws, timer) as cloud:
        yield Watch(cloud, timer)
