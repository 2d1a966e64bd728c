"""No instance is paid for twice, wherever a process ends (designs/0014-no-instance-twice.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from dovetail import api, labels
from dovetail.cloud.errors import CloudError, CreateError
from dovetail.cloud.provider import Instance
from dovetail.kube.seam import Patch, Ref, Scope
from dovetail.model.claim import ClaimObject
from dovetail.model.requirements import requirement
from dovetail.providers.aws.launching import keys
from dovetail.providers.aws.launching.marks import decode, encode
from dovetail.providers.aws.provider import AwsProvider
from dovetail.state.objects import claim_object
from tests.ec2.control import Ec2Control
from tests.ec2.provider.cloud import NODE_CLAIM, AwsCloud, aws_cloud
from tests.ec2.provider.killing import (
    Hold,
    InterruptedKube,
    Kill,
    KillAt,
    Pass,
    interrupted_apis,
)
from tests.ec2.setting import Aws

pytestmark = pytest.mark.xdist_group("ec2")
LARGE = requirement(labels.INSTANCE_TYPE, "In", ["m5.large"])
ON_DEMAND = requirement(labels.CAPACITY_TYPE, "In", [labels.ON_DEMAND])
MOST_MOMENTS = 100


async def claims(cloud: AwsCloud, prefix: str, count: int = 3) -> list[ClaimObject]:
    """Claims that ask for the same."""
    return [await cloud.claim(f"{prefix}-{one}", LARGE, ON_DEMAND) for one in range(count)]


def process(cloud: AwsCloud, at: Pass) -> AwsProvider:
    """A process whose calls pass through these moments."""
    return cloud.restarted(
        apis=interrupted_apis(cloud.apis, at), kube=InterruptedKube(cloud.kube, at)
    )


async def create_all(
    provider: AwsProvider, wanted: Sequence[ClaimObject]
) -> list[Instance | BaseException]:
    """What became of each claim, launched at the same time."""
    return await asyncio.gather(*(provider.create(one) for one in wanted), return_exceptions=True)


async def reread(cloud: AwsCloud, wanted: Sequence[ClaimObject]) -> list[ClaimObject]:
    """The claims as the API has them now."""
    return [await cloud.read_claim(one.name) for one in wanted]


async def killed_at(cloud: AwsCloud, n_moments: int, wanted: Sequence[ClaimObject]) -> Kill:
    """Launch the claims in a process that ends after so many moments."""
    kill = Kill(n_moments)
    await create_all(process(cloud, kill), wanted)
    return kill


def instances(outcomes: Sequence[Instance | BaseException]) -> list[Instance]:
    """All of them; none may have failed."""
    launched = [one for one in outcomes if isinstance(one, Instance)]
    assert len(launched) == len(outcomes), outcomes
    return launched


@pytest.mark.parametrize("is_stale", [False, True], ids=["claims are read again", "claims are old"])
async def test_a_process_that_ends_at_any_call_leaves_no_second_instance(
    control: Ec2Control,
    aws: Aws,
    is_stale: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    """The next process gives every claim an instance of its own, and not one more is launched."""
    async with aws_cloud(control, aws) as cloud:
        for n_moments in range(MOST_MOMENTS):
            n_before = cloud.n_instances()
            wanted = await claims(cloud, f"killed-{n_moments}")
            kill = await killed_at(cloud, n_moments, wanted)
            known = wanted if is_stale else await reread(cloud, wanted)
            next_process = cloud.restarted()
            launched = instances(await create_all(next_process, known))
            assert len({one.provider_id for one in launched}) == len(wanted), kill.passed
            assert cloud.n_instances() - n_before == len(wanted), kill.passed
            by_claim = {one.node_claim_uid: one for one in await cloud.restarted().list()}
            for claim, instance in zip(wanted, launched, strict=True):
                assert by_claim[claim.uid].provider_id == instance.provider_id, kill.passed
            if not kill.is_dead:
                assert n_moments > 10
                return
        pytest.fail("the launch did not end")


async def test_a_process_that_ends_twice_leaves_no_second_instance(
    control: Ec2Control, aws: Aws
) -> None:
    """Also if the process that takes over ends at any of its calls."""
    async with aws_cloud(control, aws) as cloud:
        first = Kill(MOST_MOMENTS)
        await create_all(process(cloud, first), await claims(cloud, "whole"))
        for n_first in range(0, len(first.passed), 3):
            for n_second in range(1, len(first.passed) + 4, 4):
                n_before = cloud.n_instances()
                wanted = await claims(cloud, f"killed-{n_first}-{n_second}", 2)
                await killed_at(cloud, n_first, wanted)
                await killed_at(cloud, n_second, await reread(cloud, wanted))
                instances(await create_all(cloud.restarted(), await reread(cloud, wanted)))
                assert cloud.n_instances() - n_before == len(wanted)


async def test_an_instance_whose_claim_was_deleted_is_terminated(
    control: Ec2Control, aws: Aws
) -> None:
    """Wherever the launch was when its process ended and the claim was deleted."""
    async with aws_cloud(control, aws) as cloud:
        for n_moments in range(MOST_MOMENTS):
            n_before = cloud.n_instances()
            wanted = await claims(cloud, f"deleted-{n_moments}")
            kill = await killed_at(cloud, n_moments, wanted)
            is_head = n_moments % 2 == 0  # of the batch, or else its last claim
            gone, *left = sorted(wanted, key=lambda one: one.uid)
            if not is_head:
                *left, gone = sorted(wanted, key=lambda one: one.uid)
            await cloud.delete_claim(gone.name)
            outcomes = await create_all(cloud.restarted(), await reread(cloud, left))
            assert all(isinstance(one, Instance | CreateError) for one in outcomes), outcomes
            if not is_head:  # without the head, a mark on some claims alone proves nothing
                instances(outcomes)
            assert cloud.n_instances() - n_before <= len(wanted), kill.passed
            for claim, outcome in zip(left, outcomes, strict=True):
                if isinstance(outcome, CreateError):  # until it is deleted, which is soon
                    await cloud.delete_claim(claim.name)
            cloud.advance(timedelta(minutes=1))
            await cloud.collect_garbage()
            launched = {one.provider_id for one in outcomes if isinstance(one, Instance)}
            paid = {
                one.provider_id for one in await cloud.restarted().list() if not one.is_terminating
            }
            assert paid == launched, kill.passed
            for claim in await remaining(cloud):
                await cloud.delete_claim(claim.name)
            await cloud.collect_garbage()
            if not kill.is_dead:
                return
        pytest.fail("the launch did not end")


@pytest.mark.parametrize("place", [0, 2], ids=["the head", "another claim"])
async def test_a_deleted_claim_does_not_hold_up_the_others_of_its_batch(
    control: Ec2Control, aws: Aws, place: int
) -> None:
    """The process ended between the last mark and the request: the others are launched at once, and
    the instance of the deleted claim is collected.
    """
    async with aws_cloud(control, aws) as cloud:
        wanted = sorted(await claims(cloud, "held-up"), key=lambda claim: claim.uid)
        kill = KillAt("before create_fleet")
        await create_all(process(cloud, kill), wanted)
        assert kill.is_dead
        gone = wanted.pop(place)
        await cloud.delete_claim(gone.name)
        launched = instances(await create_all(cloud.restarted(), await reread(cloud, wanted)))
        assert cloud.n_instances() == 3
        cloud.advance(timedelta(minutes=1))
        await cloud.collect_garbage()
        owners = {
            one.node_claim for one in await cloud.restarted().list() if not one.is_terminating
        }
        assert owners == {claim.name for claim in wanted}
        assert len(launched) == 2


async def test_a_batch_of_which_most_claims_are_gone_is_not_launched_for_the_rest(
    control: Ec2Control, aws: Aws
) -> None:
    """More instances would be launched in vain than are needed; the rest is planned again."""
    async with aws_cloud(control, aws) as cloud:
        wanted = sorted(await claims(cloud, "rest"), key=lambda claim: claim.uid)
        await create_all(process(cloud, KillAt("before create_fleet")), wanted)
        for gone in wanted[1:]:
            await cloud.delete_claim(gone.name)
        (outcome,) = await create_all(cloud.restarted(), await reread(cloud, wanted[:1]))
        assert isinstance(outcome, CreateError)
        assert cloud.n_instances() == 0


async def remaining(cloud: AwsCloud) -> list[ClaimObject]:
    """Every claim that is there."""
    page = await cloud.kube.list(Scope(NODE_CLAIM))
    return [claim_object(api.decode(api.NodeClaim, raw)) for raw in page.items]


@pytest.mark.parametrize(
    "moment",
    [
        "before create_fleet",
        "after create_fleet",
        "before patch NodeClaim held-0",
        "after patch NodeClaim held-0",
        "before patch NodeClaim held-1",
        "after patch NodeClaim held-2",
    ],
)
async def test_two_processes_at_once_launch_each_claim_once(
    control: Ec2Control, aws: Aws, moment: str
) -> None:
    """An old leader that is held anywhere goes on after the new one has launched everything."""
    async with aws_cloud(control, aws) as cloud:
        wanted = await claims(cloud, "held")
        hold = Hold(moment)
        async with asyncio.TaskGroup() as group:
            old = group.create_task(create_all(process(cloud, hold), wanted))
            await hold.is_there.wait()
            new = await create_all(cloud.restarted(), await reread(cloud, wanted))
            hold.let_go.set()
        by_new, by_old = instances(new), instances(old.result())
        assert [one.provider_id for one in by_old] == [one.provider_id for one in by_new]
        assert cloud.n_instances() == len(wanted)


async def test_a_fleet_that_is_short_of_instances_deals_out_what_it_has(
    control: Ec2Control, aws: Aws
) -> None:
    """The others fail, and their next launch is a new request."""
    async with aws_cloud(control, aws) as cloud:
        control.set_capacity(0, instance_type="m5.large")
        control.set_capacity(1, instance_type="m5.large", zone="us-west-2a")
        wanted = await claims(cloud, "short")
        outcomes = await create_all(cloud.provider, wanted)
        assert sorted(type(one).__name__ for one in outcomes) == [
            "Instance",
            "InsufficientCapacityError",
            "InsufficientCapacityError",
        ]
        control.set_capacity(None, instance_type="m5.large")
        cloud.clock.advance(timedelta(minutes=4))
        instances(await create_all(cloud.restarted(), await reread(cloud, wanted)))
        assert cloud.n_instances() == len(wanted)
        assert len(control.calls("CreateFleet")) == 3  # one of them repeated the first


async def test_a_request_that_does_not_match_its_token_finds_the_instances_by_tag(
    control: Ec2Control, aws: Aws
) -> None:
    """EC2 answers IdempotentParameterMismatch: then the token was used, and its tag is there."""
    async with aws_cloud(control, aws) as cloud:
        (claim,) = await claims(cloud, "mismatch", 1)
        first = await cloud.provider.create(claim)
        marked = await cloud.read_claim(claim.name)
        request = decode(marked.annotations[keys.FLEET_REQUEST])
        changed = encode({**request, "Context": "another"})
        await cloud.kube.patch(
            Ref(NODE_CLAIM, claim.name),
            Patch({"metadata": {"annotations": {keys.FLEET_REQUEST: changed}}}),
        )
        again = await cloud.restarted().create(await cloud.read_claim(claim.name))
        assert again.provider_id == first.provider_id
        assert cloud.n_instances() == 1


@pytest.mark.parametrize("fault", ["cut", "lose_answer", "garble"])
async def test_a_call_without_an_answer_is_repeated_with_the_same_token(
    control: Ec2Control, aws: Aws, fault: str
) -> None:
    """Whether it was carried out or not."""
    async with aws_cloud(control, aws) as cloud:
        (claim,) = await claims(cloud, "unanswered", 1)
        getattr(control, fault)("CreateFleet", times=None)
        with pytest.raises(CloudError):
            await cloud.provider.create(claim)
        control.clear_faults()
        await cloud.provider.create(await cloud.read_claim(claim.name))
        assert cloud.n_instances() == 1
        tokens = {call.parameters["ClientToken"] for call in control.calls("CreateFleet")}
        assert len(tokens) == 1


async def test_a_claim_that_is_gone_before_the_request_is_sent_gets_nothing(
    control: Ec2Control, aws: Aws
) -> None:
    """The others of its batch are launched without it."""
    async with aws_cloud(control, aws) as cloud:
        wanted = await claims(cloud, "gone")
        hold = Hold("before describe_subnets")
        async with asyncio.TaskGroup() as group:
            launching = group.create_task(create_all(process(cloud, hold), wanted))
            await hold.is_there.wait()
            await cloud.delete_claim(wanted[1].name)
            hold.let_go.set()
        first, gone, last = launching.result()
        assert isinstance(gone, CloudError)
        instances([first, last])
        assert cloud.n_instances() == 2


async def test_a_thousand_claims_need_few_calls(control: Ec2Control, aws: Aws) -> None:
    """Equal claims share a request, and none of them shares its instance."""
    async with aws_cloud(control, aws) as cloud:
        wanted = await claims(cloud, "many", 1000)
        launched = instances(await create_all(cloud.provider, wanted))
        assert len({one.provider_id for one in launched}) == 1000
        assert len(control.calls("CreateFleet")) <= 20
        assert len(control.calls("CreateLaunchTemplate")) == 1
        assert len(control.calls("DescribeCluster")) == 1
