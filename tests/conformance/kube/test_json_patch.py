"""What a JSON patch changes."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.kube.errors import InvalidError
from dovetail.kube.seam import Kube, Patch, PatchType, Ref
from tests.conformance.kube.objects import (
    CONFIG_MAP,
    NODE_CLAIM,
    config_map,
    got,
    make,
    node_claim,
    read,
)
from tests.conformance.kube.servers import Names, Server


async def patched(kube: Kube, ref: Ref, *operations: Any, subresource: str = "") -> dict[str, Any]:
    """The object after some operations."""
    asked = Patch([*operations], type=PatchType.JSON, subresource=subresource)
    return read(await kube.patch(ref, asked))


async def test_operations_are_done_in_order(server: Server, names: Names) -> None:
    """Each sees what the one before it has done."""
    async with server.open() as kube:
        ref = await make(kube, CONFIG_MAP, config_map(names.fresh(), a="1", b="2"))
        after = await patched(
            kube,
            ref,
            {"op": "add", "path": "/data/c", "value": "3"},
            {"op": "replace", "path": "/data/a", "value": "9"},
            {"op": "copy", "from": "/data/c", "path": "/data/d"},
            {"op": "move", "from": "/data/b", "path": "/data/e"},
            {"op": "test", "path": "/data/e", "value": "2"},
            {"op": "remove", "path": "/data/c"},
        )
        assert after["data"] == {"a": "9", "d": "3", "e": "2"}


async def test_a_test_that_fails_leaves_everything(server: Server, names: Names) -> None:
    """All operations are done, or none."""
    async with server.open() as kube:
        ref = await make(kube, CONFIG_MAP, config_map(names.fresh(), a="1"))
        before = await got(kube, ref)
        with pytest.raises(InvalidError) as refused:
            await patched(
                kube,
                ref,
                {"op": "replace", "path": "/data/a", "value": "2"},
                {"op": "test", "path": "/data/a", "value": "1"},
            )
        assert refused.value.status == 422
        assert await got(kube, ref) == before


async def test_what_is_not_there_cannot_be_removed(server: Server, names: Names) -> None:
    """A patch must know what it changes."""
    async with server.open() as kube:
        ref = await make(kube, CONFIG_MAP, config_map(names.fresh(), a="1"))
        with pytest.raises(InvalidError) as refused:
            await patched(kube, ref, {"op": "remove", "path": "/data/z"})
        assert refused.value.status == 422


async def test_slashes_and_tildes_are_escaped(server: Server, names: Names) -> None:
    """Annotations have slashes in their names."""
    async with server.open() as kube:
        ref = await make(kube, CONFIG_MAP, config_map(names.fresh()))
        after = await patched(
            kube,
            ref,
            {"op": "add", "path": "/metadata/annotations", "value": {}},
            {"op": "add", "path": "/metadata/annotations/example.com~1key", "value": "yes"},
        )
        assert after["metadata"]["annotations"] == {"example.com/key": "yes"}


async def test_a_list_is_added_to_at_its_end_or_inside(server: Server, names: Names) -> None:
    """A finalizer is added without knowing the others, and taken off if it is the one expected."""
    async with server.open() as kube:
        ref = await make(kube, NODE_CLAIM, node_claim(names.fresh()))
        at = "/metadata/finalizers"
        after = await patched(
            kube,
            ref,
            {"op": "add", "path": at, "value": ["example.com/a"]},
            {"op": "add", "path": f"{at}/-", "value": "example.com/c"},
            {"op": "add", "path": f"{at}/1", "value": "example.com/b"},
        )
        assert after["metadata"]["finalizers"] == [f"example.com/{one}" for one in "abc"]
        after = await patched(
            kube,
            ref,
            {"op": "test", "path": f"{at}/0", "value": "example.com/a"},
            {"op": "remove", "path": f"{at}/0"},
        )
        assert after["metadata"]["finalizers"] == [f"example.com/{one}" for one in "bc"]


async def test_a_status_can_be_patched_this_way_too(server: Server, names: Names) -> None:
    """And then only the status."""
    async with server.open() as kube:
        ref = await make(kube, NODE_CLAIM, node_claim(names.fresh()))
        after = await patched(
            kube,
            ref,
            {"op": "add", "path": "/status", "value": {"nodeName": "there"}},
            {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}},
            subresource="status",
        )
        assert after["status"]["nodeName"] == "there"
        assert "labels" not in after["metadata"]
