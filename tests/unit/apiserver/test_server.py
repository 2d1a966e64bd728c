"""What the server in memory does beyond the laws that every server keeps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from dovetail import api
from dovetail.api.crds import crds
from dovetail.api.facts import GROUP_STAYS, KIND_STAYS, SPEC_STAYS, STATIC_STAYS
from dovetail.apiserver import MemoryKube
from dovetail.cloud import registry
from dovetail.kube.errors import GoneError, InvalidError
from dovetail.kube.seam import (
    Deletion,
    Patch,
    Propagation,
    Ref,
    Scope,
    WatchEvent,
    WatchEventType,
)
from tests.unit.kube.surroundings import VirtualClock

CONFIG_MAP = api.Kind("", "v1", "ConfigMap", "configmaps", api.Object)
SCOPE = Scope(CONFIG_MAP, "default")
PLENTY = 2000


def named(name: str, **more: Any) -> dict[str, Any]:
    """The least that an object has."""
    return {"metadata": {"name": name, **more}}


async def first_of(watch: AsyncIterator[WatchEvent]) -> WatchEvent:
    """The next change of a watch."""
    return await anext(aiter(watch))


async def filled(kube: MemoryKube, n_objects: int) -> None:
    """Some objects."""
    for number in range(n_objects):
        await kube.create(CONFIG_MAP, named(f"thing-{number:04}"), "default")


async def busy(kube: MemoryKube) -> list[bytes]:
    """Everything that some calls bring about."""
    await filled(kube, 5)
    await kube.create(CONFIG_MAP, {"metadata": {"generateName": "made-"}}, "default")
    ref = Ref(CONFIG_MAP, "thing-0001", "default")
    await kube.patch(ref, Patch({"data": {"a": "1"}}))
    await kube.delete(Ref(CONFIG_MAP, "thing-0002", "default"), Deletion())
    page = await kube.list(SCOPE)
    return [bytes(one) for one in page.items]


async def test_the_same_calls_give_the_same_bytes() -> None:
    """Names, uids, versions and times included."""
    first, second = [await busy(MemoryKube(VirtualClock())) for _ in range(2)]
    assert first == second


async def test_birthdays_come_from_the_clock() -> None:
    """Nobody else tells the time."""
    clock = VirtualClock()
    kube = MemoryKube(clock)
    clock.advance(timedelta(hours=1, milliseconds=700))
    made = msgspec.json.decode(await kube.create(CONFIG_MAP, named("thing"), "default"))
    assert made["metadata"]["creationTimestamp"] == "2026-01-01T01:00:00Z"


async def test_what_was_read_is_nobody_elses() -> None:
    """Changing what one was given, or what one gave, changes nothing in the server."""
    kube = MemoryKube(VirtualClock())
    body = {**named("thing"), "data": {"a": "1"}}
    await kube.create(CONFIG_MAP, body, "default")
    body["data"]["a"] = "2"
    raw = await kube.get(Ref(CONFIG_MAP, "thing", "default"))
    assert msgspec.json.decode(raw)["data"] == {"a": "1"}


async def test_a_bookmark_says_how_far_a_watch_has_come() -> None:
    """Also when nothing of its scope has happened."""
    kube = MemoryKube(VirtualClock())
    since = (await kube.list(SCOPE)).resource_version
    async with asyncio.TaskGroup() as tasks:
        watch = kube.watch(SCOPE, since=since)
        waiting = tasks.create_task(first_of(watch))
        await asyncio.sleep(0)
        node = await kube.create(api.KINDS["", "Node"], named("node"))
        kube.send_bookmarks()
    mark = waiting.result()
    made = msgspec.json.decode(node)["metadata"]["resourceVersion"]
    assert (mark.type, mark.resource_version) == (WatchEventType.BOOKMARK, made)
    told = msgspec.json.decode(mark.object)
    assert told == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": made},
    }


async def test_initial_events_end_with_a_bookmark() -> None:
    """A watch that begins with what is there says when that was all."""
    kube = MemoryKube(VirtualClock())
    await filled(kube, 2)
    watch = kube.watch(SCOPE, since="")
    seen = [await first_of(watch) for _ in range(3)]
    assert [one.type for one in seen] == ["ADDED", "ADDED", "BOOKMARK"]
    annotations = msgspec.json.decode(seen[-1].object)["metadata"]["annotations"]
    assert annotations == {"k8s.io/initial-events-end": "true"}


async def test_a_watch_ends_when_it_is_cut_and_can_go_on() -> None:
    """As when a server goes away and another takes over."""
    kube = MemoryKube(VirtualClock())
    since = (await kube.list(SCOPE)).resource_version

    async def followed() -> list[WatchEvent]:
        return [change async for change in kube.watch(SCOPE, since=since)]

    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(followed())
        await asyncio.sleep(0)
        await filled(kube, 1)
        await asyncio.sleep(0)
        kube.cut_watches()
    (seen,) = watching.result()
    await kube.delete(Ref(CONFIG_MAP, "thing-0000", "default"), Deletion())
    again = kube.watch(SCOPE, since=seen.resource_version)
    assert (await anext(aiter(again))).type is WatchEventType.DELETED


async def test_a_watch_that_falls_behind_is_cut_and_cannot_go_on() -> None:
    """What a server remembers is bounded; whoever is too slow lists again."""
    kube = MemoryKube(VirtualClock(), history=10)
    since = (await kube.list(SCOPE)).resource_version
    await filled(kube, 5)
    watch = aiter(kube.watch(SCOPE, since=since))
    first = await anext(watch)
    for number in range(100):
        await kube.create(CONFIG_MAP, named(f"more-{number:04}"), "default")
    assert [change async for change in watch] == []
    with pytest.raises(GoneError):
        await anext(aiter(kube.watch(SCOPE, since=first.resource_version)))


async def test_history_is_kept_as_far_as_promised() -> None:
    """The last changes can always be told again."""
    kube = MemoryKube(VirtualClock(), history=10)
    await filled(kube, 50)
    newest = int((await kube.list(SCOPE)).resource_version)
    watch = aiter(kube.watch(SCOPE, since=str(newest - 10)))
    assert [(await anext(watch)).resource_version for _ in range(10)] == [
        str(newest - 9 + place) for place in range(10)
    ]


async def test_what_is_forgotten_cannot_be_watched_or_listed_from() -> None:
    """A token names a version, too."""
    kube = MemoryKube(VirtualClock())
    await filled(kube, 3)
    page = await kube.list(SCOPE, limit=1)
    await filled(kube, 0)
    await kube.create(CONFIG_MAP, named("late"), "default")
    kube.forget_history()
    with pytest.raises(GoneError):
        await kube.list(SCOPE, limit=1, token=page.token)
    with pytest.raises(GoneError):
        await anext(aiter(kube.watch(SCOPE, since=page.resource_version)))


async def test_a_version_that_is_no_number_is_refused() -> None:
    """Versions come from the server, and from nowhere else."""
    kube = MemoryKube(VirtualClock())
    with pytest.raises(InvalidError):
        await anext(aiter(kube.watch(SCOPE, since="yesterday")))


async def test_pages_of_a_changing_list_show_its_first_moment() -> None:
    """However much comes and goes between the pages."""
    kube = MemoryKube(VirtualClock(), history=PLENTY)
    await filled(kube, 200)
    want = [bytes(one) for one in (await kube.list(SCOPE)).items]
    found: list[bytes] = []
    page = await kube.list(SCOPE, limit=7)
    while True:
        found += [bytes(one) for one in page.items]
        if not page.token:
            break
        number = len(found)
        await kube.create(CONFIG_MAP, named(f"thing-{number:04}-late"), "default")
        await kube.patch(
            Ref(CONFIG_MAP, f"thing-{100 + number // 4:04}", "default"), Patch({"data": {"a": "1"}})
        )
        await kube.delete(Ref(CONFIG_MAP, f"thing-{199 - number // 7:04}", "default"), Deletion())
        page = await kube.list(SCOPE, limit=7, token=page.token)
    assert found == want


async def test_tidying_up_tells_how_much_there_was_to_do() -> None:
    """A second time there is nothing."""
    kube = MemoryKube(VirtualClock())
    made = msgspec.json.decode(await kube.create(CONFIG_MAP, named("owner"), "default"))
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "controller": True}
    reference = {**owner, "uid": made["metadata"]["uid"]}
    for name in ("one", "two"):
        body = named(name, ownerReferences=[reference])
        await kube.create(CONFIG_MAP, body, "default")
    assert kube.collect_garbage() == 0
    how = Deletion(propagation=Propagation.FOREGROUND)
    await kube.delete(Ref(CONFIG_MAP, "owner", "default"), how)
    assert kube.collect_garbage() == 3
    assert kube.collect_garbage() == 0
    assert (await kube.list(SCOPE)).items == ()


async def test_kinds_that_nobody_has_defined_are_kept_as_they_are() -> None:
    """Without a definition there is nothing to prune or to fill in."""
    kind = api.Kind("example.com", "v1", "Gadget", "gadgets", api.Object)
    kube = MemoryKube(VirtualClock())
    body = {**named("one"), "apiVersion": "example.com/v1", "kind": "Gadget", "colour": "blue"}
    made = msgspec.json.decode(await kube.create(kind, body, "default"))
    assert (made["colour"], made["metadata"]["generation"]) == ("blue", 1)


def laws_of_change(schema: dict[str, Any]) -> set[str]:
    """Every rule of a definition that looks at the object as it was."""
    own = {one["rule"] for one in schema.get("x-kubernetes-validations", [])}
    found = {rule for rule in own if "oldSelf" in rule}
    further = [schema[key] for key in ("items", "additionalProperties") if key in schema]
    for one in (*schema.get("properties", {}).values(), *further):
        found |= laws_of_change(one)
    return found


def test_every_law_of_change_in_our_definitions_is_known_here() -> None:
    """A new rule about `oldSelf` must be taught to this server as well."""
    found: set[str] = set()
    for one in crds(registry.extensions()):
        tree: dict[str, Any] = msgspec.to_builtins(one)
        for version in tree["spec"]["versions"]:
            found |= laws_of_change(version["schema"]["openAPIV3Schema"])
    assert found == {rule.cel for rule in (GROUP_STAYS, KIND_STAYS, SPEC_STAYS, STATIC_STAYS)}
