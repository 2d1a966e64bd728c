"""What server-side apply changes, and who owns what afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import api
from dovetail.kube.errors import ConflictError, InvalidError
from dovetail.kube.seam import Kube, Patch, PatchType, Ref
from tests.conformance.kube.objects import (
    CONFIG_MAP,
    DEFAULT,
    DEPLOYMENT,
    NODE_POOL,
    config_map,
    deployment,
    got,
    make,
    merge,
    node_pool,
    read,
)
from tests.conformance.kube.servers import Names, Server


async def apply(
    kube: Kube, ref: Ref, body: dict[str, Any], manager: str = "one", **how: Any
) -> dict[str, Any]:
    """The object after a manager has said what it wants."""
    metadata = {"name": ref.name, **body.get("metadata", {})}
    identity = {"apiVersion": ref.kind.api_version, "kind": ref.kind.name}
    asked = Patch(
        {**identity, **body, "metadata": metadata}, PatchType.APPLY, manager=manager, **how
    )
    return read(await kube.patch(ref, asked))


def ref_to(names: Names, kind: api.Kind = CONFIG_MAP) -> Ref:
    """An object that is not there yet."""
    return Ref(kind, names.fresh(), DEFAULT if kind.is_namespaced else "")


def managers(tree: dict[str, Any]) -> list[tuple[str, str]]:
    """Who owns something, and by which operation."""
    return sorted((one["manager"], one["operation"]) for one in tree["metadata"]["managedFields"])


async def test_apply_makes_what_is_not_there(server: Server, names: Names) -> None:
    """One call for both: make it, or make it so."""
    async with server.open() as kube:
        ref = ref_to(names)
        made = await apply(kube, ref, {"data": {"a": "1"}})
        assert made["metadata"]["name"] == ref.name
        assert made["metadata"]["uid"]
        assert managers(made) == [("one", "Apply")]
        fields = made["metadata"]["managedFields"][0]
        assert fields["fieldsType"] == "FieldsV1"
        assert fields["fieldsV1"]["f:data"]["f:a"] == {}


async def test_applying_the_same_again_changes_nothing(server: Server, names: Names) -> None:
    """It can be repeated without end."""
    async with server.open() as kube:
        ref = ref_to(names)
        first = await apply(kube, ref, {"data": {"a": "1"}})
        assert await apply(kube, ref, {"data": {"a": "1"}}) == first


async def test_what_is_no_longer_said_goes(server: Server, names: Names) -> None:
    """A manager's fields are what it said last."""
    async with server.open() as kube:
        ref = ref_to(names)
        await apply(kube, ref, {"data": {"a": "1", "b": "2"}})
        after = await apply(kube, ref, {"data": {"b": "2"}})
        assert after["data"] == {"b": "2"}


async def test_managers_own_their_fields_side_by_side(server: Server, names: Names) -> None:
    """Each may change and drop its own, and leaves the other's."""
    async with server.open() as kube:
        ref = ref_to(names)
        await apply(kube, ref, {"data": {"a": "1"}}, "one")
        await apply(kube, ref, {"data": {"b": "2"}}, "two")
        after = await apply(kube, ref, {"data": {"a": "3"}}, "one")
        assert after["data"] == {"a": "3", "b": "2"}
        assert managers(after) == [("one", "Apply"), ("two", "Apply")]


async def test_another_value_for_anothers_field_is_a_conflict(server: Server, names: Names) -> None:
    """The message names the manager and the field."""
    async with server.open() as kube:
        ref = ref_to(names)
        await apply(kube, ref, {"data": {"a": "1"}}, "one")
        with pytest.raises(ConflictError) as refused:
            await apply(kube, ref, {"data": {"a": "2"}}, "two")
        assert (refused.value.status, refused.value.reason) == (409, "Conflict")
        assert '"one"' in str(refused.value)
        assert ".data.a" in str(refused.value)
        assert (await got(kube, ref))["data"] == {"a": "1"}


async def test_the_same_value_is_shared(server: Server, names: Names) -> None:
    """It stays until nobody wants it any more."""
    async with server.open() as kube:
        ref = ref_to(names)
        await apply(kube, ref, {"data": {"a": "1", "x": "0"}}, "one")
        await apply(kube, ref, {"data": {"a": "1"}}, "two")
        after = await apply(kube, ref, {"data": {"x": "0"}}, "one")
        assert after["data"] == {"a": "1", "x": "0"}
        after = await apply(kube, ref, {"data": {}}, "two")
        assert after["data"] == {"x": "0"}


async def test_force_takes_a_field(server: Server, names: Names) -> None:
    """Who had it owns it no more, and cannot take it away by silence."""
    async with server.open() as kube:
        ref = ref_to(names)
        await apply(kube, ref, {"data": {"a": "1", "b": "1"}}, "one")
        after = await apply(kube, ref, {"data": {"a": "2"}}, "two", force=True)
        assert after["data"] == {"a": "2", "b": "1"}
        after = await apply(kube, ref, {"data": {"b": "1"}}, "one")
        assert after["data"] == {"a": "2", "b": "1"}


async def test_other_writes_own_fields_too(server: Server, names: Names) -> None:
    """What was set by a patch is not changed by an apply unawares."""
    async with server.open() as kube:
        ref = ref_to(names)
        await apply(kube, ref, {"data": {"a": "1"}}, "one")
        await merge(kube, ref, {"data": {"a": "2"}})
        with pytest.raises(ConflictError):
            await apply(kube, ref, {"data": {"a": "1"}}, "one")
        after = await apply(kube, ref, {"data": {"a": "1"}}, "one", force=True)
        assert after["data"] == {"a": "1"}


async def test_what_was_created_is_owned_by_its_creator(server: Server, names: Names) -> None:
    """The first apply meets what was there before."""
    async with server.open() as kube:
        ref = await make(kube, CONFIG_MAP, config_map(names.fresh(), a="1"))
        with pytest.raises(ConflictError):
            await apply(kube, ref, {"data": {"a": "2"}})
        after = await apply(kube, ref, {"data": {"b": "2"}})
        assert after["data"] == {"a": "1", "b": "2"}


async def test_items_of_keyed_lists_have_owners_of_their_own(server: Server, names: Names) -> None:
    """One manager adds a container beside another's, and takes it away again."""
    async with server.open() as kube:
        ref = ref_to(names, DEPLOYMENT)
        await apply(kube, ref, deployment(ref.name), "one")

        def side(*containers: dict[str, str]) -> dict[str, Any]:
            return {"spec": {"template": {"spec": {"containers": [*containers]}}}}

        after = await apply(kube, ref, side({"name": "side", "image": "side:1"}), "two")
        found = after["spec"]["template"]["spec"]["containers"]
        assert [one["name"] for one in found] == ["main", "side"]
        after = await apply(kube, ref, {"metadata": {"labels": {"a": "b"}}}, "two")
        found = after["spec"]["template"]["spec"]["containers"]
        assert [one["name"] for one in found] == ["main"]


async def test_the_status_is_applied_apart(server: Server, names: Names) -> None:
    """As with other patches, spec and status do not touch."""
    async with server.open() as kube:
        ref = ref_to(names, NODE_POOL)
        body = node_pool(ref.name, weight=5)
        made = await apply(kube, ref, {**body, "status": {"nodes": 9}}, "one")
        assert made.get("status", {}).get("nodes", 0) == 0
        after = await apply(kube, ref, {"status": {"nodes": 2}}, "two", subresource="status")
        assert (after["status"]["nodes"], after["spec"]["weight"]) == (2, 5)
        after = await apply(kube, ref, {**body, "spec": {**body["spec"], "weight": 6}}, "one")
        assert (after["status"]["nodes"], after["spec"]["weight"]) == (2, 6)


async def test_an_apply_says_what_it_is_about(server: Server, names: Names) -> None:
    """Version and kind are part of what is wanted."""
    async with server.open() as kube:
        asked = Patch({"data": {"a": "1"}}, PatchType.APPLY)
        with pytest.raises(InvalidError) as refused:
            await kube.patch(ref_to(names), asked)
        assert refused.value.status == 400


async def test_an_invalid_object_is_not_applied(server: Server, names: Names) -> None:
    """The rules of a kind hold however it is written."""
    async with server.open() as kube:
        ref = ref_to(names, NODE_POOL)
        with pytest.raises(InvalidError) as refused:
            await apply(kube, ref, node_pool(ref.name, weight=1000))
        assert refused.value.status == 422
