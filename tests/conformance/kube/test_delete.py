"""How objects go."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from dovetail.kube.errors import ConflictError, InvalidError, NotFoundError
from dovetail.kube.seam import Deletion, Kube, Ref, Scope
from tests.conformance.kube.objects import (
    CONFIG_MAP,
    DEFAULT,
    NODE,
    NODE_CLAIM,
    NOW,
    POD,
    bound,
    config_map,
    got,
    make,
    merge,
    named,
    node,
    node_claim,
    pod,
    shown,
    told,
)
from tests.conformance.kube.servers import Names, Server

FINALIZER = "example.com/hold"


async def is_gone(kube: Kube, ref: Ref) -> bool:
    """Whether there is no such object."""
    try:
        await kube.get(ref)
    except NotFoundError:
        return True
    return False


async def bound_pod(kube: Kube, names: Names, **metadata: Any) -> Ref:
    """A pod that has a node."""
    host = await make(kube, NODE, node(names.fresh()))
    ref = await make(kube, POD, {**pod(""), **named(names.fresh(), **metadata)})
    await bound(kube, ref, host.name)
    return ref


async def test_what_nothing_holds_goes_at_once(server: Server, names: Names) -> None:
    """A deletion is over when it is answered."""
    async with server.open() as kube:
        ref = await make(kube, CONFIG_MAP, config_map(names.fresh()))
        await kube.delete(ref, Deletion())
        assert await is_gone(kube, ref)
        with pytest.raises(NotFoundError):
            await kube.delete(ref, Deletion())


async def test_a_finalizer_holds_an_object(server: Server, names: Names) -> None:
    """It is marked as going, stays, and goes when the last finalizer is taken off."""
    async with server.open() as kube:
        held = named(names.fresh(), finalizers=[FINALIZER, "example.com/other"])
        ref = await make(kube, NODE_CLAIM, {**node_claim(""), **held})
        before = (await got(kube, ref))["metadata"]
        await kube.delete(ref, Deletion())
        going = (await got(kube, ref))["metadata"]
        assert going["deletionTimestamp"] >= before["creationTimestamp"]
        assert going["deletionGracePeriodSeconds"] == 0
        assert going["generation"] == before["generation"] + 1
        await merge(kube, ref, {"metadata": {"finalizers": [FINALIZER]}})
        assert not await is_gone(kube, ref)
        await merge(kube, ref, {"metadata": {"finalizers": None}})
        assert await is_gone(kube, ref)


async def test_the_moment_of_deletion_stays(server: Server, names: Names) -> None:
    """Deleting what is going already changes nothing."""
    async with server.open() as kube:
        ref = await make(kube, CONFIG_MAP, named(names.fresh(), finalizers=[FINALIZER]))
        await kube.delete(ref, Deletion())
        going = await got(kube, ref)
        await kube.delete(ref, Deletion())
        assert await got(kube, ref) == going


async def test_what_is_going_gets_no_more_finalizers(server: Server, names: Names) -> None:
    """Who comes too late cannot hold it."""
    async with server.open() as kube:
        ref = await make(kube, CONFIG_MAP, named(names.fresh(), finalizers=[FINALIZER]))
        await kube.delete(ref, Deletion())
        with pytest.raises(InvalidError):
            await merge(kube, ref, {"metadata": {"finalizers": [FINALIZER, "example.com/late"]}})


async def test_what_is_going_can_still_be_changed(server: Server, names: Names) -> None:
    """Conditions are written while an object waits for its end."""
    async with server.open() as kube:
        held = named(names.fresh(), finalizers=[FINALIZER])
        ref = await make(kube, NODE_CLAIM, {**node_claim(""), **held})
        await kube.delete(ref, Deletion())
        after = await merge(kube, ref, {"status": {"nodeName": "there"}}, "status")
        assert after["status"]["nodeName"] == "there"


async def test_a_finalizer_taken_off_before_the_end_holds_nothing(
    server: Server, names: Names
) -> None:
    """Without finalizers an object is not deleted, it only can be."""
    async with server.open() as kube:
        ref = await make(kube, CONFIG_MAP, named(names.fresh(), finalizers=[FINALIZER]))
        await merge(kube, ref, {"metadata": {"finalizers": None}})
        assert not await is_gone(kube, ref)
        await kube.delete(ref, Deletion())
        assert await is_gone(kube, ref)


async def test_the_watch_sees_the_mark_and_the_end(server: Server, names: Names) -> None:
    """Two changes: it is going, it is gone."""
    async with server.open() as kube:
        name = names.fresh()
        scope = Scope(CONFIG_MAP, DEFAULT, fields=f"metadata.name={name}")
        ref = await make(kube, CONFIG_MAP, named(name, finalizers=[FINALIZER]))
        since = (await kube.list(scope)).resource_version
        await kube.delete(ref, Deletion())
        await merge(kube, ref, {"metadata": {"finalizers": None}})
        changes = await told(kube.watch(scope, since=since), 2)
        assert [shown(one) for one in changes] == [("MODIFIED", name), ("DELETED", name)]


async def test_a_uid_says_which_object_is_meant(server: Server, names: Names) -> None:
    """Another of the same name is left alone."""
    async with server.open() as kube:
        ref = await make(kube, CONFIG_MAP, config_map(names.fresh()))
        with pytest.raises(ConflictError):
            await kube.delete(ref, Deletion(uid="another"))
        uid = (await got(kube, ref))["metadata"]["uid"]
        await kube.delete(ref, Deletion(uid=uid))
        assert await is_gone(kube, ref)


async def test_a_version_says_which_state_is_meant(server: Server, names: Names) -> None:
    """What has changed since it was read is left alone."""
    async with server.open() as kube:
        ref = await make(kube, CONFIG_MAP, config_map(names.fresh()))
        old = (await got(kube, ref))["metadata"]["resourceVersion"]
        new = (await merge(kube, ref, {"data": {"a": "1"}}))["metadata"]["resourceVersion"]
        with pytest.raises(ConflictError):
            await kube.delete(ref, Deletion(resource_version=old))
        await kube.delete(ref, Deletion(resource_version=new))
        assert await is_gone(kube, ref)


async def test_a_pod_without_a_node_goes_at_once(server: Server, names: Names) -> None:
    """Nothing runs that would need time to end."""
    async with server.open() as kube:
        ref = await make(kube, POD, pod(names.fresh()))
        await kube.delete(ref, Deletion())
        assert await is_gone(kube, ref)


async def test_a_pod_on_a_node_has_time_to_end(server: Server, names: Names) -> None:
    """It is marked with the moment at which it must have ended, and waits for its kubelet."""
    async with server.open() as kube:
        ref = await bound_pod(kube, names)
        await kube.delete(ref, Deletion())
        metadata = (await got(kube, ref))["metadata"]
        assert metadata["deletionGracePeriodSeconds"] == 30
        await kube.delete(ref, NOW)
        assert await is_gone(kube, ref)


async def test_a_grace_period_under_way_only_becomes_shorter(server: Server, names: Names) -> None:
    """The end is counted from the first deletion."""
    async with server.open() as kube:
        ref = await bound_pod(kube, names)
        await kube.delete(ref, Deletion(grace_seconds=60))
        first = (await got(kube, ref))["metadata"]
        await kube.delete(ref, Deletion(grace_seconds=90))
        assert (await got(kube, ref))["metadata"] == first
        await kube.delete(ref, Deletion(grace_seconds=10))
        second = (await got(kube, ref))["metadata"]
        assert second["deletionGracePeriodSeconds"] == 10
        ends = [datetime.fromisoformat(one["deletionTimestamp"]) for one in (first, second)]
        assert (ends[0] - ends[1]).total_seconds() == 50


async def test_a_pod_that_has_ended_goes_at_once(server: Server, names: Names) -> None:
    """There is nothing to wait for."""
    async with server.open() as kube:
        ref = await bound_pod(kube, names)
        await merge(kube, ref, {"status": {"phase": "Succeeded"}}, "status")
        await kube.delete(ref, Deletion())
        assert await is_gone(kube, ref)


async def test_a_pod_waits_for_its_finalizers_too(server: Server, names: Names) -> None:
    """Its kubelet's word is not enough, nor are its finalizers alone."""
    async with server.open() as kube:
        ref = await bound_pod(kube, names, finalizers=[FINALIZER])
        await kube.delete(ref, Deletion())
        await kube.delete(ref, NOW)
        assert not await is_gone(kube, ref)
        await merge(kube, ref, {"metadata": {"finalizers": None}})
        assert await is_gone(kube, ref)


async def test_a_pod_without_finalizers_still_waits_for_its_kubelet(
    server: Server, names: Names
) -> None:
    """Taking off the last finalizer does not cut the grace period short."""
    async with server.open() as kube:
        ref = await bound_pod(kube, names, finalizers=[FINALIZER])
        await kube.delete(ref, Deletion())
        await merge(kube, ref, {"metadata": {"finalizers": None}})
        assert not await is_gone(kube, ref)
