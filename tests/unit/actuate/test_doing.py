"""Orders for the world, each carried out once."""

from __future__ import annotations

import pytest

from dovetail import api
from dovetail.actuate.writing import NODE, delete_node
from dovetail.apiserver import MemoryKube
from dovetail.decide.lifecycle.step import DeleteNode
from dovetail.kube.errors import ConflictError
from dovetail.kube.seam import Ref
from dovetail.testing.virtual_time import VirtualTime
from tests.doubles.troubled_kube import ApiCall, Trouble, TroubledKube

CONFLICT = ConflictError(409, "Conflict", "somebody else was faster")


async def a_node() -> tuple[MemoryKube, str]:
    """A Node, and its uid."""
    kube = MemoryKube(VirtualTime())
    made = await kube.create(NODE, {"metadata": {"name": "one"}})
    return kube, api.decode(api.Node, made).metadata.uid


def conflicts(call: ApiCall) -> Trouble | None:
    """No deletion comes through."""
    return Trouble(CONFLICT) if call.verb == "delete" else None


async def test_what_is_gone_or_another_by_now_needs_no_deletion() -> None:
    """It is not what was to go."""
    kube, uid = await a_node()
    assert not await delete_node(kube, DeleteNode("one", "other"))
    assert await delete_node(kube, DeleteNode("one", uid))
    assert not await delete_node(kube, DeleteNode("one", uid))


async def test_a_conflict_about_what_is_still_there_is_told() -> None:
    """Else whoever wants it gone would take it for gone."""
    kube, uid = await a_node()
    with pytest.raises(ConflictError):
        await delete_node(TroubledKube(kube, conflicts), DeleteNode("one", uid))
    assert await kube.get(Ref(NODE, "one"))


async def test_a_conflict_about_what_is_gone_is_none() -> None:
    """Somebody else has done it."""
    kube, uid = await a_node()
    await delete_node(kube, DeleteNode("one", uid))
    assert not await delete_node(TroubledKube(kube, conflicts), DeleteNode("one", uid))
