"""What happens in the course of the demo's day, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from dovetail import api
from dovetail.apiserver import MemoryKube
from dovetail.kube.seam import Json, Patch, Ref, Scope
from dovetail.model.ending import InstanceEnding
from dovetail.providers.kwok.faults import Faults
from dovetail.sim.demo.setting import demo_setting, jobs, settle
from dovetail.sim.demo.story import Story, daylight
from dovetail.testing.virtual_time import VirtualTime

DEPLOYMENT = api.KINDS["apps", "Deployment"]
NODE_CLAIM = api.KINDS["karpenter.sh", "NodeClaim"]
JOB = api.KINDS["batch", "Job"]
DAWN = datetime(2026, 3, 2, 6, 0, tzinfo=UTC)


class Day:
    """A story that has been told for a while."""

    def __init__(self) -> None:
        self.time = VirtualTime(DAWN)
        self.kube = MemoryKube(self.time)
        self.faults = Faults()
        self.news: list[tuple[datetime, str]] = []
        self.endings: list[InstanceEnding] = []

    async def told(self, span: timedelta) -> None:
        """Let it be told for so long."""
        await settle(self.kube, demo_setting())
        story = Story(
            self.kube, self.time, self.time, chance=lambda: 0.5, faults=self.faults, jobs=jobs(),
            tell=lambda at, title: self.news.append((at, title)), announce=self.endings.append,
        )  # fmt: skip
        async with asyncio.TaskGroup() as group:
            running = group.create_task(story.run())
            for _ in range(int(span / timedelta(minutes=10))):
                await self.time.advance(timedelta(minutes=10))
            running.cancel()

    async def replicas(self, name: str) -> int | None:
        """How many pods a Deployment of the shop wants."""
        raw = await self.kube.get(Ref(DEPLOYMENT, name, "demo-shop"))
        found = api.decode(api.Deployment, raw)
        return found.spec.replicas

    async def jobs(self) -> Sequence[str]:
        """The jobs that there are."""
        page = await self.kube.list(Scope(JOB))
        return sorted(api.decode(api.Job, raw).metadata.name for raw in page.items)


def test_the_afternoon_is_busier_than_the_night() -> None:
    """And the evening has a wave of its own."""
    at = [daylight(DAWN.replace(hour=hour)) for hour in range(24)]
    assert min(at) == at[4]
    assert max(at) == max(at[13:19])
    assert at[20] > at[8]
    assert all(0 <= one <= 1 for one in at)


async def test_the_web_tier_follows_the_day() -> None:
    """More at four in the afternoon than at dawn."""
    day = Day()
    await day.told(timedelta(minutes=10))
    early = await day.replicas("web")
    later = Day()
    await later.told(timedelta(hours=10))
    busy = await later.replicas("web")
    assert early is not None
    assert busy is not None
    assert busy > 3 * early


async def test_a_day_has_batch_a_gpu_job_and_trouble() -> None:
    """Each at its time; in a zone that runs short the cloud says no for a while."""
    day = Day()
    await day.told(timedelta(hours=24))
    assert await day.jobs() == ["reports-2", "training-1"]
    assert [at.hour for at, _ in day.news] == [10, 15, 1]
    (short,) = day.faults.all_faults
    assert short.starts_at is not None
    assert short.starts_at.hour == 15


async def test_the_instance_of_a_spot_node_is_interrupted_after_lunch() -> None:
    """It is announced to the controller with two minutes of notice."""
    day = Day()
    claim: dict[str, Json] = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": "fullest", "labels": {"karpenter.sh/capacity-type": "spot"}},
        "spec": {
            "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "d"},
            "requirements": [],
        },
    }
    await day.kube.create(NODE_CLAIM, claim)
    status: dict[str, Json] = {"providerID": "kwok://fullest"}
    patch = Patch({"status": status}, subresource="status")
    await day.kube.patch(Ref(NODE_CLAIM, "fullest"), patch)
    await day.told(timedelta(hours=7, minutes=40))
    (ending,) = day.endings
    (interrupted_at,) = [at for at, title in day.news if "interrupts" in title]
    assert (ending.provider_id, ending.reason) == ("kwok://fullest", "SpotInterrupted")
    assert ending.at == interrupted_at + timedelta(minutes=2)
