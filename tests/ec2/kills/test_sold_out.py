"""No offering of a plan can be had: the next best is tried at once, then the pod says what is
unavailable where.
"""

from __future__ import annotations

import msgspec
import pytest

from dovetail.controllers.cache import NODE_CLAIM
from dovetail.kube.seam import Scope
from dovetail.observe.events import EVENT
from dovetail.testing import virtual_time
from tests.ec2.kills.scenarios import class_and_lasting_pool
from tests.ec2.kills.world import AwsWorld
from tests.ec2.setting import Aws
from tests.kills.world import living, running

pytestmark = pytest.mark.xdist_group("ec2")
EVERYWHERE = "us-west-2a, us-west-2b, us-west-2c"
WANT = f"unavailable: m5.large on-demand in {EVERYWHERE} and spot in {EVERYWHERE}"


class _Involved(msgspec.Struct):
    kind: str = ""


class _Event(msgspec.Struct, rename="camel"):
    reason: str
    message: str = ""
    involved_object: _Involved = msgspec.field(default_factory=_Involved)


async def warnings_of_pods(world: AwsWorld) -> set[str]:
    """Why pods are not scheduled, by the events on them."""
    page = await world.api.list(Scope(EVENT))
    events = [msgspec.json.decode(bytes(raw), type=_Event) for raw in page.items]
    return {
        event.message
        for event in events
        if event.involved_object.kind == "Pod" and event.reason == "FailedScheduling"
    }


async def without_capacity(aws: Aws) -> None:
    """Two pods, while EC2 has no instance of any kind; then it has one kind in one zone."""
    world = AwsWorld(aws)
    async with living(world), running(world):
        await class_and_lasting_pool(world)
        aws.control.set_capacity(0)
        n_before = len(aws.control.calls("CreateFleet"))
        await world.workload("web", 2, "1500m")
        await world.pass_(5)
        targets = [
            call.parameters["TargetCapacitySpecification"]["DefaultTargetCapacityType"]
            for call in aws.control.calls("CreateFleet")[n_before:]
        ]
        assert targets == ["spot", "on-demand"]
        assert await world.names(NODE_CLAIM) == []
        (message,) = await warnings_of_pods(world)
        assert WANT in message
        await world.pass_(60)
        assert len(aws.control.calls("CreateFleet")) == n_before + 2  # nothing is asked for in vain
        aws.control.set_capacity(None, zone="us-west-2b", capacity_type="on-demand")
        await world.pass_(180)
        assert len(await world.machines()) == 2


def test_every_offering_without_capacity_is_named_on_the_pod(aws: Aws) -> None:
    """And it is tried again after three minutes."""
    virtual_time.run(without_capacity(aws))
