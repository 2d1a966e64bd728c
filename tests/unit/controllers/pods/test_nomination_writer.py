"""Pods are told their node, and the word is taken back only while it is ours."""

from __future__ import annotations

from dovetail import api
from dovetail.apiserver import MemoryKube
from dovetail.controllers.pods.nominations import NominationWriter
from dovetail.kube.errors import InvalidError, NotFoundError
from dovetail.kube.seam import Json, Patch, Ref
from dovetail.testing.virtual_time import VirtualTime

POD = api.KINDS["", "Pod"]


async def pod(kube: MemoryKube, name: str) -> str:
    """A pod that waits; its uid."""
    body: dict[str, Json] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    return api.read(POD, await kube.create(POD, body, "default")).metadata.uid


async def word(kube: MemoryKube, name: str) -> str:
    """The node that a pod was told."""
    found = api.read(POD, await kube.get(Ref(POD, name, "default")))
    assert isinstance(found, api.Pod)
    return found.status.nominated_node_name


async def test_a_pod_is_told_its_node() -> None:
    """One that has gone by now is reported, and keeps nobody from being told."""
    kube = MemoryKube(VirtualTime())
    uid = await pod(kube, "a")
    refused = await NominationWriter(kube).steer([("default/a", uid), ("default/gone", "x")], "n1")
    assert await word(kube, "a") == "n1"
    assert [(key, type(error)) for key, error in refused] == [("default/gone", NotFoundError)]


async def test_a_pod_made_anew_under_the_same_name_is_not_told() -> None:
    """The plan was for the other one."""
    kube = MemoryKube(VirtualTime())
    await pod(kube, "a")
    refused = await NominationWriter(kube).steer([("default/a", "another")], "n1")
    assert [type(error) for _, error in refused] == [InvalidError]
    assert not await word(kube, "a")


async def test_a_word_is_taken_back_only_if_it_is_still_that_word() -> None:
    """kube-scheduler may have promised the pod another node since."""
    kube = MemoryKube(VirtualTime())
    for name in ("a", "b"):
        uid = await pod(kube, name)
        await NominationWriter(kube).steer([(f"default/{name}", uid)], "n1")
    other = Patch({"status": {"nominatedNodeName": "n2"}}, subresource="status")
    await kube.patch(Ref(POD, "b", "default"), other)
    refused = await NominationWriter(kube).withdraw([("default/a", "n1"), ("default/b", "n1")])
    assert not await word(kube, "a")
    assert await word(kube, "b") == "n2"
    assert [key for key, _ in refused] == ["default/b"]
