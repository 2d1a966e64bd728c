"""Events reach the cluster once, at a bounded rate, and trouble with them reaches nobody."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from io import BytesIO
from typing import Any

import msgspec

from dovetail import api
from dovetail.apiserver import MemoryKube
from dovetail.decide.lifecycle.step import Event, EventType
from dovetail.kube.errors import UnavailableError
from dovetail.kube.seam import Body, Kube, Scope
from dovetail.observe.events import EVENT, Recorder
from dovetail.observe.logs import Level, Log, Sink
from dovetail.testing.virtual_time import VirtualTime

NODE = api.KINDS["", "Node"]


class Broken(MemoryKube):
    """An API server that takes no events."""

    async def create(self, kind: api.Kind, body: Body, namespace: str = "") -> msgspec.Raw:
        """Everything but events."""
        if kind == EVENT:
            raise UnavailableError(503, "ServiceUnavailable", "come back later")
        return await super().create(kind, body, namespace)


async def written(kube: Kube) -> list[dict[str, Any]]:
    """Every event of the cluster, in the order of their namespaces and names."""
    page = await kube.list(Scope(EVENT))
    return [msgspec.json.decode(one) for one in page.items]


def about_node(reason: str = "Something", *, dedupe: tuple[str, ...] = ()) -> Event:
    """Something about a node."""
    return Event("Node", "n1", reason, "it happened", uid="u1", dedupe=dedupe)


async def test_an_event_is_written_as_kubectl_describe_reads_it() -> None:
    """A core Event with its object by kind, name and uid, in the namespace `default`."""
    time = VirtualTime()
    kube = MemoryKube(time)
    recorder = Recorder(kube, time, time)
    recorder.tell(Event("NodeClaim", "c1", "Launched", "why", EventType.WARNING, uid="u1"))
    await recorder.close()
    (event,) = await written(kube)
    assert event["metadata"]["namespace"] == "default"
    assert event["metadata"]["name"].startswith("c1.")
    assert event["involvedObject"] == {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "name": "c1",
        "uid": "u1",
    }
    said = {key: event[key] for key in ("reason", "message", "type", "count", "lastTimestamp")}
    assert said == {
        "reason": "Launched",
        "message": "why",
        "type": "Warning",
        "count": 1,
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }
    assert event["source"] == {"component": "karpenter"}


async def test_events_about_a_pod_are_in_its_namespace() -> None:
    """The name of the event carries the namespace in front."""
    time = VirtualTime()
    kube = MemoryKube(time)
    recorder = Recorder(kube, time, time)
    recorder.tell(Event("Pod", "kube-system/p1", "Evicted", "why", uid="u1"))
    await recorder.close()
    (event,) = await written(kube)
    assert event["metadata"]["namespace"] == "kube-system"
    assert event["involvedObject"]["namespace"] == "kube-system"
    assert event["involvedObject"]["name"] == "p1"


async def test_a_uid_that_was_not_told_is_looked_up() -> None:
    """Without it kubectl describe would not show the event."""
    time = VirtualTime()
    kube = MemoryKube(time)
    node: Body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    made = msgspec.json.decode(await kube.create(NODE, node))
    recorder = Recorder(kube, time, time)
    recorder.tell(Event("Node", "n1", "FailedDraining", "why"))
    recorder.tell(Event("Node", "gone", "FailedDraining", "why"))
    await recorder.close()
    uids = [one["involvedObject"].get("uid") for one in await written(kube)]
    assert uids == [None, made["metadata"]["uid"]]


async def test_an_event_told_twice_is_written_once_until_its_time_is_over() -> None:
    """Kind, name, reason (in any case) and the dedupe values tell events apart."""
    time = VirtualTime()
    kube = MemoryKube(time)
    recorder = Recorder(kube, time, time)
    for event in (
        about_node(),
        about_node("SOMETHING"),
        about_node(dedupe=("p1",)),
        about_node(dedupe=("p2",)),
    ):
        recorder.tell(event)
    await time.advance(timedelta(seconds=119))
    recorder.tell(about_node())
    await recorder.close()
    assert len(await written(kube)) == 3
    await time.advance(timedelta(seconds=1))
    recorder.tell(about_node())
    await recorder.close()
    assert len(await written(kube)) == 4


async def test_nominations_pass_ten_at_once_then_five_a_second() -> None:
    """Other events are not held back, and one that was may be told again later."""
    time = VirtualTime()
    kube = MemoryKube(time)
    recorder = Recorder(kube, time, time)
    nominated = [Event("Pod", f"default/p{n}", "Nominated", "why", uid="u") for n in range(40)]
    for event in nominated:
        recorder.tell(event)
    recorder.tell(about_node())
    await recorder.close()
    assert len(await written(kube)) == 11
    await time.advance(timedelta(seconds=1))
    for event in nominated:
        recorder.tell(event)
    await recorder.close()
    assert len(await written(kube)) == 16


async def test_run_writes_what_is_told_while_it_runs() -> None:
    """Nobody has to close it for that."""
    time = VirtualTime()
    kube = MemoryKube(time)
    recorder = Recorder(kube, time, time)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(recorder.run())
        recorder.tell(about_node())
        await time.advance()
        assert len(await written(kube)) == 1
        running.cancel()


async def test_trouble_with_events_reaches_nobody() -> None:
    """Neither the teller nor `run` hears of it."""
    time = VirtualTime()
    recorder = Recorder(Broken(time), time, time)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(recorder.run())
        for number in range(10):
            recorder.tell(about_node(dedupe=(str(number),)))
            await time.advance()
        assert not running.done()
        running.cancel()
    await recorder.close()


async def test_what_there_is_no_room_for_is_dropped_and_counted() -> None:
    """Ten thousand may wait. What was dropped may be told again."""
    time = VirtualTime()
    recorder = Recorder(MemoryKube(time), time, time)
    for number in range(10_002):
        recorder.tell(about_node(dedupe=(str(number),)))
    assert recorder.n_dropped == 2


async def test_a_flood_of_events_is_no_flood_of_log_lines() -> None:
    """Pods that wait by the ten thousand are told of at every decision."""
    time = VirtualTime()
    lines = BytesIO()
    sink = Sink(Level.INFO, time)
    sink.outputs = (lines,)
    recorder = Recorder(MemoryKube(time), time, time, log=Log(sink))
    for number in range(30_000):
        recorder.tell(about_node(dedupe=(str(number),)))
    assert recorder.n_dropped == 20_000
    assert 1 <= len(lines.getvalue().splitlines()) <= 20


async def test_old_news_is_not_written() -> None:
    """What a replica took down long before it began to lead, the one before it has told."""
    time = VirtualTime()
    kube = MemoryKube(time)
    recorder = Recorder(kube, time, time)
    recorder.tell(about_node("Old"))
    await time.advance(timedelta(minutes=10))
    recorder.tell(about_node("New"))
    await recorder.close()
    assert [one["reason"] for one in await written(kube)] == ["New"]


async def test_closing_ends_when_its_time_is_up() -> None:
    """What is left then is dropped."""
    time = VirtualTime()
    kube = MemoryKube(time)
    recorder = Recorder(kube, time, time)
    recorder.tell(about_node())
    await recorder.close(within=timedelta(0))
    assert await written(kube) == []
    assert recorder.n_dropped == 1


async def test_long_names_and_messages_are_cut_to_what_the_api_takes() -> None:
    """253 characters for a name, 1,024 for a message."""
    time = VirtualTime()
    kube = MemoryKube(time)
    recorder = Recorder(kube, time, time)
    recorder.tell(Event("Node", "n" * 253, "Something", "m" * 2_000, uid="u1"))
    await recorder.close()
    (event,) = await written(kube)
    assert len(event["metadata"]["name"]) == 253
    assert len(event["message"]) == 1_024
    assert event["involvedObject"]["name"] == "n" * 253
