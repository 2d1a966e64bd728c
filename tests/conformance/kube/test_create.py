"""What a server makes of a new object."""

from __future__ import annotations

import pytest

from dovetail.kube.errors import (
    AlreadyExistsError,
    ApiError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
)
from dovetail.kube.seam import Ref
from tests.conformance.kube.objects import (
    CONFIG_MAP,
    DEFAULT,
    DEPLOYMENT,
    EVENT,
    LEASE,
    NODE,
    NODE_POOL,
    NOW,
    POD,
    config_map,
    create,
    deployment,
    got,
    make,
    named,
    node,
    node_pool,
    owner,
    pod,
    read,
)
from tests.conformance.kube.servers import Names, Server


async def test_a_new_object_gets_a_uid_a_birthday_and_a_version(
    server: Server, names: Names
) -> None:
    """What the client cannot know, the server fills in."""
    async with server.open() as kube:
        name = names.fresh()
        made = read(await create(kube, CONFIG_MAP, config_map(name, key="value"), DEFAULT))
        metadata = made["metadata"]
        assert (made["apiVersion"], made["kind"]) == ("v1", "ConfigMap")
        assert (metadata["name"], metadata["namespace"]) == (name, DEFAULT)
        assert metadata["uid"]
        assert metadata["creationTimestamp"].endswith("Z")
        assert int(metadata["resourceVersion"]) > 0
        assert made["data"] == {"key": "value"}


async def test_what_was_created_can_be_read(server: Server, names: Names) -> None:
    """A read gives what the write returned."""
    async with server.open() as kube:
        name = names.fresh()
        made = read(await create(kube, CONFIG_MAP, config_map(name), DEFAULT))
        assert await got(kube, Ref(CONFIG_MAP, name, DEFAULT)) == made


async def test_what_is_not_there_is_not_found(server: Server, names: Names) -> None:
    """A read of nothing is an error, not nothing."""
    async with server.open() as kube:
        with pytest.raises(NotFoundError) as refused:
            await kube.get(Ref(CONFIG_MAP, names.fresh(), DEFAULT))
        assert (refused.value.status, refused.value.reason) == (404, "NotFound")


async def test_a_name_is_taken_once(server: Server, names: Names) -> None:
    """Two objects of one kind and namespace cannot share a name."""
    async with server.open() as kube:
        name = names.fresh()
        await create(kube, CONFIG_MAP, config_map(name), DEFAULT)
        with pytest.raises(AlreadyExistsError) as refused:
            await create(kube, CONFIG_MAP, config_map(name), DEFAULT)
        assert (refused.value.status, refused.value.reason) == (409, "AlreadyExists")


async def test_a_name_made_again_is_another_object(server: Server, names: Names) -> None:
    """The uid tells an object from one of the same name before it."""
    async with server.open() as kube:
        name = names.fresh()
        ref = Ref(CONFIG_MAP, name, DEFAULT)
        first = read(await create(kube, CONFIG_MAP, config_map(name), DEFAULT))
        await kube.delete(ref, NOW)
        second = read(await create(kube, CONFIG_MAP, config_map(name), DEFAULT))
        assert first["metadata"]["uid"] != second["metadata"]["uid"]


async def test_a_generated_name_begins_as_asked_and_is_new_each_time(
    server: Server, names: Names
) -> None:
    """Five letters are added, others for each object."""
    async with server.open() as kube:
        beginning = names.fresh() + "-"
        body = {"metadata": {"generateName": beginning}}
        made = [read(await create(kube, CONFIG_MAP, body, DEFAULT)) for _ in range(20)]
        found = {one["metadata"]["name"] for one in made}
        assert len(found) == 20
        assert all(name.startswith(beginning) for name in found)
        assert {len(name) - len(beginning) for name in found} == {5}


async def test_versions_grow_across_kinds(server: Server, names: Names) -> None:
    """There is one counter for everything."""
    async with server.open() as kube:
        first = read(await create(kube, CONFIG_MAP, config_map(names.fresh()), DEFAULT))
        second = read(await create(kube, NODE, node(names.fresh())))
        third = read(await create(kube, CONFIG_MAP, config_map(names.fresh()), DEFAULT))
        versions = [int(one["metadata"]["resourceVersion"]) for one in (first, second, third)]
        assert versions == sorted(set(versions))


async def test_kinds_that_have_a_generation_start_with_1(server: Server, names: Names) -> None:
    """Custom resources and workloads count the changes of what is wanted; others do not."""
    async with server.open() as kube:
        pool = read(await create(kube, NODE_POOL, node_pool(names.fresh())))
        workload = read(await create(kube, DEPLOYMENT, deployment(names.fresh()), DEFAULT))
        plain = read(await create(kube, CONFIG_MAP, config_map(names.fresh()), DEFAULT))
        assert pool["metadata"]["generation"] == 1
        assert workload["metadata"]["generation"] == 1
        assert "generation" not in plain["metadata"]


@pytest.mark.parametrize("name", ["Upper", "under_score", "-leading", "a" * 254, "slash/ed"])
async def test_a_bad_name_is_refused(server: Server, name: str) -> None:
    """Names are DNS names."""
    async with server.open() as kube:
        with pytest.raises(InvalidError) as refused:
            await create(kube, CONFIG_MAP, config_map(name), DEFAULT)
        assert (refused.value.status, refused.value.reason) == (422, "Invalid")
        assert "metadata.name" in str(refused.value)


async def test_an_object_needs_a_name(server: Server) -> None:
    """Neither a name nor the beginning of one is an error."""
    async with server.open() as kube:
        with pytest.raises(InvalidError) as refused:
            await create(kube, CONFIG_MAP, {"metadata": {}}, DEFAULT)
        assert refused.value.status == 422


async def test_a_bad_label_is_refused(server: Server, names: Names) -> None:
    """Label values are short and plain."""
    async with server.open() as kube:
        with pytest.raises(InvalidError) as refused:
            await create(kube, NODE, node(names.fresh(), labels={"zone": "a b"}))
        assert "metadata.labels" in str(refused.value)


async def test_the_namespace_must_exist(server: Server, names: Names) -> None:
    """Nothing can be made in a namespace that is not there."""
    async with server.open() as kube:
        with pytest.raises(NotFoundError):
            await create(kube, CONFIG_MAP, config_map(names.fresh()), names.fresh())


async def test_the_namespace_of_the_object_must_be_the_one_asked_for(
    server: Server, names: Names
) -> None:
    """An object cannot say it lives elsewhere."""
    async with server.open() as kube:
        with pytest.raises(InvalidError) as refused:
            await create(kube, CONFIG_MAP, named(names.fresh(), namespace="kube-system"), DEFAULT)
        assert refused.value.status == 400


async def test_what_is_null_is_absent(server: Server, names: Names) -> None:
    """Clients write null for what they do not say."""
    async with server.open() as kube:
        body = named(names.fresh(), creationTimestamp=None, annotations=None)
        made = read(await create(kube, CONFIG_MAP, body, DEFAULT))
        assert made["metadata"]["creationTimestamp"]
        assert "annotations" not in made["metadata"]


async def test_a_pod_is_pending_whatever_it_says(server: Server, names: Names) -> None:
    """The status of a pod begins with its creation; the client has no say in it."""
    async with server.open() as kube:
        body = {**pod(names.fresh()), "status": {"phase": "Running"}}
        made = read(await create(kube, POD, body, DEFAULT))
        assert made["status"]["phase"] == "Pending"


async def test_a_pod_gets_its_defaults(server: Server, names: Names) -> None:
    """What every pod must say, and this one does not."""
    async with server.open() as kube:
        spec = read(await create(kube, POD, pod(names.fresh()), DEFAULT))["spec"]
        assert spec["restartPolicy"] == "Always"
        assert spec["terminationGracePeriodSeconds"] == 30
        assert spec["schedulerName"] == "default-scheduler"
        assert spec["priority"] == 0
        tolerated = {one["key"]: one["tolerationSeconds"] for one in spec["tolerations"]}
        assert tolerated == {
            "node.kubernetes.io/not-ready": 300,
            "node.kubernetes.io/unreachable": 300,
        }


async def test_a_limit_without_a_request_is_a_request(server: Server, names: Names) -> None:
    """Whoever limits a resource asks for as much, unless the pod says less."""
    async with server.open() as kube:
        body = pod(names.fresh())
        limits = {"cpu": "2", "memory": "1Gi"}
        resources = {"limits": limits, "requests": {"cpu": "1"}}
        body["spec"] = {
            "containers": [{"name": "main", "image": "example:1", "resources": resources}]
        }
        made = read(await create(kube, POD, body, DEFAULT))
        asked = made["spec"]["containers"][0]["resources"]["requests"]
        assert asked == {"cpu": "1", "memory": "1Gi"}


async def test_a_node_keeps_the_status_it_is_created_with(server: Server, names: Names) -> None:
    """Kubelets register with what they have."""
    async with server.open() as kube:
        body = {**node(names.fresh()), "status": {"capacity": {"cpu": "4"}}}
        made = read(await create(kube, NODE, body))
        assert made["status"]["capacity"] == {"cpu": "4"}


async def test_a_new_node_is_tainted_until_it_is_ready(server: Server, names: Names) -> None:
    """The scheduler must not use a node that nobody has called ready."""
    async with server.open() as kube:
        made = read(await create(kube, NODE, node(names.fresh())))
        taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
        assert taint in made["spec"]["taints"]


async def test_leases_and_events_are_objects_like_others(server: Server, names: Names) -> None:
    """Kinds that Dovetail has no wire type for are kept as they are."""
    async with server.open() as kube:
        spec = {"holderIdentity": "me", "leaseDurationSeconds": 15}
        lease = await make(kube, LEASE, {**named(names.fresh()), "spec": spec})
        assert (await got(kube, lease))["spec"] == spec
        about = {"kind": "ConfigMap", "name": "thing", "namespace": DEFAULT}
        body = {
            **named(names.fresh()),
            "involvedObject": about,
            "reason": "Tried",
            "type": "Normal",
        }
        event = await make(kube, EVENT, body)
        assert (await got(kube, event))["reason"] == "Tried"


async def test_a_finalizer_has_a_qualified_name(server: Server, names: Names) -> None:
    """Everybody can tell whose it is."""
    async with server.open() as kube:
        with pytest.raises(InvalidError) as refused:
            await make(kube, CONFIG_MAP, named(names.fresh(), finalizers=["hold"]))
        assert "metadata.finalizers[0]" in str(refused.value)


async def test_an_object_has_one_controller_at_most(server: Server, names: Names) -> None:
    """Of several owners, one is in charge."""
    async with server.open() as kube:
        owners = [
            owner(await create(kube, CONFIG_MAP, config_map(names.fresh()), DEFAULT))
            for _ in range(2)
        ]
        with pytest.raises(InvalidError) as refused:
            await make(kube, CONFIG_MAP, named(names.fresh(), ownerReferences=owners))
        assert "metadata.ownerReferences" in str(refused.value)


async def test_a_new_object_has_no_version(server: Server, names: Names) -> None:
    """What was read cannot be created again as it is."""
    async with server.open() as kube:
        with pytest.raises(ApiError) as refused:
            await make(kube, CONFIG_MAP, named(names.fresh(), resourceVersion="5"))
        assert refused.value.status == 500


async def test_a_pod_does_not_choose_its_priority(server: Server, names: Names) -> None:
    """Only its class does."""
    async with server.open() as kube:
        with pytest.raises(ForbiddenError):
            await make(kube, POD, pod(names.fresh(), priority=7))
        await make(kube, POD, pod(names.fresh(), priority=0))
