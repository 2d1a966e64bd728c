"""What a strategic merge patch changes."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.kube.errors import InvalidError
from dovetail.kube.seam import Kube, Patch, PatchType, Ref
from tests.conformance.kube.objects import (
    DEPLOYMENT,
    NODE,
    NODE_POOL,
    deployment,
    make,
    merge,
    node,
    node_pool,
    read,
)
from tests.conformance.kube.servers import Names, Server


async def patched(
    kube: Kube, ref: Ref, body: dict[str, Any], subresource: str = ""
) -> dict[str, Any]:
    """The object after a patch."""
    return read(await kube.patch(ref, Patch(body, PatchType.STRATEGIC, subresource)))


def containers(tree: dict[str, Any]) -> dict[str, str]:
    """The images of a deployment's containers."""
    found = tree["spec"]["template"]["spec"]["containers"]
    return {one["name"]: one["image"] for one in found}


def template(*found: dict[str, Any]) -> dict[str, Any]:
    """A patch of a deployment's containers."""
    return {"spec": {"template": {"spec": {"containers": [*found]}}}}


async def test_containers_are_merged_by_name(server: Server, names: Names) -> None:
    """Those that are not named stay; new ones are added."""
    async with server.open() as kube:
        ref = await make(kube, DEPLOYMENT, deployment(names.fresh()))
        await patched(kube, ref, template({"name": "side", "image": "side:1"}))
        after = await patched(kube, ref, template({"name": "main", "image": "main:2"}))
        assert containers(after) == {"main": "main:2", "side": "side:1"}


async def test_a_directive_deletes_an_item(server: Server, names: Names) -> None:
    """A merge alone could only add."""
    async with server.open() as kube:
        ref = await make(kube, DEPLOYMENT, deployment(names.fresh()))
        await patched(kube, ref, template({"name": "side", "image": "side:1"}))
        after = await patched(kube, ref, template({"name": "side", "$patch": "delete"}))
        assert list(containers(after)) == ["main"]


async def test_a_directive_replaces_a_list(server: Server, names: Names) -> None:
    """Then the list is what the patch says."""
    async with server.open() as kube:
        ref = await make(kube, DEPLOYMENT, deployment(names.fresh()))
        new = template({"name": "only", "image": "only:1"}, {"$patch": "replace"})
        assert containers(await patched(kube, ref, new)) == {"only": "only:1"}


async def test_conditions_are_merged_by_type(server: Server, names: Names) -> None:
    """Each writer keeps to its own conditions."""
    async with server.open() as kube:
        ref = await make(kube, NODE, node(names.fresh()))
        for one in (
            {"type": "Ready", "status": "False"},
            {"type": "DiskPressure", "status": "False"},
        ):
            await patched(kube, ref, {"status": {"conditions": [one]}}, "status")
        ready = {"type": "Ready", "status": "True"}
        after = await patched(kube, ref, {"status": {"conditions": [ready]}}, "status")
        said = {one["type"]: one["status"] for one in after["status"]["conditions"]}
        assert said == {"Ready": "True", "DiskPressure": "False"}


async def test_taints_are_replaced_whole(server: Server, names: Names) -> None:
    """A node's taints are one value to Kubernetes: whoever patches them states them all."""
    async with server.open() as kube:
        ref = await make(kube, NODE, node(names.fresh()))
        first = {"key": "a", "value": "1", "effect": "NoSchedule"}
        second = {"key": "b", "value": "1", "effect": "NoSchedule"}
        await merge(kube, ref, {"spec": {"taints": [first]}})
        after = await patched(kube, ref, {"spec": {"taints": [second]}})
        assert after["spec"]["taints"] == [second]


async def test_finalizers_are_merged_and_deleted_by_value(server: Server, names: Names) -> None:
    """A list of plain values is a set."""
    async with server.open() as kube:
        ref = await make(kube, NODE, node(names.fresh()))
        for one in ("example.com/a", "example.com/b"):
            await patched(kube, ref, {"metadata": {"finalizers": [one]}})
        body = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}
        after = await patched(kube, ref, body)
        assert after["metadata"]["finalizers"] == ["example.com/b"]


async def test_null_takes_a_field_away(server: Server, names: Names) -> None:
    """As in a merge patch."""
    async with server.open() as kube:
        ref = await make(kube, NODE, node(names.fresh(), labels={"a": "1", "b": "2"}))
        after = await patched(kube, ref, {"metadata": {"labels": {"a": None}}})
        assert after["metadata"]["labels"] == {"b": "2"}


async def test_custom_resources_take_no_such_patch(server: Server, names: Names) -> None:
    """The server does not know their lists."""
    async with server.open() as kube:
        ref = await make(kube, NODE_POOL, node_pool(names.fresh()))
        with pytest.raises(InvalidError) as refused:
            await patched(kube, ref, {"spec": {"weight": 1}})
        assert refused.value.status == 415


async def test_what_a_patch_adds_comes_first(server: Server, names: Names) -> None:
    """Before the items that it does not name; those that were there stay where they were."""
    async with server.open() as kube:
        ref = await make(kube, DEPLOYMENT, deployment(names.fresh()))
        added = template({"name": "b", "image": "b:1"}, {"name": "a", "image": "a:1"})
        assert list(containers(await patched(kube, ref, added))) == ["b", "a", "main"]
        changed = template({"name": "main", "image": "main:2"})
        assert list(containers(await patched(kube, ref, changed))) == ["b", "a", "main"]
