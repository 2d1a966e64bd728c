"""Requests are timed and counted as the reference's client does, and change in no other way."""

from __future__ import annotations

import msgspec
import pytest

from dovetail import api
from dovetail.apiserver import MemoryKube
from dovetail.kube.errors import NotFoundError, UnavailableError
from dovetail.kube.seam import Deletion, Kube, Patch, Ref, Scope
from dovetail.observe.meters import Meters
from dovetail.observe.requests import MeteredKube
from dovetail.testing.virtual_time import VirtualTime
from tests.unit.observe.scraped import metered

NODE = api.KINDS["", "Node"]
POOL = api.KINDS["karpenter.sh", "NodePool"]
REF = Ref(NODE, "n1")
COUNT = "client_go_request_duration_seconds_count"
TOTAL = "client_go_request_total"


class Away(MemoryKube):
    """An API server that cannot be reached."""

    async def get(self, ref: Ref) -> msgspec.Raw:
        """No answer."""
        raise UnavailableError(0, "", f"no route to {ref.name}")


async def test_requests_are_told_apart_by_what_they_mean() -> None:
    """And answered as without the meter."""
    time, meters = VirtualTime(), Meters()
    kube: Kube = MeteredKube(MemoryKube(time), meters, time)
    await kube.create(NODE, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    assert b'"n1"' in bytes(await kube.get(REF))
    assert len((await kube.list(Scope(NODE))).items) == 1
    await kube.patch(REF, Patch({"status": {"phase": "x"}}, subresource="status"))
    await kube.delete(REF, Deletion())
    for verb, subresource in (
        ("CREATE", ""),
        ("GET", ""),
        ("LIST", ""),
        ("PATCH", "status"),
        ("DELETE", ""),
    ):
        labelled = {"group": "", "version": "v1", "kind": "nodes", "subresource": subresource}
        assert metered(meters, COUNT, verb=verb, **labelled) == [1], verb
    assert metered(meters, TOTAL, code="200", method="GET") == [2]
    assert metered(meters, TOTAL, code="201", method="POST") == [1]


async def test_errors_are_counted_by_their_code_and_reach_the_caller() -> None:
    """An eviction is a creation of its own kind; one without an answer has no number."""
    time, meters = VirtualTime(), Meters()
    kube: Kube = MeteredKube(MemoryKube(time), meters, time)
    with pytest.raises(NotFoundError):
        await kube.get(Ref(POOL, "none"))
    with pytest.raises(NotFoundError):
        await kube.evict(Ref(api.KINDS["", "Pod"], "none", "default"), Deletion())
    with pytest.raises(UnavailableError):
        await MeteredKube(Away(time), meters, time).get(REF)
    assert metered(meters, TOTAL, code="404", method="GET") == [1]
    assert metered(meters, TOTAL, code="404", method="POST") == [1]
    assert metered(meters, TOTAL, code="<error>", method="GET") == [1]
    assert metered(meters, COUNT, verb="CREATE", subresource="eviction", kind="pods") == [1]
    assert metered(meters, COUNT, group="karpenter.sh", kind="nodepools") == [1]


async def test_a_watch_is_passed_on() -> None:
    """Changes arrive as without the meter."""
    time = VirtualTime()
    inner = MemoryKube(time)
    kube: Kube = MeteredKube(inner, Meters(), time)
    await kube.create(NODE, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    async for change in kube.watch(Scope(NODE), since="0"):
        assert b'"n1"' in bytes(change.object)
        break
