"""What a watch tells."""

from __future__ import annotations

import asyncio

import pytest

from dovetail.kube.errors import GoneError
from dovetail.kube.seam import Kube, Ref, Scope
from tests.conformance.kube.objects import (
    CONFIG_MAP,
    DEFAULT,
    NODE_POOL,
    NOW,
    POD,
    create,
    heard,
    make,
    merge,
    named,
    node_pool,
    pod,
    read,
    shown,
    told,
)
from tests.conformance.kube.servers import Names, Server


async def begun(kube: Kube, names: Names) -> tuple[Scope, str]:
    """A scope of one's own, and the version it begins with."""
    scope = Scope(CONFIG_MAP, DEFAULT, labels=f"law={names.fresh()}")
    return scope, (await kube.list(scope)).resource_version


async def make_in(kube: Kube, scope: Scope, name: str) -> Ref:
    """Create an object of the scope."""
    labels = {"law": scope.labels.removeprefix("law=")}
    return await make(kube, CONFIG_MAP, named(name, labels={**labels}))


async def test_a_watch_tells_every_change_in_order(server: Server, names: Names) -> None:
    """Added, modified, deleted, each with the version it made."""
    async with server.open() as kube:
        scope, since = await begun(kube, names)
        name = names.fresh()
        ref = await make_in(kube, scope, name)
        await merge(kube, ref, {"data": {"key": "value"}})
        await kube.delete(ref, NOW)
        changes = await told(kube.watch(scope, since=since), 3)
        assert [shown(one) for one in changes] == [
            ("ADDED", name),
            ("MODIFIED", name),
            ("DELETED", name),
        ]
        versions = [int(one.resource_version) for one in changes]
        assert versions == sorted(set(versions))
        assert versions[0] > int(since)


async def test_a_watch_from_the_beginning_streams_what_is_there_and_says_when_that_was_all(
    server: Server, names: Names
) -> None:
    """What happens then follows in the same watch."""
    async with server.open() as kube:
        scope, _ = await begun(kube, names)
        there = sorted(names.fresh() for _ in range(3))
        for name in there:
            await make_in(kube, scope, name)
        later = names.fresh()
        seen: list[tuple[str, str]] = []
        async for change in kube.watch(scope, since=""):
            if change.is_caught_up:
                assert sorted(seen) == [("ADDED", name) for name in there]
                assert int(change.resource_version) > 0
                await make_in(kube, scope, later)
            elif change.type.value != "BOOKMARK":
                seen.append(shown(change))
                if len(seen) == 4:
                    break
        assert seen[-1] == ("ADDED", later)


async def test_a_change_carries_the_object_as_it_then_was(server: Server, names: Names) -> None:
    """What is deleted is told as it last was, with the version in which it went."""
    async with server.open() as kube:
        scope, since = await begun(kube, names)
        ref = await make_in(kube, scope, names.fresh())
        await merge(kube, ref, {"data": {"key": "1"}})
        await merge(kube, ref, {"data": {"key": "2"}})
        await kube.delete(ref, NOW)
        changes = await told(kube.watch(scope, since=since), 4)
        objects = [read(one.object) for one in changes]
        assert [one.get("data", {}).get("key") for one in objects] == [None, "1", "2", "2"]
        versions = [one["metadata"]["resourceVersion"] for one in objects]
        assert versions == [one.resource_version for one in changes]


async def test_a_watch_tells_what_happens_while_it_is_open(server: Server, names: Names) -> None:
    """A watch waits for what is yet to come."""
    async with server.open() as kube:
        scope, since = await begun(kube, names)
        name = names.fresh()
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(told(kube.watch(scope, since=since), 1))
            await asyncio.sleep(0)
            await make_in(kube, scope, name)
        assert [shown(one) for one in watching.result()] == [("ADDED", name)]


async def test_a_watch_goes_on_from_any_version_it_has_told(server: Server, names: Names) -> None:
    """Whoever was cut off resumes after the last change seen, and misses and repeats nothing."""
    async with server.open() as kube:
        scope, since = await begun(kube, names)
        made = [names.fresh() for _ in range(5)]
        for name in made:
            await make_in(kube, scope, name)
        first = await told(kube.watch(scope, since=since), 2)
        rest = await told(kube.watch(scope, since=first[-1].resource_version), 3)
        assert [shown(one)[1] for one in (*first, *rest)] == made


async def test_a_watch_goes_on_from_a_list(server: Server, names: Names) -> None:
    """Between the list and the watch there is no gap."""
    async with server.open() as kube:
        scope, _ = await begun(kube, names)
        await make_in(kube, scope, names.fresh())
        page = await kube.list(scope)
        late = names.fresh()
        await make_in(kube, scope, late)
        (change,) = await told(kube.watch(scope, since=page.resource_version), 1)
        assert shown(change) == ("ADDED", late)


@pytest.mark.parametrize("since", ["", "0"])
async def test_a_watch_from_nowhere_begins_with_what_is_there(
    server: Server, names: Names, since: str
) -> None:
    """Everything is told as added, and then come changes."""
    async with server.open() as kube:
        scope, _ = await begun(kube, names)
        made = [names.fresh() for _ in range(3)]
        refs = [await make_in(kube, scope, name) for name in made]
        watch = kube.watch(scope, since=since)
        assert sorted(shown(one) for one in await heard(watch, 3)) == [
            ("ADDED", name) for name in sorted(made)
        ]
        await kube.delete(refs[0], NOW)
        (change,) = await told(watch, 1)
        assert shown(change) == ("DELETED", made[0])


async def test_a_watch_by_labels_sees_objects_come_into_scope_and_leave(
    server: Server, names: Names
) -> None:
    """What begins to match is added; what no longer matches is deleted."""
    async with server.open() as kube:
        scope, since = await begun(kube, names)
        name = names.fresh()
        ref = await make(kube, CONFIG_MAP, named(name))
        mark = scope.labels.removeprefix("law=")
        await merge(kube, ref, {"metadata": {"labels": {"law": mark}}})
        await merge(kube, ref, {"data": {"key": "value"}})
        left = await merge(kube, ref, {"metadata": {"labels": {"law": None}}})
        await make_in(kube, scope, f"{name}-last")
        changes = await told(kube.watch(scope, since=since), 4)
        assert [shown(one) for one in changes] == [
            ("ADDED", name),
            ("MODIFIED", name),
            ("DELETED", name),
            ("ADDED", f"{name}-last"),
        ]
        gone = read(changes[2].object)
        assert gone["metadata"]["labels"] == {"law": mark}
        assert gone["metadata"]["resourceVersion"] == left["metadata"]["resourceVersion"]


async def test_a_watch_by_fields_sees_objects_come_into_scope_and_leave(
    server: Server, names: Names
) -> None:
    """Pods that end leave a watch for pods that are pending."""
    async with server.open() as kube:
        mark = names.fresh()
        scope = Scope(POD, DEFAULT, labels=f"law={mark}", fields="status.phase=Pending")
        since = (await kube.list(scope)).resource_version
        name = names.fresh()
        ref = await make(kube, POD, pod(name, labels={"law": mark}))
        await merge(kube, ref, {"status": {"phase": "Failed"}}, "status")
        changes = await told(kube.watch(scope, since=since), 2)
        assert [shown(one) for one in changes] == [("ADDED", name), ("DELETED", name)]


async def test_a_watch_hears_nothing_of_other_namespaces_and_kinds(
    server: Server, names: Names
) -> None:
    """Each watch hears of its scope only."""
    async with server.open() as kube:
        mark = names.fresh()
        scope = Scope(CONFIG_MAP, DEFAULT, labels=f"law={mark}")
        since = (await kube.list(scope)).resource_version
        labels = {"law": mark}
        await create(kube, CONFIG_MAP, named(names.fresh(), labels=labels), "kube-system")
        await make(kube, POD, pod(names.fresh(), labels=labels))
        last = names.fresh()
        await make(kube, CONFIG_MAP, named(last, labels=labels))
        (change,) = await told(kube.watch(scope, since=since), 1)
        assert shown(change) == ("ADDED", last)


async def test_many_watchers_hear_the_same(server: Server, names: Names) -> None:
    """Nobody takes a change away from somebody else."""
    async with server.open() as kube:
        scope, since = await begun(kube, names)
        made = [names.fresh() for _ in range(3)]
        async with asyncio.TaskGroup() as tasks:
            watching = [
                tasks.create_task(told(kube.watch(scope, since=since), 3)) for _ in range(10)
            ]
            await asyncio.sleep(0)
            for name in made:
                await make_in(kube, scope, name)
        for one in watching:
            assert [shown(change)[1] for change in one.result()] == made


async def test_a_version_that_is_too_old_is_gone(server: Server) -> None:
    """Whoever was away for too long lists again."""
    async with server.open() as kube:
        with pytest.raises(GoneError) as refused:
            await told(kube.watch(Scope(NODE_POOL), since="1"), 1)
        assert refused.value.status == 410


async def test_custom_resources_are_watched_like_others(server: Server, names: Names) -> None:
    """Our own kinds have no other rules."""
    async with server.open() as kube:
        name = names.fresh()
        scope = Scope(NODE_POOL, fields=f"metadata.name={name}")
        since = (await kube.list(scope)).resource_version
        ref = await make(kube, NODE_POOL, node_pool(name))
        await merge(kube, ref, {"status": {"nodes": 3}}, "status")
        changes = await told(kube.watch(scope, since=since), 2)
        assert [shown(one) for one in changes] == [("ADDED", name), ("MODIFIED", name)]
        assert read(changes[1].object)["status"]["nodes"] == 3
