"""Nothing is launched in a zone that the cluster's traffic has left."""

from __future__ import annotations

import json

import pytest

from dovetail import api, labels
from dovetail.kube.seam import Body, Json
from tests.ec2.control import Ec2Control
from tests.ec2.interruption.bench import Watch, watching
from tests.ec2.provider.cloud import POOL
from tests.ec2.setting import ZONES, Aws

pytestmark = pytest.mark.xdist_group("ec2")
NODE_POOL = api.KINDS[labels.GROUP, "NodePool"]


async def open_zones(watch: Watch) -> list[str]:
    """The zones in which something can be launched."""
    types = await watch.cloud.restarted().instance_types(POOL)
    offerings = [offering for one in types for offering in one.offerings if offering.is_available]
    return sorted({offering.zone for offering in offerings})


def zone_ids(aws: Aws) -> dict[str, str]:
    """The ids of zones, by name."""
    subnets = aws.ec2.describe_subnets()["Subnets"]
    return {one["AvailabilityZone"]: one["AvailabilityZoneId"] for one in subnets}


async def add_pool(watch: Watch) -> None:
    """A NodePool, to tell."""
    spec: dict[str, Json] = {
        "template": {
            "spec": {
                "nodeClassRef": {
                    "group": labels.AWS_GROUP,
                    "kind": "EC2NodeClass",
                    "name": "default",
                },
                "requirements": [],
            }
        }
    }
    body: Body = {
        "apiVersion": NODE_POOL.api_version,
        "kind": NODE_POOL.name,
        "metadata": {"name": "default"},
        "spec": spec,
    }
    json.loads(bytes(await watch.cloud.kube.create(NODE_POOL, body)))


async def test_a_zone_is_left_while_its_shift_lasts(control: Ec2Control, aws: Aws) -> None:
    """One whose shift has ended is used again although another is still shifted."""
    async with watching(control, aws) as watch:
        await add_pool(watch)
        ids, shifts = zone_ids(aws), watch.shifts()
        await shifts.ask()
        assert await open_zones(watch) == [*ZONES]
        assert watch.told == []
        a, b, c = ZONES
        control.shift_zones([ids[a]], by_itself=[ids[b]])
        await shifts.ask()
        assert await open_zones(watch) == [c]
        control.shift_zones([ids[a]])
        await shifts.ask()
        assert await open_zones(watch) == [b, c]
        control.shift_zones()
        await shifts.ask()
        assert await open_zones(watch) == [a, b, c]
        assert [reason for _, _, reason in watch.told] == [
            "ZonalShiftActive",
            "ZonalShiftActive",
            "ZonalShiftCleared",
            "ZonalShiftCleared",
        ]
        assert {(kind, name) for kind, name, _ in watch.told} == {("NodePool", "default")}


async def test_a_cluster_that_arc_does_not_know_is_reported_and_launches_go_on(
    control: Ec2Control, aws: Aws
) -> None:
    """Once a minute; what was known stays in use."""
    async with watching(control, aws) as watch:
        ids, shifts = zone_ids(aws), watch.shifts()
        control.shift_zones([ids[ZONES[0]]])
        await shifts.attempt()
        control.shift_zones(is_managed=False)
        await shifts.attempt()
        await shifts.attempt()
        lines = [line for line in watch.lines.lines if line.startswith("cannot ask")]
        assert len(lines) == 1
        assert "ResourceNotFoundException" in lines[0]
        assert await open_zones(watch) == [*ZONES[1:]]
