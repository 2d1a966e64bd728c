"""Instances that fail their status checks, and those that EC2 has events for, are announced."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dovetail.model.ending import InstanceEnding
from dovetail.providers.aws.calls import CallFailedError
from tests.ec2.control import Ec2Control, Part
from tests.ec2.interruption.bench import Watch, watching
from tests.ec2.setting import Aws

pytestmark = pytest.mark.xdist_group("ec2")
SECOND = timedelta(seconds=1)
UNHEALTHY = "instance_status_unhealthy_total"


async def instance(watch: Watch, name: str) -> str:
    """A running instance of a claim."""
    launched = watch.cloud.aws.launch()
    watch.cloud.advance(timedelta(minutes=1))
    await watch.add_claim(name, launched)
    return launched


def endings(watch: Watch) -> list[InstanceEnding]:
    """What was announced since the last time."""
    announced = list(watch.announced)
    watch.announced.clear()
    return announced


@pytest.mark.parametrize("part", ["instance", "system"])
async def test_an_instance_that_fails_its_check_for_two_minutes_is_ended(
    control: Ec2Control, aws: Aws, part: Part
) -> None:
    """Without a drain. It is counted once until it passes again."""
    async with watching(control, aws) as watch:
        name = await instance(watch, "c")
        watch.cloud.aws.launch()  # nobody's
        control.impair(name, part)
        checks = watch.checks()
        watch.cloud.advance(119 * SECOND)
        await checks.check()
        assert endings(watch) == []
        watch.cloud.advance(SECOND)
        await checks.check()
        (ending,) = endings(watch)
        assert (ending.reason, ending.is_forced) == ("InstanceUnhealthy", True)
        assert ending.metric_reason == f"{part}_status"
        await checks.check()
        assert endings(watch) == [ending]
        assert watch.meters.counts == {f"{UNHEALTHY} {part}_status": 1}
        control.impair(name, part, is_impaired=False)
        await checks.check()
        assert endings(watch) == []
        control.impair(name, part)
        watch.cloud.advance(120 * SECOND)
        await checks.check()
        assert watch.meters.counts == {f"{UNHEALTHY} {part}_status": 2}


async def test_a_failed_check_of_volumes_ends_nothing(control: Ec2Control, aws: Aws) -> None:
    """They may be somebody's data."""
    async with watching(control, aws) as watch:
        control.impair(await instance(watch, "c"), "ebs")
        watch.cloud.advance(timedelta(hours=1))
        await watch.checks().check()
        assert endings(watch) == []


async def test_a_scheduled_event_is_announced_with_its_instant(
    control: Ec2Control, aws: Aws
) -> None:
    """And drained with time."""
    async with watching(control, aws) as watch:
        name = await instance(watch, "c")
        control.schedule_event(name, "instance-retirement", timedelta(days=3))
        await watch.checks().check()
        (ending,) = endings(watch)
        assert ending.at == control.now() + timedelta(days=3)
        assert (ending.is_forced, ending.metric_reason) == (False, "event_status")
        assert "instance-retirement" in ending.message


async def test_all_of_it_takes_three_calls_and_two_in_between(
    control: Ec2Control, aws: Aws
) -> None:
    """Scheduled events are asked for at every fifth check, and none without instances of ours."""
    async with watching(control, aws) as watch:
        await watch.checks().check()
        assert control.calls("DescribeInstanceStatus") == []
        name = await instance(watch, "c")
        control.schedule_event(name, "instance-retirement", timedelta(days=3))
        checks = watch.checks()
        for _ in range(6):
            await checks.check()
            assert len(endings(watch)) == 1
        calls = control.calls("DescribeInstanceStatus")
        asked = [call.parameters["Filters"][0]["Name"] for call in calls]
        impaired = ["instance-status.status", "system-status.status"]
        assert asked == ["event.code", *impaired * 5, "event.code", *impaired]


async def test_a_check_that_passes_again_is_not_remembered_with_an_event(
    control: Ec2Control, aws: Aws
) -> None:
    """What was asked for minutes ago says only what is scheduled."""
    async with watching(control, aws) as watch:
        name = await instance(watch, "c")
        control.schedule_event(name, "instance-retirement", timedelta(days=3))
        control.impair(name, "system")
        checks = watch.checks()
        watch.cloud.advance(119 * SECOND)
        await checks.check()
        control.impair(name, "system", is_impaired=False)
        watch.cloud.advance(60 * SECOND)
        endings(watch)
        await checks.check()
        assert [ending.is_forced for ending in endings(watch)] == [False]


async def test_a_check_that_is_forbidden_says_what_to_allow(control: Ec2Control, aws: Aws) -> None:
    """Everything else goes on."""
    async with watching(control, aws) as watch:
        await instance(watch, "c")
        control.fail_calls("DescribeInstanceStatus", "UnauthorizedOperation", "no", status=403)
        with pytest.raises(CallFailedError, match="allow ec2:DescribeInstanceStatus"):
            await watch.checks().check()
