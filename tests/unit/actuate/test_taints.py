"""Pods are asked to keep off a Node, and nobody else's writing is lost by it."""

from __future__ import annotations

import pytest

from dovetail import api, labels
from dovetail.actuate.taints import add_soft_taint, remove_soft_taint
from dovetail.actuate.writing import NODE
from dovetail.kube.errors import ConflictError
from dovetail.kube.seam import Body, Deletion, Json, Patch, Ref
from tests.unit.actuate.test_writing import NotingKube

OTHER: dict[str, Json] = {"key": "x.com/y", "effect": "NoExecute", "value": "v"}
MARK: dict[str, Json] = {"key": labels.DISCOURAGED, "effect": "PreferNoSchedule"}
HARDER: dict[str, Json] = {"key": labels.DISCOURAGED, "effect": "NoSchedule"}
NOT_READY = "node.kubernetes.io/not-ready"
FENCE: dict[str, Json] = {"key": labels.DISRUPTED_TAINT, "effect": "NoSchedule"}


async def made(kube: NotingKube, *taints: Json) -> api.Node:
    """A Node that bears these."""
    body: Body = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "finalizers": ["x.com/stays"]},
        "spec": {"taints": list(taints), "unschedulable": True},
    }
    return api.decode(api.Node, await kube.create(NODE, body))


async def borne(kube: NotingKube) -> list[tuple[str, str, str]]:
    """The taints of the Node, but for that of a kubelet that has not spoken yet."""
    node = api.decode(api.Node, await kube.get(Ref(NODE, "n")))
    assert node.spec.unschedulable
    return [(one.key, one.value, one.effect) for one in node.spec.taints if one.key != NOT_READY]


async def test_the_mark_is_put_on_and_taken_off_and_the_rest_stays() -> None:
    """In one patch each, of taints alone."""
    kube = NotingKube()
    node = await made(kube, OTHER, HARDER)
    others = [("x.com/y", "v", "NoExecute"), (labels.DISCOURAGED, "", "NoSchedule")]
    (raw,) = await add_soft_taint(kube, node)
    assert await borne(kube) == [*others, (labels.DISCOURAGED, "", "PreferNoSchedule")]
    await remove_soft_taint(kube, api.decode(api.Node, raw))
    assert await borne(kube) == others
    assert [list(body) for _, body in kube.sent if isinstance(body, dict)] == [
        ["spec", "metadata"],
        ["spec", "metadata"],
    ]


async def test_what_is_so_already_is_not_written() -> None:
    """Whatever value the mark has: key and effect make it one."""
    kube = NotingKube()
    marked = await made(kube, {**MARK, "value": "x"})
    assert await add_soft_taint(kube, marked) == ()
    (raw,) = await remove_soft_taint(kube, marked)
    assert await remove_soft_taint(kube, api.decode(api.Node, raw)) == ()
    assert len(kube.sent) == 1
    assert await borne(kube) == []


async def test_what_others_wrote_meanwhile_is_kept() -> None:
    """A conflict: the Node is read again."""
    kube = NotingKube()
    node = await made(kube)
    await kube.patch(Ref(NODE, "n"), Patch({"spec": {"taints": [OTHER]}}))
    (raw,) = await add_soft_taint(kube, node)
    kept = ("x.com/y", "v", "NoExecute")
    assert await borne(kube) == [kept, (labels.DISCOURAGED, "", "PreferNoSchedule")]
    await kube.patch(Ref(NODE, "n"), Patch({"metadata": {"labels": {"a": "b"}}}))
    await remove_soft_taint(kube, api.decode(api.Node, raw))
    assert await borne(kube) == [kept]


async def test_a_node_that_turns_out_to_leave_is_not_marked() -> None:
    """It was fenced, or deleted, since it was last heard of."""
    kube = NotingKube()
    node = await made(kube)
    await kube.patch(Ref(NODE, "n"), Patch({"spec": {"taints": [FENCE]}}))
    assert await add_soft_taint(kube, node) == ()
    await kube.patch(Ref(NODE, "n"), Patch({"spec": {"taints": [OTHER]}}))
    await kube.delete(Ref(NODE, "n"), Deletion())
    assert await add_soft_taint(kube, node) == ()
    assert await borne(kube) == [("x.com/y", "v", "NoExecute")]


async def test_another_node_of_the_same_name_is_left_alone() -> None:
    """It came after the one that was meant."""
    kube = NotingKube()
    node = await made(kube)
    await kube.patch(Ref(NODE, "n"), Patch({"metadata": {"finalizers": None}}))
    await kube.delete(Ref(NODE, "n"), Deletion())
    await made(kube)
    with pytest.raises(ConflictError):
        await add_soft_taint(kube, node)
    assert await borne(kube) == []
