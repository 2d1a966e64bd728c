"""What a merge patch changes, and what it cannot."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import api
from dovetail.kube.errors import ConflictError, InvalidError, NotFoundError
from dovetail.kube.seam import Patch, Ref
from tests.conformance.kube.objects import (
    CONFIG_MAP,
    DEFAULT,
    DEPLOYMENT,
    NODE,
    NODE_CLAIM,
    NODE_POOL,
    POD,
    config_map,
    deployment,
    got,
    make,
    merge,
    node,
    node_claim,
    node_pool,
    pod,
)
from tests.conformance.kube.servers import Names, Server


async def test_a_patch_changes_what_it_names_and_nothing_else(server: Server, names: Names) -> None:
    """Fields are set, added and, by null, taken away; the rest stays."""
    async with server.open() as kube:
        ref = await make(kube, CONFIG_MAP, config_map(names.fresh(), a="1", b="2"))
        after = await merge(kube, ref, {"data": {"a": None, "c": "3"}})
        assert after["data"] == {"b": "2", "c": "3"}
        assert await got(kube, ref) == after


async def test_lists_are_replaced_whole(server: Server, names: Names) -> None:
    """A merge patch does not look into lists."""
    async with server.open() as kube:
        ref = await make(kube, NODE, node(names.fresh()))
        taint = {"key": "mine", "value": "x", "effect": "NoSchedule"}
        after = await merge(kube, ref, {"spec": {"taints": [taint]}})
        assert after["spec"]["taints"] == [taint]


async def test_taints_that_are_all_taken_off_are_gone(server: Server, names: Names) -> None:
    """An empty list of taints is not written down."""
    async with server.open() as kube:
        ref = await make(kube, NODE, node(names.fresh()))
        after = await merge(kube, ref, {"spec": {"taints": []}})
        assert "taints" not in after.get("spec", {})


async def test_a_patch_makes_a_new_version(server: Server, names: Names) -> None:
    """Uid and birthday stay, the version grows."""
    async with server.open() as kube:
        ref = await make(kube, CONFIG_MAP, config_map(names.fresh()))
        before = (await got(kube, ref))["metadata"]
        after = (await merge(kube, ref, {"data": {"a": "1"}}))["metadata"]
        assert int(after["resourceVersion"]) > int(before["resourceVersion"])
        assert after["uid"] == before["uid"]
        assert after["creationTimestamp"] == before["creationTimestamp"]


async def test_a_patch_that_changes_nothing_makes_no_version(server: Server, names: Names) -> None:
    """Nobody is woken by what stays as it is."""
    async with server.open() as kube:
        ref = await make(kube, CONFIG_MAP, config_map(names.fresh(), a="1"))
        before = await got(kube, ref)
        assert await merge(kube, ref, {"data": {"a": "1"}}) == before
        assert await merge(kube, ref, {"metadata": {"labels": {"absent": None}}}) == before
        assert await got(kube, ref) == before


async def test_a_version_in_the_patch_must_match(server: Server, names: Names) -> None:
    """Whoever names a version changes that version or none."""
    async with server.open() as kube:
        ref = await make(kube, CONFIG_MAP, config_map(names.fresh()))
        read_at = (await got(kube, ref))["metadata"]["resourceVersion"]
        body = {"metadata": {"resourceVersion": read_at}}
        after = await merge(kube, ref, {**body, "data": {"a": "1"}})
        assert after["data"] == {"a": "1"}
        with pytest.raises(ConflictError) as refused:
            await merge(kube, ref, {**body, "data": {"a": "2"}})
        assert (refused.value.status, refused.value.reason) == (409, "Conflict")
        assert (await got(kube, ref))["data"] == {"a": "1"}


@pytest.mark.parametrize("kind", [CONFIG_MAP, NODE_CLAIM])
async def test_a_uid_in_the_patch_must_match(server: Server, names: Names, kind: api.Kind) -> None:
    """Whoever names a uid means no other object of that name."""
    async with server.open() as kube:
        body = config_map(names.fresh()) if kind is CONFIG_MAP else node_claim(names.fresh())
        ref = await make(kube, kind, body)
        with pytest.raises(InvalidError) as refused:
            await merge(kube, ref, {"metadata": {"uid": "another", "labels": {"a": "1"}}})
        assert refused.value.status == 422
        assert "metadata.uid" in str(refused.value)


async def test_what_is_not_there_cannot_be_patched(server: Server, names: Names) -> None:
    """A merge patch makes no objects."""
    async with server.open() as kube:
        with pytest.raises(NotFoundError):
            await kube.patch(Ref(CONFIG_MAP, names.fresh(), DEFAULT), Patch({"data": {}}))


async def test_an_object_keeps_its_name(server: Server, names: Names) -> None:
    """A patch cannot rename."""
    async with server.open() as kube:
        ref = await make(kube, CONFIG_MAP, config_map(names.fresh()))
        with pytest.raises(InvalidError) as refused:
            await merge(kube, ref, {"metadata": {"name": names.fresh()}})
        assert refused.value.status == 400


async def test_an_object_keeps_its_birthday(server: Server, names: Names) -> None:
    """A patch cannot make it older."""
    async with server.open() as kube:
        ref = await make(kube, CONFIG_MAP, config_map(names.fresh()))
        before = await got(kube, ref)
        body = {"metadata": {"creationTimestamp": "2001-01-01T00:00:00Z"}}
        assert await merge(kube, ref, body) == before


async def test_a_patch_does_not_delete(server: Server, names: Names) -> None:
    """Only a deletion marks an object as going."""
    async with server.open() as kube:
        ref = await make(kube, CONFIG_MAP, config_map(names.fresh()))
        with pytest.raises(InvalidError) as refused:
            await merge(kube, ref, {"metadata": {"deletionTimestamp": "2001-01-01T00:00:00Z"}})
        assert refused.value.status == 422


async def test_the_generation_counts_changes_of_what_is_wanted(
    server: Server, names: Names
) -> None:
    """Neither labels nor status nor the client's word count."""
    async with server.open() as kube:
        ref = await make(kube, NODE_POOL, node_pool(names.fresh()))

        async def generation() -> int:
            found: int = (await got(kube, ref))["metadata"]["generation"]
            return found

        await merge(kube, ref, {"metadata": {"labels": {"a": "b"}, "generation": 7}})
        await merge(kube, ref, {"status": {"nodes": 1}}, "status")
        assert await generation() == 1
        await merge(kube, ref, {"spec": {"weight": 10}})
        await merge(kube, ref, {"spec": {"weight": 10}})
        assert await generation() == 2


async def test_a_status_write_touches_only_the_status(server: Server, names: Names) -> None:
    """What else such a patch says is passed over."""
    async with server.open() as kube:
        ref = await make(kube, NODE_POOL, node_pool(names.fresh()))
        body = {"status": {"nodes": 2}, "spec": {"weight": 5}, "metadata": {"labels": {"a": "b"}}}
        after = await merge(kube, ref, body, "status")
        assert after["status"]["nodes"] == 2
        assert "weight" not in after["spec"]
        assert "labels" not in after["metadata"]


async def test_other_writes_leave_the_status(server: Server, names: Names) -> None:
    """Only the status subresource changes the status."""
    async with server.open() as kube:
        ref = await make(kube, NODE_POOL, node_pool(names.fresh()))
        await merge(kube, ref, {"status": {"nodes": 2}}, "status")
        after = await merge(kube, ref, {"status": {"nodes": 9}, "spec": {"weight": 5}})
        assert after["status"]["nodes"] == 2
        assert after["spec"]["weight"] == 5


async def test_a_created_custom_resource_has_no_status(server: Server, names: Names) -> None:
    """Whatever the client says of it."""
    async with server.open() as kube:
        ref = await make(kube, NODE_POOL, {**node_pool(names.fresh()), "status": {"nodes": 9}})
        assert (await got(kube, ref)).get("status", {}).get("nodes", 0) == 0


async def test_a_node_status_is_written_apart_from_its_spec(server: Server, names: Names) -> None:
    """Kubelets and cordons do not get in each other's way."""
    async with server.open() as kube:
        ref = await make(kube, NODE, node(names.fresh()))
        ready = {"type": "Ready", "status": "True"}
        await merge(kube, ref, {"status": {"conditions": [ready]}}, "status")
        after = await merge(kube, ref, {"spec": {"unschedulable": True}, "status": None})
        assert after["status"]["conditions"][0]["type"] == "Ready"
        assert after["spec"]["unschedulable"] is True


async def test_a_kind_without_a_status_has_no_such_subresource(
    server: Server, names: Names
) -> None:
    """There is nothing to be found there."""
    async with server.open() as kube:
        ref = await make(kube, CONFIG_MAP, config_map(names.fresh()))
        with pytest.raises(NotFoundError):
            await merge(kube, ref, {"status": {"a": "b"}}, "status")


async def test_the_spec_of_a_claim_never_changes(server: Server, names: Names) -> None:
    """A NodeClaim is an order that was placed."""
    async with server.open() as kube:
        ref = await make(kube, NODE_CLAIM, node_claim(names.fresh()))
        with pytest.raises(InvalidError) as refused:
            await merge(kube, ref, {"spec": {"expireAfter": "1h"}})
        assert refused.value.status == 422
        assert "spec" in str(refused.value)


async def test_a_pool_keeps_the_kind_of_its_node_class(server: Server, names: Names) -> None:
    """The name may change, group and kind may not."""
    async with server.open() as kube:
        ref = await make(kube, NODE_POOL, node_pool(names.fresh()))

        def patch(**class_ref: str) -> dict[str, Any]:
            return {"spec": {"template": {"spec": {"nodeClassRef": class_ref}}}}

        after = await merge(kube, ref, patch(name="other"))
        assert after["spec"]["template"]["spec"]["nodeClassRef"]["name"] == "other"
        for change in ({"kind": "Other"}, {"group": "example.com"}):
            with pytest.raises(InvalidError) as refused:
                await merge(kube, ref, patch(**change))
            assert refused.value.status == 422


async def test_a_pool_does_not_become_static(server: Server, names: Names) -> None:
    """Replicas are there from the beginning or never."""
    async with server.open() as kube:
        moving = await make(kube, NODE_POOL, node_pool(names.fresh()))
        static = await make(kube, NODE_POOL, node_pool(names.fresh(), replicas=1))
        with pytest.raises(InvalidError):
            await merge(kube, moving, {"spec": {"replicas": 1}})
        with pytest.raises(InvalidError):
            await merge(kube, static, {"spec": {"replicas": None}})
        assert (await merge(kube, static, {"spec": {"replicas": 3}}))["spec"]["replicas"] == 3


async def test_a_pod_keeps_its_spec(server: Server, names: Names) -> None:
    """But for a few fields, what runs is what was asked for."""
    async with server.open() as kube:
        ref = await make(kube, POD, pod(names.fresh()))
        for spec in ({"nodeName": "other"}, {"nodeSelector": {"a": "b"}}, {"priority": 5}):
            with pytest.raises(InvalidError) as refused:
                await merge(kube, ref, {"spec": spec})
            assert refused.value.status == 422
        after = await merge(kube, ref, {"spec": {"activeDeadlineSeconds": 60}})
        assert after["spec"]["activeDeadlineSeconds"] == 60


async def test_a_deployment_keeps_its_selector(server: Server, names: Names) -> None:
    """Its pods stay its pods."""
    async with server.open() as kube:
        ref = await make(kube, DEPLOYMENT, deployment(names.fresh()))
        with pytest.raises(InvalidError):
            await merge(kube, ref, {"spec": {"selector": {"matchLabels": {"app": "other"}}}})


async def test_a_node_keeps_its_provider_id(server: Server, names: Names) -> None:
    """It may be set once."""
    async with server.open() as kube:
        ref = await make(kube, NODE, node(names.fresh()))
        await merge(kube, ref, {"spec": {"providerID": "kwok://a"}})
        with pytest.raises(InvalidError):
            await merge(kube, ref, {"spec": {"providerID": "kwok://b"}})


async def test_a_nomination_is_part_of_a_pods_status(server: Server, names: Names) -> None:
    """It is set and withdrawn through the status."""
    async with server.open() as kube:
        ref = await make(kube, POD, pod(names.fresh()))
        after = await merge(kube, ref, {"status": {"nominatedNodeName": "there"}}, "status")
        assert after["status"]["nominatedNodeName"] == "there"
        after = await merge(kube, ref, {"status": {"nominatedNodeName": None}}, "status")
        assert "nominatedNodeName" not in after["status"]


@pytest.mark.parametrize("kind", [NODE, POD])
async def test_nodes_and_pods_take_labels_along_with_a_status(
    server: Server, names: Names, kind: api.Kind
) -> None:
    """A kubelet says in one go what its node is and how it is."""
    async with server.open() as kube:
        ref = await make(kube, kind, node(names.fresh()) if kind is NODE else pod(names.fresh()))
        body = {"metadata": {"labels": {"a": "b"}}, "status": {"phase": "Running"}}
        after = await merge(kube, ref, body, "status")
        assert after["metadata"]["labels"] == {"a": "b"}
        assert after["status"]["phase"] == "Running"


async def test_what_is_empty_is_not_written_down(server: Server, names: Names) -> None:
    """The server's own kinds show only what is there."""
    async with server.open() as kube:
        settings = await make(kube, CONFIG_MAP, config_map(names.fresh(), a="1"))
        assert "data" not in await merge(kube, settings, {"data": {"a": None}})
        host = await make(kube, NODE, node(names.fresh()))
        await merge(kube, host, {"spec": {"unschedulable": True}})
        after = await merge(kube, host, {"spec": {"unschedulable": False}})
        assert "unschedulable" not in after["spec"]
        gated = await make(kube, POD, pod(names.fresh(), schedulingGates=[{"name": "wait"}]))
        after = await merge(kube, gated, {"spec": {"schedulingGates": []}})
        assert "schedulingGates" not in after["spec"]


async def test_a_taint_is_there_once(server: Server, names: Names) -> None:
    """Key and effect tell taints apart."""
    async with server.open() as kube:
        ref = await make(kube, NODE, node(names.fresh()))
        taint = {"key": "mine", "effect": "NoSchedule"}
        other = {**taint, "effect": "NoExecute"}
        after = await merge(kube, ref, {"spec": {"taints": [taint, other]}})
        assert len(after["spec"]["taints"]) == 2
        with pytest.raises(InvalidError) as refused:
            await merge(kube, ref, {"spec": {"taints": [taint, {**taint, "value": "x"}]}})
        assert refused.value.status == 422
