"""The kwok provider: pretended machines, as Nodes of an API."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from dovetail import api, labels
from dovetail.cloud import catalogue_file
from dovetail.cloud.context import ProviderContext
from dovetail.cloud.errors import (
    CloudError,
    CreateError,
    InsufficientCapacityError,
    NodeClaimNotFoundError,
    NodeClassNotReadyError,
)
from dovetail.cloud.provider import CloudProvider, CloudWorker
from dovetail.errors import InputError
from dovetail.kube.errors import NotFoundError, UnavailableError
from dovetail.kube.seam import Body, Deletion, Json, Page, Patch, Ref, Scope
from dovetail.model.requirements import requirement
from dovetail.providers.kwok import plugin as kwok
from dovetail.providers.kwok.catalogue import instance_types
from dovetail.providers.kwok.faults import NoCapacity
from dovetail.providers.kwok.plugin import KwokSettings
from dovetail.providers.kwok.store import RECORD
from dovetail.testing import instance_type
from dovetail.testing.cloud_under_test import breaks_off
from dovetail.testing.virtual_time import START
from tests.conformance.cloud.pretended import (
    NODE,
    NODE_CLAIM,
    NODE_CLASS,
    DistantKube,
    PretendedCloud,
    pretended_cloud,
)

LINUX = (requirement(labels.OS, "In", ["linux"]), requirement(labels.ARCH, "In", ["amd64"]))
GIB = 2**30


async def exists(cloud: PretendedCloud, name: str) -> bool:
    """Whether there is a Node of that name."""
    return name in await cloud.node_names()


async def record_of(cloud: PretendedCloud, name: str) -> str:
    """The record on the claim of that name."""
    wire = api.decode(api.NodeClaim, await cloud.kube.get(Ref(NODE_CLAIM, name)))
    return wire.metadata.annotations.get(RECORD, "")


async def test_a_machine_registers_as_a_node_that_looks_like_a_real_one() -> None:
    """Labels of claim, type and offering; the taint of a node that has yet to be registered."""
    async with pretended_cloud() as cloud:
        made = await cloud.provider.create(
            await cloud.claim("default-1", *LINUX, requests={"cpu": 1500, "memory": GIB})
        )
        node = await cloud.node("default-1")
        assert made.provider_id == node.spec.provider_id == "kwok://default-1"
        assert node.metadata.labels == {
            labels.NODE_POOL: "default",
            "team": "a",
            labels.INSTANCE_TYPE: "c-2x-amd64-linux",
            labels.ARCH: "amd64",
            labels.OS: "linux",
            labels.ZONE: "test-zone-a",
            labels.CAPACITY_TYPE: "spot",
            labels.HOSTNAME: "default-1",
            "karpenter.kwok.sh/instance-size": "2",
            "karpenter.kwok.sh/instance-family": "c",
            "karpenter.kwok.sh/instance-cpu": "2",
            "karpenter.kwok.sh/instance-memory": "4Gi",
            "kwok.x-k8s.io/node": "fake",
            "kwok-partition": "a",
            "eks-node-viewer/instance-price": "0.038006",
        }
        assert node.metadata.annotations["kwok.x-k8s.io/node"] == "fake"
        assert node.metadata.annotations["example.com/note"] == "kept"
        assert node.spec.taints[0] == api.Taint("karpenter.sh/unregistered", "NoExecute")
        assert node.status.capacity == {
            "cpu": "2",
            "memory": "4Gi",
            "pods": "32",
            "ephemeral-storage": "20Gi",
        }
        assert node.status.allocatable == {
            **node.status.capacity,
            "cpu": "1900m",
            "memory": "4086Mi",
        }
        assert (made.capacity["cpu"], made.allocatable["cpu"]) == (2000, 1900)
        assert made.created_at == START
        assert "kwok-partition" not in made.labels


async def test_a_resource_that_an_overlay_promised_is_there() -> None:
    """The node has what the claim was planned with, beyond what its type is known to have."""
    async with pretended_cloud() as cloud:
        claim = await cloud.claim("gpu", *LINUX, requests={"cpu": 100, "example.com/gpu": 2})
        with pytest.raises(InsufficientCapacityError, match="no offering would do"):
            await cloud.provider.create(claim)
        overlaid = {labels.CAPACITY_OVERLAY_APPLIED: "gpus"}
        made = await cloud.provider.create(msgspec.structs.replace(claim, annotations=overlaid))
        assert made.capacity["example.com/gpu"] == made.allocatable["example.com/gpu"] == 2
        assert (await cloud.node("gpu")).status.allocatable["example.com/gpu"] == "2"


async def test_a_node_appears_after_the_registration_delay() -> None:
    """Until then the machine is known, though there is no Node."""
    async with pretended_cloud("30s") as cloud:
        made = await cloud.provider.create(await cloud.claim("late", *LINUX))
        await cloud.time.advance(timedelta(seconds=29))
        assert not await exists(cloud, "late")
        assert await cloud.provider.list() == (await cloud.provider.get(made.provider_id),)
        await cloud.time.advance(timedelta(seconds=1))
        assert await exists(cloud, "late")
        assert await record_of(cloud, "late") == ""
        assert (await cloud.node("late")).metadata.labels["team"] == "a"


async def test_a_machine_that_waits_survives_a_restart() -> None:
    """Whoever works next lets its Node appear, and when it was due."""
    async with pretended_cloud("30s") as cloud:
        await cloud.restarted().create(await cloud.claim("orphan", *LINUX))
        await cloud.time.advance(timedelta(minutes=1))
        assert not await exists(cloud, "orphan")  # nobody attends to what another began
        async with asyncio.TaskGroup() as group:
            working = group.create_task(cloud.restarted().run())
            await cloud.time.advance()
            assert await exists(cloud, "orphan")
            working.cancel()


async def test_a_node_that_has_appeared_does_not_come_back() -> None:
    """After a restart, what is gone stays gone."""
    async with pretended_cloud("30s") as cloud:
        made = await cloud.provider.create(await cloud.claim("gone", *LINUX))
        await cloud.settle()
        await cloud.kube.delete(Ref(NODE, "gone"), Deletion())
        async with asyncio.TaskGroup() as group:
            working = group.create_task(cloud.restarted().run())
            await cloud.settle()
            working.cancel()
        assert await cloud.node_names() == []
        with pytest.raises(NodeClaimNotFoundError):
            await cloud.provider.get(made.provider_id)


async def test_a_registration_that_broke_off_is_finished_by_the_next() -> None:
    """Wherever the process died: one Node, the machine that was launched, no record left over."""
    async with pretended_cloud("30s") as cloud:
        for n_moments in range(100):
            name = f"c-{n_moments}"
            made = await cloud.restarted().create(await cloud.claim(name, *LINUX))
            await cloud.settle()
            await breaks_off(cloud, cloud.restarted().run(), n_moments)
            was_done = await exists(cloud, name) and not await record_of(cloud, name)
            await breaks_off(cloud, cloud.restarted().run(), 100)
            assert await cloud.node_names() == [name]
            assert await record_of(cloud, name) == ""
            assert await cloud.provider.list() == (made,)
            await cloud.provider.delete(made.provider_id)
            if was_done:
                return
        pytest.fail("a hundred moments are not enough")


async def test_a_machine_is_found_at_every_moment_of_its_registration() -> None:
    """Though it moves from its claim to its Node meanwhile, faster than one can read both."""
    async with pretended_cloud("30s") as cloud:
        sluggish = SluggishKube(cloud.kube)
        reader = kwok.make(
            ProviderContext(kube=sluggish, clock=cloud.time, timer=cloud.time), KwokSettings()
        )
        for n_moments in range(30):
            made = await cloud.restarted().create(await cloud.claim(f"c-{n_moments}", *LINUX))
            await cloud.settle()
            async with asyncio.TaskGroup() as group:
                working = group.create_task(cloud.restarted().run())
                for _ in range(n_moments):
                    await cloud.moment()
                found = group.create_task(reader.get(made.provider_id))
                listed = group.create_task(reader.list())
                await cloud.time.advance()
                working.cancel()
            assert found.result() == made
            assert listed.result() == (made,)
            await cloud.provider.delete(made.provider_id)


@pytest.mark.parametrize("delay", ["", "20s"], ids=["at once", "after a delay"])
async def test_whoever_launches_at_the_same_time_agrees_on_one_machine(delay: str) -> None:
    """Though each was told something else is sold out, and would have chosen otherwise."""
    async with pretended_cloud(delay) as cloud:
        cloud.faults.order(NoCapacity(zone="test-zone-a", times=1))
        cloud.faults.order(NoCapacity(capacity_type="spot", times=20))
        claim = await cloud.claim("c", *LINUX)
        calls = [one.create(claim) for one in (cloud.provider, cloud.restarted()) * 3]
        made = await asyncio.gather(*calls)
        assert all((one.labels, one.capacity) == (made[0].labels, made[0].capacity) for one in made)
        await cloud.settle()
        (listed,) = await cloud.provider.list()
        assert listed.labels == made[0].labels


@pytest.mark.parametrize("has_finalizer", [True, False], ids=["deleting", "deleted"])
async def test_no_node_appears_for_a_claim_that_goes(has_finalizer: bool) -> None:  # noqa: FBT001  a table's column
    """The order was withdrawn."""
    async with pretended_cloud("30s") as cloud:
        await cloud.provider.create(await cloud.claim("withdrawn", *LINUX))
        ref = Ref(NODE_CLAIM, "withdrawn")
        if has_finalizer:
            held: Body = {"metadata": {"finalizers": ["karpenter.sh/termination"]}}
            await cloud.kube.patch(ref, Patch(held))
        await cloud.kube.delete(ref, Deletion())
        await cloud.settle()
        assert await cloud.node_names() == []


async def test_a_machine_is_gone_though_finalizers_hold_its_node() -> None:
    """Else a Node would wait for its machine, and the machine for its Node."""
    async with pretended_cloud() as cloud:
        made = await cloud.provider.create(await cloud.claim("held", *LINUX))
        held: Body = {"metadata": {"finalizers": ["karpenter.sh/termination"]}}
        await cloud.kube.patch(Ref(NODE, "held"), Patch(held))
        await cloud.kube.delete(Ref(NODE, "held"), Deletion())
        assert (await cloud.provider.get(made.provider_id)).is_terminating
        assert [one.is_terminating for one in await cloud.provider.list()] == [True]
        await cloud.provider.delete(made.provider_id)
        assert await exists(cloud, "held")
        assert not await cloud.provider.list()
        for call in (cloud.provider.get, cloud.provider.delete):
            with pytest.raises(NodeClaimNotFoundError):
                await call(made.provider_id)


async def test_nodes_of_others_are_no_machines() -> None:
    """Neither listed nor deleted, though they look alike; a claim of that name must wait."""
    async with pretended_cloud() as cloud:
        fake: dict[str, Json] = {"kwok.x-k8s.io/node": "fake"}
        await cloud.kube.create(
            NODE, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": fake}}
        )
        assert await cloud.provider.list() == ()
        with pytest.raises(NodeClaimNotFoundError):
            await cloud.provider.delete("kwok://n")
        assert await exists(cloud, "n")
        with pytest.raises(CreateError, match="another Node of that name") as caught:
            await cloud.provider.create(await cloud.claim("n", *LINUX))
        assert caught.value.condition_reason == "NodeNameTaken"


async def test_a_new_claim_of_an_old_name_is_not_given_the_old_machine() -> None:
    """The UID tells them apart."""
    async with pretended_cloud() as cloud:
        await cloud.provider.create(await cloud.claim("again", *LINUX))
        await cloud.kube.delete(Ref(NODE_CLAIM, "again"), Deletion())
        claim = await cloud.claim("again", *LINUX)
        with pytest.raises(CreateError, match="another Node of that name"):
            await cloud.provider.create(claim)
        cloud.faults.order(NoCapacity())
        with pytest.raises(InsufficientCapacityError):
            await cloud.provider.create(claim)


async def test_a_machine_that_has_registered_is_not_launched_anew() -> None:
    """Though something cheaper has become available meanwhile."""
    async with pretended_cloud("20s") as cloud:
        cloud.faults.order(NoCapacity(capacity_type="spot", ends_at=START + timedelta(seconds=1)))
        claim = await cloud.claim("dear", *LINUX)
        made = await cloud.provider.create(claim)
        await cloud.settle()
        assert (await cloud.provider.create(claim)).labels == made.labels
        assert await record_of(cloud, "dear") == ""


@pytest.mark.parametrize("delay", ["", "20s"], ids=["on a Node", "on a claim"])
async def test_a_record_that_was_copied_is_no_machine(delay: str) -> None:
    """It counts only where it belongs, by name and UID."""
    async with pretended_cloud(delay) as cloud:
        await cloud.provider.create(await cloud.claim("mine", *LINUX))
        held = (await cloud.node("mine")).metadata if not delay else None
        record = held.annotations[RECORD] if held else await record_of(cloud, "mine")
        fake: dict[str, Json] = {"kwok.x-k8s.io/node": "fake"}
        meta: dict[str, Json] = {"name": "copy", "labels": fake, "annotations": {RECORD: record}}
        await cloud.kube.create(NODE, {"apiVersion": "v1", "kind": "Node", "metadata": meta})
        await cloud.claim("other", *LINUX)
        copied: Body = {"metadata": {"annotations": {RECORD: record}}}
        await cloud.kube.patch(Ref(NODE_CLAIM, "other"), Patch(copied))
        await cloud.settle()
        assert [one.node_claim for one in await cloud.provider.list()] == ["mine"]
        for provider_id in ("kwok://copy", "kwok://other"):
            with pytest.raises(NodeClaimNotFoundError):
                await cloud.provider.delete(provider_id)


async def test_a_launch_for_a_claim_that_is_gone_leaves_nothing() -> None:
    """With a delay, the claim is where the machine would be kept."""
    async with pretended_cloud("30s") as cloud:
        claim = await cloud.claim("gone", *LINUX)
        await cloud.kube.delete(Ref(NODE_CLAIM, "gone"), Deletion())
        with pytest.raises(CreateError, match="the claim is gone"):
            await cloud.provider.create(claim)
        assert await cloud.provider.list() == ()


READINESS = [
    pytest.param("False", NodeClassNotReadyError, id="not ready"),
    pytest.param("Unknown", CreateError, id="nobody knows"),
]


@pytest.mark.parametrize(("status", "want"), READINESS)
async def test_a_node_class_that_is_not_ready_launches_nothing(
    status: str, want: type[CloudError]
) -> None:
    """And says why; once it is ready, it launches."""
    async with pretended_cloud() as cloud:
        for current in (status, "True"):
            condition: Json = {
                "type": "Ready",
                "status": current,
                "reason": "Waiting",
                "message": "no subnet",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
            body: Body = {"status": {"conditions": [condition]}}
            await cloud.kube.patch(Ref(NODE_CLASS, "default"), Patch(body, subresource="status"))
            await cloud.settle()
            if current != "True":
                with pytest.raises(want, match="node class default is not ready: no subnet"):
                    await cloud.provider.create(await cloud.claim("early", *LINUX))
                assert await cloud.provider.list() == ()
        await cloud.provider.create(await cloud.claim("in-time", *LINUX))
        assert await cloud.node_names() == ["in-time"]


async def test_a_missing_node_class_counts_as_no_capacity() -> None:
    """As in the reference: the claim goes, and its pods are planned for again."""
    async with pretended_cloud() as cloud:
        await cloud.kube.delete(Ref(NODE_CLASS, "default"), Deletion())
        with pytest.raises(InsufficientCapacityError, match="node class default does not exist"):
            await cloud.provider.create(await cloud.claim("classless", *LINUX))


async def test_a_thousand_launches_read_their_node_class_once() -> None:
    """Each costs one request: the Node itself."""
    async with pretended_cloud() as cloud:
        counting = CountingKube(cloud.kube)
        surroundings = ProviderContext(kube=counting, clock=cloud.time, timer=cloud.time)
        provider = kwok.make(surroundings, KwokSettings())
        claims = [await cloud.claim(f"c-{number}", *LINUX) for number in range(1000)]
        await asyncio.gather(*[provider.create(one) for one in claims])
        assert (counting.n_reads, len(await cloud.node_names())) == (1, 1000)


class CountingKube(DistantKube):
    """Counts what is read."""

    n_reads = 0

    async def get(self, ref: Ref) -> msgspec.Raw:
        """One more."""
        self.n_reads += 1
        return await super().get(ref)


class SluggishKube(DistantKube):
    """Answers so late that others have done a lot meanwhile."""

    async def get(self, ref: Ref) -> msgspec.Raw:
        """As it was a while ago."""
        try:
            return await super().get(ref)
        finally:
            await self._idle()

    async def list(self, scope: Scope, *, limit: int = 0, token: str = "") -> Page:
        """As it was a while ago."""
        found = await super().list(scope, limit=limit, token=token)
        await self._idle()
        return found

    async def _idle(self) -> None:
        for _ in range(12):
            await asyncio.sleep(0)


class FailingKube(DistantKube):
    """Has gone away until it is back."""

    is_back = False

    def _fail(self) -> None:
        if not self.is_back:
            raise UnavailableError(503, "ServiceUnavailable", "etcd has no leader")

    async def get(self, ref: Ref) -> msgspec.Raw:
        """Not now."""
        self._fail()
        return await super().get(ref)

    async def patch(self, ref: Ref, patch: Patch) -> msgspec.Raw:
        """Not now."""
        self._fail()
        return await super().patch(ref, patch)


async def test_what_the_api_refuses_is_told_as_a_cloud_tells_it() -> None:
    """A launch fails with a condition; anything else is asked again later."""
    async with pretended_cloud() as cloud:
        surroundings = ProviderContext(
            kube=FailingKube(cloud.kube), clock=cloud.time, timer=cloud.time
        )
        provider = kwok.make(surroundings, KwokSettings())
        with pytest.raises(CreateError, match="launching node claim c: etcd has no leader"):
            await provider.create(await cloud.claim("c", *LINUX))
        with pytest.raises(CloudError, match="etcd has no leader") as caught:
            await provider.get("kwok://c")
        assert type(caught.value) is CloudError


async def test_a_machine_appears_once_the_api_is_back() -> None:
    """Its time had come while nobody answered."""
    async with pretended_cloud("10s") as cloud:
        await cloud.restarted().create(await cloud.claim("patient", *LINUX))
        failing = FailingKube(cloud.kube)
        surroundings = ProviderContext(kube=failing, clock=cloud.time, timer=cloud.time)
        async with asyncio.TaskGroup() as group:
            working = group.create_task(kwok.make(surroundings, KwokSettings()).run())
            await cloud.settle()
            assert not await exists(cloud, "patient")
            failing.is_back = True
            await cloud.settle()
            assert await exists(cloud, "patient")
            working.cancel()


RESERVED = instance_type(
    "held",
    price=1.0,
    offerings=[
        {
            "zone": "a",
            "price": 0.0,
            "capacity_type": "reserved",
            "reservation_id": "r-1",
            "reservation_capacity": 2,
        }
    ],
)


@pytest.mark.parametrize("delay", ["", "20s"], ids=["at once", "after a delay"])
async def test_a_reservation_ends(delay: str) -> None:
    """However many ask at once; what is left of it is reported, and comes back."""
    async with pretended_cloud(delay, [RESERVED]) as cloud:
        claims = [await cloud.claim(f"c-{number}") for number in range(4)]
        made = await asyncio.gather(*[cloud.provider.create(one) for one in claims])
        bought = sorted(one.labels[labels.CAPACITY_TYPE] for one in made)
        assert bought == ["on-demand", "on-demand", "reserved", "reserved"]
        assert await left(cloud) == 0
        (first, *_) = [one for one in made if one.labels[labels.CAPACITY_TYPE] == "reserved"]
        await cloud.provider.delete(first.provider_id)
        assert await left(cloud) == 1


async def left(cloud: PretendedCloud) -> int:
    """What is left of the reservation."""
    (held,) = await cloud.provider.instance_types(cloud.pool)
    return sum(at.reservation_capacity for at in held.offerings)


async def test_instance_types_come_from_the_file_that_the_settings_name(tmp_path: Path) -> None:
    """INSTANCE_TYPES_FILE_PATH, as the reference has it; else the generic grid."""
    path = tmp_path / "types.json"
    path.write_text(catalogue_file.render(instance_types()[:2]))
    async with pretended_cloud() as cloud:
        surroundings = ProviderContext(kube=cloud.kube, clock=cloud.time, timer=cloud.time)
        for name, n_types in ((str(path), 2), ("", 144)):
            provider = kwok.make(surroundings, KwokSettings(instance_types_file_path=name))
            assert await provider.instance_types(cloud.pool) == instance_types()[:n_types]
        missing = KwokSettings(instance_types_file_path="/nowhere.json")
        with pytest.raises(InputError, match=r"/nowhere\.json: cannot be read"):
            kwok.make(surroundings, missing)


async def test_the_provider_is_what_it_is_used_as() -> None:
    """A cloud with work of its own; what it calls broken, and for how long."""
    async with pretended_cloud() as cloud:
        assert isinstance(cloud.provider, CloudProvider)
        assert isinstance(cloud.provider, CloudWorker)
        assert [
            (one.condition_type, one.condition_status, one.tolerated_for)
            for one in cloud.provider.repair_policies
        ] == [("Ready", status, timedelta(minutes=10)) for status in ("False", "Unknown")]
        with pytest.raises(NotFoundError):
            await cloud.node("nobody")
