"""The controller at work: it hears of changes, keeps its timers, and holds nobody up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import msgspec
import pytest

from dovetail import api
from dovetail.cloud.provider import CloudWorker
from dovetail.kube.seam import Body, Deletion, Ref
from dovetail.providers.aws.catalogue.inputs import CatalogueInputs
from dovetail.providers.aws.status.objects import NODE_CLAIM, NODE_CLASS
from tests.ec2.setting import Aws
from tests.ec2.status.bench import NodeClassBench, node_class_bench

pytestmark = pytest.mark.xdist_group("ec2")


@asynccontextmanager
async def at_work(bench: NodeClassBench) -> AsyncIterator[None]:
    """Let the controller run for as long as the block lasts."""
    async with asyncio.TaskGroup() as group:
        running = group.create_task(bench.controller.run())
        try:
            yield
        finally:
            running.cancel()


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Return once it holds: calls of AWS cross a socket, so virtual time cannot tell."""
    for _ in range(3000):
        if await holds():
            return
        await asyncio.sleep(0.01)
    pytest.fail("it never came to hold")


async def is_ready(bench: NodeClassBench, name: str = "default") -> bool:
    """Whether a class is Ready in its present generation."""
    found = await bench.node_class(name)
    return any(
        one.type == "Ready"
        and one.status == "True"
        and one.observed_generation == found.metadata.generation
        for one in found.status.conditions
    )


async def test_the_controller_is_a_worker_of_its_cloud(aws: Aws) -> None:
    """It runs until it is cancelled."""
    async with node_class_bench(aws) as bench:
        assert isinstance(bench.controller, CloudWorker)


async def test_classes_become_ready_and_follow_edits(aws: Aws) -> None:
    """Those that are there at the start, those that come later, and each new generation."""
    async with node_class_bench(aws) as bench:
        await bench.create("first")
        async with at_work(bench):
            await until(lambda: is_ready(bench, "first"))
            await bench.create()
            await until(lambda: is_ready(bench))
            await bench.change(role="other")
            await until(lambda: is_ready(bench))
            profile = (await bench.node_class()).status.instance_profile
            assert bench.profiles()[profile] == ["other"]


async def test_a_class_that_fails_holds_up_no_other(aws: Aws) -> None:
    """Each has a task of its own."""
    async with node_class_bench(aws) as bench:
        await bench.create("broken", role="nobody")
        for number in range(12):
            await bench.create(f"class-{number}")
        async with at_work(bench):
            for number in range(12):
                await until(lambda name=f"class-{number}": is_ready(bench, name))  # type: ignore[misc]  # mypy cannot infer a lambda with a default
            assert not await is_ready(bench, "broken")


async def test_a_class_is_looked_at_again_when_its_time_is_up(aws: Aws) -> None:
    """A subnet that is tagged later is found after a minute."""
    async with node_class_bench(aws) as bench:
        await bench.create(subnetSelectorTerms=[{"tags": {"team": "a"}}])

        async def is_evaluated() -> bool:
            return (await bench.node_class()).status.conditions != ()

        async with at_work(bench):
            await until(is_evaluated)
            subnet = next(iter(bench.aws.subnets().values()))
            bench.aws.ec2.create_tags(Resources=[subnet], Tags=[{"Key": "team", "Value": "a"}])
            await asyncio.sleep(0.05)
            await bench.advance(timedelta(minutes=1))
            await until(lambda: is_ready(bench))


async def test_a_class_goes_when_its_last_claim_ends(aws: Aws) -> None:
    """Without waiting for the ten minutes that it would else wait."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        await bench.create_claim("default-1")

        async def is_waiting() -> bool:
            return any(one[1] == "WaitingOnNodeClaimTermination" for one in bench.events())

        async def is_gone() -> bool:
            return not await bench.exists()

        async with at_work(bench):
            await until(lambda: is_ready(bench))
            await bench.delete()
            await until(is_waiting)
            await bench.kube.delete(Ref(NODE_CLAIM, "default-1"), Deletion())
            await until(is_gone)
        assert bench.profiles() == {}


async def test_unused_profiles_are_collected_every_half_hour(aws: Aws) -> None:
    """The third time an hour has passed since the profile was found to be unused."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        await bench.look()
        old = (await bench.node_class()).status.instance_profile
        await bench.change(role="other")
        await bench.look()

        async def n_lists(number: int) -> bool:
            return len(bench.actions("ListInstanceProfiles")) >= number

        async def is_collected() -> bool:
            return old not in bench.profiles()

        async with at_work(bench):
            await bench.known()
            before = len(bench.actions("ListInstanceProfiles"))
            for number in (1, 2):
                await bench.advance(timedelta(minutes=30))
                await until(lambda number=number: n_lists(before + number))  # type: ignore[misc]  # as above
            await until(is_collected)


async def test_an_unsupported_version_of_kubernetes_is_logged(aws: Aws) -> None:
    """There are no images for it."""
    async with node_class_bench(aws) as bench:
        bench.control.change_cluster("prod", {"version": "1.20"})
        await bench.controller.check_version()
        assert "Kubernetes 1.20 is not supported: expected 1.26 to 1.36" in bench.log.lines[0]


async def test_the_api_server_is_asked_for_its_version_without_an_eks_control_plane(
    aws: Aws,
) -> None:
    """Its answer counts, not that of EKS."""

    async def version() -> str:
        return "v1.31.4-eks-1234567"

    async with node_class_bench(aws, discover_version=version) as bench:
        await bench.create(amiSelectorTerms=[{"alias": "al2@latest"}])
        await bench.look()
        found = (await bench.node_class()).status.amis
        assert {ami.name.partition("-node-")[2][:4] for ami in found} == {"1.31"}
        assert len(found) == 4


async def test_an_object_that_cannot_be_read_is_logged_and_holds_up_nobody(aws: Aws) -> None:
    """Its definition may be older than its content."""
    async with node_class_bench(aws, is_checked=False) as bench:
        unchecked = msgspec.structs.replace(NODE_CLASS, wire_type=api.Object)
        body: Body = {
            "apiVersion": NODE_CLASS.api_version,
            "kind": NODE_CLASS.name,
            "metadata": {"name": "broken"},
            "spec": {"role": ["not", "text"]},
        }
        await bench.kube.create(unchecked, body)
        await bench.create()
        async with at_work(bench):
            await until(lambda: is_ready(bench))
        assert any("EC2NodeClass broken" in line for line in bench.log.lines)


async def test_an_answer_that_is_none_is_no_answer(aws: Aws) -> None:
    """The call is made again."""
    async with node_class_bench(aws) as bench:
        bench.control.garble("DescribeSecurityGroups")
        await bench.create()
        assert await bench.look() == timedelta(seconds=1)
        assert await bench.reason("SecurityGroupsReady") == ("Unknown", "Unavailable")
        await bench.look()
        assert await is_ready(bench)


async def test_a_fault_of_our_own_is_logged_and_tried_again(aws: Aws) -> None:
    """It does not end the controller, which has other classes to look after."""

    def broken() -> CatalogueInputs:
        msg = "our own mistake"
        raise KeyError(msg)

    async with node_class_bench(aws, catalogue=broken) as bench:
        await bench.create()
        assert await bench.look() == timedelta(seconds=1)
        assert await bench.look() == timedelta(seconds=2)
        assert len(bench.log.lines) == 1
        assert "our own mistake" in bench.log.lines[0]
