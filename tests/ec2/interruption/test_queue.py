"""Messages of the queue are acted upon, and deleted once that is safe."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from dovetail import labels
from dovetail.kube.seam import Json, Patch, Ref
from dovetail.providers.aws.calls import CallFailedError
from dovetail.providers.aws.catalogue.inputs import UnavailableOffering
from dovetail.providers.aws.interruption.claims import ENDING, NODE_CLAIM, REBALANCE
from tests.ec2.control import Ec2Control
from tests.ec2.interruption.bench import QUEUE, Watch, watching
from tests.ec2.setting import ZONES, Aws
from tests.unit.providers.aws.interruption import texts

pytestmark = pytest.mark.xdist_group("ec2")
MINUTE = timedelta(minutes=1)


async def drained(watch: Watch) -> None:
    """Read until nothing is visible."""
    queue = watch.queue()
    while await queue.receive():
        pass
    await queue.settle()


async def test_a_spot_warning_is_deleted_once_its_claim_is(control: Ec2Control, aws: Aws) -> None:
    """Until then whoever leads next would read it again."""
    async with watching(control, aws) as watch:
        await watch.add_claim("c", "i-1")
        sent_at = control.now()
        watch.send(texts.spot("i-1", sent_at=sent_at))
        queue = watch.queue()
        assert await queue.receive() == 1
        (ending,) = watch.announced
        assert (ending.provider_id, ending.reason) == (f"aws:///{ZONES[0]}/i-1", "SpotInterrupted")
        assert ending.at == sent_at + 2 * MINUTE
        await queue.settle()
        assert watch.n_left() == 1
        await watch.delete_claim("c")
        watch.cloud.advance(timedelta(seconds=5))
        await queue.settle()
        assert watch.n_left() == 0
        assert watch.meters.counts == {
            "received_messages_total spot_interrupted": 1,
            "deleted_messages_total": 1,
        }
        assert watch.meters.seconds == [5.0]


async def test_a_spot_warning_marks_its_offering(control: Ec2Control, aws: Aws) -> None:
    """Spot of that type in that zone, for the next launch and the next plan."""
    async with watching(control, aws) as watch:
        await watch.add_claim("c", "i-1")
        watch.send(texts.spot("i-1", sent_at=control.now()))
        await watch.queue().receive()
        marked = watch.cloud.provider.catalogue.unavailable.offerings()
        assert marked == {UnavailableOffering("m5.large", ZONES[0], "spot")}
        assert watch.n_changed == 1
        (ending,) = watch.announced
        assert ending.reclaimed is not None


async def test_a_reservation_that_is_taken_back_has_nothing_left(
    control: Ec2Control, aws: Aws
) -> None:
    """Until EC2 says otherwise."""
    async with watching(control, aws) as watch:
        name = control.add_reservation("m5.large", ZONES[0], 3, is_interruptible=True)
        stated = {labels.CAPACITY_TYPE: labels.RESERVED, labels.RESERVATION_ID: name}
        await watch.add_claim("c", "i-1", **stated)
        reservations = watch.cloud.provider.catalogue.reservations
        await reservations.refresh([name])
        assert reservations.counts() == {name: 3}
        watch.send(texts.reservation("i-1", sent_at=control.now()))
        await watch.queue().receive()
        assert reservations.counts() == {name: 0}
        (ending,) = watch.announced
        assert ending.reason == "CapacityReservationInstanceInterrupted"
        assert (ending.at, ending.reclaimed) == (control.now() + 2 * MINUTE, None)


@pytest.mark.parametrize(
    ("state", "reason"),
    [("stopping", "InstanceStopping"), ("shutting-down", "InstanceTerminating")],
)
async def test_an_instance_that_ends_by_itself_is_announced(
    control: Ec2Control, aws: Aws, state: str, reason: str
) -> None:
    """One that we terminate is only told of."""
    async with watching(control, aws) as watch:
        await watch.add_claim("ours", "i-1")
        await watch.delete_claim("ours")
        await watch.add_claim("theirs", "i-2")
        watch.send(texts.state_change("i-1", state), texts.state_change("i-2", state))
        await drained(watch)
        assert [(one.provider_id[-3:], one.reason, one.at) for one in watch.announced] == [
            ("i-2", reason, None)
        ]
        assert watch.told == [("NodeClaim", "ours", reason), ("Node", "node-ours", reason)]
        assert watch.n_left() == 1


async def test_a_scheduled_change_is_written_down_before_its_message_is_deleted(
    control: Ec2Control, aws: Aws
) -> None:
    """It is weeks away: the next leader finds it on the claim, and announces it again."""
    async with watching(control, aws) as watch:
        await watch.add_claim("c", "i-1")
        at = (control.now() + timedelta(days=14)).replace(microsecond=0)
        watch.send(texts.health("i-1", "i-elsewhere", starts_at=at.isoformat()))
        await drained(watch)
        assert watch.n_left() == 0
        assert at.isoformat() in (await watch.annotations("c"))[ENDING].replace("Z", "+00:00")
        (ending,) = watch.announced
        assert (ending.at, ending.metric_reason) == (at, "scheduled_change")
        watch.announced.clear()
        await watch.checks().check()
        assert watch.announced == [ending]


async def test_a_rebalance_recommendation_is_only_told(control: Ec2Control, aws: Aws) -> None:
    """Unless it is to be acted on: then the claim carries it, and drifts by it."""
    async with watching(control, aws) as watch:
        await watch.add_claim("c", "i-1")
        watch.send(texts.rebalance("i-1"))
        await drained(watch)
        reason = "SpotRebalanceRecommendation"
        assert watch.told == [("NodeClaim", "c", reason), ("Node", "node-c", reason)]
        assert (watch.announced, watch.n_left()) == ([], 0)
        assert REBALANCE not in await watch.annotations("c")
        watch.send(texts.rebalance("i-1"))
        acting = watch.queue(replaces_rebalanced=True)
        await acting.receive()
        await acting.settle()
        assert REBALANCE in await watch.annotations("c")
        assert (watch.announced, watch.n_left()) == ([], 0)


async def test_what_cannot_be_read_or_is_not_ours_is_deleted(control: Ec2Control, aws: Aws) -> None:
    """Each is counted; what cannot be read is reported once a minute, and the rest goes on."""
    async with watching(control, aws) as watch:
        await watch.add_claim("c", "i-1")
        watch.send(
            "no json",
            "[]",
            texts.message(texts.SPOT, {"instance-id": "i-1"}, version="7"),
            texts.message("EC2 Fleet Error", {}),
            texts.spot("i-of-another-cluster"),
            texts.state_change("i-1", "running"),
        )
        await drained(watch)
        assert (watch.announced, watch.events, watch.n_left()) == ([], [], 0)
        assert watch.meters.counts["received_messages_total no_op"] == 5
        assert watch.meters.counts["deleted_messages_total"] == 6
        (line,) = watch.lines.lines
        assert line.startswith("a message of the interruption queue cannot be read")


async def test_what_is_delivered_twice_or_out_of_order_changes_nothing(
    control: Ec2Control, aws: Aws
) -> None:
    """The claim is going once; its messages are all deleted."""
    async with watching(control, aws) as watch:
        await watch.add_claim("c", "i-1")
        sent_at = control.now()
        watch.send(texts.state_change("i-1", "terminated"))
        watch.send(*[texts.spot("i-1", sent_at=sent_at)] * 2)
        queue = watch.queue()
        while await queue.receive():
            pass
        reasons = {one.reason for one in watch.announced}
        assert reasons == {"InstanceTerminating", "SpotInterrupted"}
        await watch.delete_claim("c")
        await queue.settle()
        assert watch.n_left() == 0


async def test_a_message_that_is_late_is_acted_upon_all_the_same(
    control: Ec2Control, aws: Aws
) -> None:
    """Its instant has passed: there is no time for a drain."""
    async with watching(control, aws) as watch:
        await watch.add_claim("c", "i-1")
        watch.send(texts.spot("i-1", sent_at=control.now() - 4 * MINUTE))
        await watch.queue().receive()
        (ending,) = watch.announced
        assert ending.at == control.now() - 2 * MINUTE


async def test_messages_of_a_storm_are_all_announced_before_any_is_deleted(
    control: Ec2Control, aws: Aws
) -> None:
    """So that one plan replaces all of them."""
    async with watching(control, aws) as watch:
        for number in range(30):
            await watch.add_claim(f"c{number}", f"i-{number}")
        sent_at = control.now()
        watch.send(*[texts.spot(f"i-{number}", sent_at=sent_at) for number in range(30)])
        queue = watch.queue()
        while await queue.receive():
            pass
        assert len({one.provider_id for one in watch.announced}) == 30
        assert watch.n_left() == 30
        for number in range(30):
            await watch.delete_claim(f"c{number}")
        await queue.settle()
        assert watch.n_left() == 0
        deletions = control.calls("DeleteMessageBatch")
        assert [len(call.parameters["Entries"]) for call in deletions] == [10, 10, 10]


async def test_a_claim_that_is_gone_needs_its_message_no_more(
    control: Ec2Control, aws: Aws
) -> None:
    """As one that is being deleted."""
    async with watching(control, aws) as watch:
        await watch.add_claim("c", "i-1")
        watch.send(texts.spot("i-1", sent_at=control.now()))
        queue = watch.queue()
        await queue.receive()
        await watch.delete_claim("c")
        released: dict[str, Json] = {"metadata": {"finalizers": []}}
        await watch.cloud.kube.patch(Ref(NODE_CLAIM, "c"), Patch(released))
        await queue.settle()
        assert watch.n_left() == 0


async def test_a_queue_that_is_gone_is_reported_once_a_minute_and_found_again(
    control: Ec2Control, aws: Aws
) -> None:
    """The reader goes on; a queue that is made again is read."""
    async with watching(control, aws) as watch:
        await watch.add_claim("c", "i-1")
        watch.sqs.delete_queue(QueueUrl=watch.url)
        queue = watch.queue()
        async with asyncio.TaskGroup() as group:
            task = group.create_task(queue.run())
            await _until(lambda: len(control.calls("GetQueueUrl")) >= 3)
            (line,) = watch.lines.lines
            assert line.startswith("cannot read the interruption queue")
            assert QUEUE in line
            watch.make_queue()
            watch.send(texts.spot("i-1", sent_at=control.now()))
            await _until(lambda: bool(watch.announced))
            task.cancel()


async def _until(holds: Callable[[], bool]) -> None:
    for _ in range(10_000):
        if holds():
            return
        await asyncio.sleep(0.005)
    raise AssertionError(holds)


async def test_a_queue_that_may_not_be_read_says_what_to_allow(
    control: Ec2Control, aws: Aws
) -> None:
    """The action is named as in a policy."""
    async with watching(control, aws) as watch:
        control.fail_calls("ReceiveMessage", "AccessDenied", "no", status=403)
        with pytest.raises(CallFailedError, match="allow sqs:ReceiveMessage in the IAM policy"):
            await watch.queue().receive()
