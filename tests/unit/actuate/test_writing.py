"""What is written is what differs, and nobody's writing is lost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import msgspec
import pytest

from dovetail import api, labels
from dovetail.actuate.writing import (
    NODE,
    NODE_CLAIM,
    NODE_POOL,
    delete_claim,
    delete_node,
    write_claim,
    write_node,
    write_pool,
)
from dovetail.apiserver import MemoryKube
from dovetail.decide.lifecycle.conditions import LAUNCHED, VALIDATION_SUCCEEDED, fail, hold
from dovetail.decide.lifecycle.pool import pool_with
from dovetail.decide.lifecycle.step import DeleteClaim, DeleteNode, Step, claim_with
from dovetail.kube.errors import ConflictError, NotFoundError
from dovetail.kube.seam import Body, Json, Patch, Ref
from dovetail.model.claim import ClaimObject, NodeObject
from dovetail.model.taints import Effect, Taint
from dovetail.state.objects import claim_object, node_object, pool_view
from dovetail.testing.virtual_time import START, VirtualTime

REF: dict[str, Json] = {"group": labels.KWOK_GROUP, "kind": "KWOKNodeClass", "name": "default"}
LATER = START + timedelta(minutes=1)


class NotingKube(MemoryKube):
    """An API that remembers what it was sent."""

    def __init__(self) -> None:
        super().__init__(VirtualTime())
        self.sent: list[tuple[str, object]] = []

    async def patch(self, ref: Ref, patch: Patch) -> msgspec.Raw:
        """As any API, and noted."""
        self.sent.append((patch.subresource, patch.body))
        return await super().patch(ref, patch)


async def made_claim(kube: MemoryKube, *finalizers: str) -> api.NodeClaim:
    """A claim as the API has it."""
    body: Body = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": "one", "labels": {"team": "a"}, "finalizers": list(finalizers)},
        "spec": {"nodeClassRef": REF, "requirements": []},
    }
    return api.decode(api.NodeClaim, await kube.create(NODE_CLAIM, body))


async def read_claim(kube: MemoryKube) -> api.NodeClaim:
    """The claim as the API has it now."""
    return api.decode(api.NodeClaim, await kube.get(Ref(NODE_CLAIM, "one")))


async def made_node(kube: MemoryKube) -> api.Node:
    """A Node as the API has it, with an owner and a taint of somebody else's."""
    body: Body = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "n1",
            "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "other"}],
        },
        "spec": {
            "taints": [
                {"key": "since", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
                {"key": "gone", "effect": "NoSchedule"},
            ]
        },
    }
    return api.decode(api.Node, await kube.create(NODE, body))


def changed(held: api.NodeClaim, **fields: object) -> ClaimObject:
    """The claim with these fields."""
    return msgspec.structs.replace(claim_object(held), **fields)


async def test_a_claim_becomes_what_it_is_to_be() -> None:
    """Metadata and status, and what nobody spoke of stays."""
    kube = NotingKube()
    held = await made_claim(kube)
    after = msgspec.structs.replace(
        claim_with(claim_object(held), Step(conditions=(hold(LAUNCHED),)), LATER),
        labels={"team": "a", labels.ZONE: "b"},
        annotations={"note": "kept"},
        finalizers=(labels.TERMINATION_FINALIZER,),
        provider_id="kwok://one",
        node_name="n1",
        image_id="image",
        capacity={"cpu": 4000, "memory": 2**30},
        allocatable={"cpu": 3900},
        last_pod_event_at=LATER,
    )
    answers = await write_claim(kube, held, after)
    found = await read_claim(kube)
    assert msgspec.structs.replace(claim_object(found), generation=1) == after
    assert found.metadata.labels == {"team": "a", labels.ZONE: "b"}
    assert found.status.capacity == {"cpu": "4", "memory": "1Gi"}
    assert [subresource for subresource, _ in kube.sent] == ["", "status"]
    assert api.decode(api.NodeClaim, answers[-1]) == found


async def test_nothing_is_written_where_nothing_differs() -> None:
    """However often one looks."""
    kube = NotingKube()
    held = await made_claim(kube)
    assert await write_claim(kube, held, claim_object(held)) == ()
    node = await made_node(kube)
    assert await write_node(kube, node, node_object(node)) == ()
    assert kube.sent == []


async def test_only_what_differs_is_sent() -> None:
    """A label alone needs no version, so that it cannot fail for what it does not touch."""
    kube = NotingKube()
    held = await made_claim(kube)
    await write_claim(kube, held, changed(held, labels={"team": "a", "new": "b"}))
    assert kube.sent == [("", {"metadata": {"labels": {"new": "b"}}})]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda held: changed(held, finalizers=("a",)), id="finalizers"),
        pytest.param(
            lambda held: claim_with(claim_object(held), Step(conditions=(hold(LAUNCHED),)), LATER),
            id="conditions",
        ),
    ],
)
async def test_a_list_is_not_written_over_somebody_elses(
    change: Callable[[api.NodeClaim], ClaimObject],
) -> None:
    """Whoever read an older version looks again."""
    kube = NotingKube()
    held = await made_claim(kube)
    await kube.patch(Ref(NODE_CLAIM, "one"), Patch({"metadata": {"annotations": {"a": "b"}}}))
    with pytest.raises(ConflictError):
        await write_claim(kube, held, change(held))


async def test_the_last_finalizer_goes_after_the_last_word() -> None:
    """Since the object goes with it."""
    kube = NotingKube()
    held = await made_claim(kube, labels.TERMINATION_FINALIZER)
    await delete_claim(kube, DeleteClaim("one", held.metadata.uid))
    going = await read_claim(kube)
    said = claim_with(claim_object(going), Step(conditions=(hold("InstanceTerminating"),)), LATER)
    await write_claim(kube, going, msgspec.structs.replace(said, finalizers=()))
    assert [subresource for subresource, _ in kube.sent] == ["status", ""]
    with pytest.raises(NotFoundError):
        await read_claim(kube)


async def test_a_resource_that_is_no_longer_there_is_taken_out() -> None:
    """Though a merge would keep it."""
    kube = NotingKube()
    held = await made_claim(kube)
    await write_claim(kube, held, changed(held, capacity={"cpu": 1000, "gpu": 1}))
    found = await read_claim(kube)
    await write_claim(kube, found, changed(found, capacity={"cpu": 2000}))
    assert (await read_claim(kube)).status.capacity == {"cpu": "2"}


async def test_a_node_keeps_what_others_gave_it() -> None:
    """Owners and taints of theirs as they are; ours are added."""
    kube = NotingKube()
    held = await made_node(kube)
    claim = ClaimObject("one", uid="uid-1")
    fresh = Taint(labels.DISRUPTED_TAINT)
    after: NodeObject = msgspec.structs.replace(
        node_object(held),
        labels={"a": "b"},
        finalizers=(labels.TERMINATION_FINALIZER,),
        taints=(Taint("since", "", Effect.NO_EXECUTE), fresh),
        owner_uids=("other", "uid-1"),
    )
    answers = await write_node(kube, held, after, (claim,))
    found = api.decode(api.Node, answers[-1])
    assert [(one.key, one.time_added) for one in found.spec.taints] == [
        ("since", START),
        (labels.DISRUPTED_TAINT, None),
    ]
    assert found.metadata.owner_references == (
        api.OwnerReference("v1", "X", "x", "other"),
        api.OwnerReference("karpenter.sh/v1", "NodeClaim", "one", "uid-1", False, True),
    )
    assert found.metadata.finalizers == (labels.TERMINATION_FINALIZER,)
    assert found.metadata.labels == {"a": "b"}


async def test_taints_are_not_written_over_somebody_elses() -> None:
    """They are one list."""
    kube = NotingKube()
    held = await made_node(kube)
    await kube.patch(Ref(NODE, "n1"), Patch({"spec": {"taints": []}}))
    fenced = msgspec.structs.replace(node_object(held), taints=(Taint(labels.DISRUPTED_TAINT),))
    with pytest.raises(ConflictError):
        await write_node(kube, held, fenced)


async def test_a_pool_becomes_what_it_is_to_be() -> None:
    """Annotations, counts and conditions; a resource that is gone goes."""
    kube = NotingKube()
    template: Json = {"spec": {"nodeClassRef": REF, "requirements": []}}
    body: Body = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "default"},
        "spec": {"template": template},
    }
    held = api.decode(api.NodePool, await kube.create(NODE_POOL, body))
    wrong = Step(conditions=(fail(VALIDATION_SUCCEEDED, "Because", "spec.x"),))
    after = msgspec.structs.replace(
        pool_with(pool_view(held), wrong, LATER),
        annotations={labels.NODE_POOL_HASH: "1"},
        resources={"cpu": 4000, "nodes": 1},
        n_nodes=1,
        node_class_observed_generation=7,
    )
    found = api.decode(api.NodePool, (await write_pool(kube, held, after))[-1])
    read = pool_view(found)
    assert msgspec.structs.replace(read, pool=after.pool) == after
    assert not read.pool.is_ready
    emptied = msgspec.structs.replace(read, resources={"nodes": 0}, n_nodes=0)
    found = api.decode(api.NodePool, (await write_pool(kube, found, emptied))[-1])
    assert (found.status.resources, found.status.nodes) == ({"nodes": "0"}, 0)


async def test_only_that_very_object_is_deleted() -> None:
    """Another one of the same name is left alone, and one that is gone is gone."""
    kube = NotingKube()
    claim, node = await made_claim(kube), await made_node(kube)
    assert not await delete_claim(kube, DeleteClaim("one", "another"))
    assert not await delete_node(kube, DeleteNode("n1", "another"))
    assert await delete_claim(kube, DeleteClaim("one", claim.metadata.uid))
    assert await delete_node(kube, DeleteNode("n1", node.metadata.uid))
    assert not await delete_claim(kube, DeleteClaim("one", claim.metadata.uid))
