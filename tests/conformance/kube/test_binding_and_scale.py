"""How pods get their nodes, and workloads their numbers."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import api
from dovetail.kube.errors import ConflictError, NotFoundError
from dovetail.kube.seam import Deletion, Patch, Ref
from tests.conformance.kube.objects import (
    CONFIG_MAP,
    DEFAULT,
    DEPLOYMENT,
    NODE,
    NODE_POOL,
    POD,
    bound,
    config_map,
    deployment,
    got,
    make,
    merge,
    named,
    node,
    node_pool,
    pod,
    read,
)
from tests.conformance.kube.servers import Names, Server


async def test_a_binding_gives_a_pod_its_node(server: Server, names: Names) -> None:
    """The pod says so, and the nomination is over."""
    async with server.open() as kube:
        host = await make(kube, NODE, node(names.fresh()))
        ref = await make(kube, POD, pod(names.fresh()))
        await merge(kube, ref, {"status": {"nominatedNodeName": host.name}}, "status")
        await bound(kube, ref, host.name)
        after = await got(kube, ref)
        assert after["spec"]["nodeName"] == host.name
        scheduled = {one["type"]: one["status"] for one in after["status"]["conditions"]}
        assert scheduled == {"PodScheduled": "True"}
        assert "nominatedNodeName" not in after["status"]


async def test_a_pod_is_bound_once(server: Server, names: Names) -> None:
    """Two schedulers cannot both have it."""
    async with server.open() as kube:
        host = await make(kube, NODE, node(names.fresh()))
        ref = await make(kube, POD, pod(names.fresh()))
        await bound(kube, ref, host.name)
        with pytest.raises(ConflictError) as refused:
            await bound(kube, ref, "another")
        assert "already assigned" in str(refused.value)


async def test_a_pod_that_is_gated_or_going_is_not_bound(server: Server, names: Names) -> None:
    """One may not run yet, the other no more."""
    async with server.open() as kube:
        gated = await make(kube, POD, pod(names.fresh(), schedulingGates=[{"name": "wait"}]))
        held = {**pod(""), **named(names.fresh(), finalizers=["example.com/hold"])}
        going = await make(kube, POD, held)
        await kube.delete(going, Deletion())
        for ref in (gated, going):
            with pytest.raises(ConflictError):
                await bound(kube, ref, "there")
        await merge(kube, going, {"metadata": {"finalizers": None}})


async def test_a_pod_that_is_not_there_is_not_bound(server: Server, names: Names) -> None:
    """There is nothing to bind."""
    async with server.open() as kube:
        with pytest.raises(NotFoundError):
            await bound(kube, Ref(POD, names.fresh(), DEFAULT), "there")


@pytest.mark.parametrize(
    ("kind", "replicas"),
    [pytest.param(DEPLOYMENT, 2, id="built in"), pytest.param(NODE_POOL, 1, id="custom")],
)
async def test_a_scale_sets_the_replicas(
    server: Server, names: Names, kind: api.Kind, replicas: int
) -> None:
    """It shows one face for all kinds, and changes the spec behind it."""
    async with server.open() as kube:
        name = names.fresh()
        body: dict[str, Any] = (
            deployment(name) if kind is DEPLOYMENT else node_pool(name, replicas=1)
        )
        ref = await make(kube, kind, body)
        asked = Patch({"spec": {"replicas": replicas + 3}}, subresource="scale")
        scale = read(await kube.patch(ref, asked))
        assert (scale["kind"], scale["metadata"]["name"]) == ("Scale", name)
        assert scale["spec"] == {"replicas": replicas + 3}
        after = await got(kube, ref)
        assert after["spec"]["replicas"] == replicas + 3
        assert after["metadata"]["generation"] == 2


async def test_what_has_no_replicas_has_no_scale(server: Server, names: Names) -> None:
    """There is nothing to be found there."""
    async with server.open() as kube:
        ref = await make(kube, CONFIG_MAP, config_map(names.fresh()))
        with pytest.raises(NotFoundError):
            await kube.patch(ref, Patch({"spec": {"replicas": 1}}, subresource="scale"))
