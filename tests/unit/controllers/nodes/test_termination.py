"""A Node leaves in order: fence, pods by tier, volumes, instance, finalizer."""

from __future__ import annotations

from collections import Counter

from dovetail import labels
from dovetail.controllers.cache import NODE, NODE_CLAIM, POD
from dovetail.kube.errors import UnavailableError
from dovetail.kube.seam import Body, Deletion, Patch, Ref
from dovetail.providers.kwok.faults import Call, Throttling
from tests.unit.controllers.leaving import (
    ATTACHMENT,
    CLASS_LABEL,
    VOLUME_CLAIM,
    World,
    running,
    stamp,
)
from tests.unit.observe.scraped import metered

GRACE = labels.TERMINATION_TIMESTAMP
TOLERANT = {"key": labels.DISRUPTED_TAINT, "operator": "Exists"}


async def test_an_empty_node_goes_with_its_instance_and_takes_its_claim_along() -> None:
    """A Node that kubectl deletes; the claim is left to whoever ends claims."""
    world = World()
    await world.node("n")
    async with running(world) as process:
        await world.delete(NODE, "n")
        await world.pass_(1)
        assert (await world.wire_claim("n")).metadata.deletion_timestamp is not None
        assert await world.condition("n", "Drained") == ("Unknown", "Draining")
        await world.pass_(5)
        assert await world.condition("n", "Drained") == ("True", "Drained")
        assert await world.condition("n", "VolumesDetached") == ("True", "VolumesDetached")
        assert await world.condition("n", "InstanceTerminating") == ("True", "InstanceTerminating")
        assert not await world.cloud.list()
        assert await world.exists(NODE, "n")  # until the cloud has said so
        await world.pass_(5)
        assert not await world.exists(NODE, "n")
        assert process.said("WARN", "ERROR") == []
        assert process.said("INFO") == ["deleted node claim", "instance is gone", "terminated node"]
        meters = process.dependencies.meters
        assert metered(meters, "karpenter_nodes_drained_total", nodepool="default") == [1]
        assert metered(meters, "karpenter_nodes_terminated_total", nodepool="default") == [1]


async def test_a_node_is_fenced_before_any_pod_is_asked_to_leave() -> None:
    """No pod comes, no load balancer sends; a taint of the same key gives way."""
    world = World()
    await world.node("n")
    await world.pod("a", "n")
    taint: Body = {"spec": {"taints": [{"key": labels.DISRUPTED_TAINT, "effect": "NoExecute"}]}}
    await world.kube.patch(Ref(NODE, "n"), Patch(taint))
    async with running(world) as process:
        await world.delete(NODE, "n")
        await world.pass_(0.5)
        verbs = [verb for _, verb, _ in process.kube.calls]
        assert verbs.index("patch") < verbs.index("evict")
        node = await world.wire_node("n")
        assert [(one.key, one.effect) for one in node.spec.taints] == [
            (labels.DISRUPTED_TAINT, "NoSchedule")
        ]
        assert node.metadata.labels[labels.EXCLUDE_FROM_LOAD_BALANCERS] == "karpenter"
        assert ("Node", "n", "FailedDraining") in await world.events()


async def test_pods_leave_by_tier() -> None:
    """Ordinary pods, daemons, critical pods, critical daemons; a tier when the last is gone."""
    world = World()
    await world.node("n")
    await world.pod("plain-1", "n")
    await world.pod("plain-2", "n")
    await world.pod("daemon", "n", owner="DaemonSet")
    await world.pod("critical", "n", priority="system-cluster-critical")
    await world.pod("last", "n", priority="system-node-critical", owner="DaemonSet")
    async with running(world):
        await world.delete(NODE, "n")
        for tier in ({"plain-1", "plain-2"}, {"daemon"}, {"critical"}, {"last"}):
            await world.pass_(3)
            assert await world.leaving() == tier
            await world.bury()
        await world.pass_(20)
        assert not await world.exists(NODE, "n")


async def test_the_next_tier_is_asked_as_soon_as_the_last_is_gone() -> None:
    """No poll is waited for."""
    world = World()
    await world.node("n")
    await world.pod("a", "n")
    await world.pod("daemon", "n", owner="DaemonSet")
    async with running(world):
        await world.delete(NODE, "n")
        await world.pass_(0.25)
        await world.bury()
        await world.pass_()
        assert await world.leaving() == {"daemon"}


async def test_pods_that_mean_to_stay_hold_nothing_up() -> None:
    """Those that tolerate the drain, those of the node itself, and those that have ended."""
    world = World()
    await world.node("n")
    await world.pod("tolerant", "n", tolerations=[{**TOLERANT}])
    await world.pod("mirror", "n", owner="Node")
    await world.pod("ended", "n")
    done: Body = {"status": {"phase": "Succeeded"}}
    await world.kube.patch(Ref(POD, "ended", "default"), Patch(done, subresource="status"))
    async with running(world):
        await world.delete(NODE, "n")
        await world.pass_(15)
        assert not await world.exists(NODE, "n")
        assert await world.leaving() == set()


async def test_a_budget_holds_a_drain_and_nothing_is_evicted_against_it() -> None:
    """And it goes on once the budget allows it."""
    world = World()
    await world.node("n")
    await world.pod("kept", "n")
    await world.pod("free", "n")
    await world.budget("b", "kept", 0)
    async with running(world):
        await world.delete(NODE, "n")
        for _ in range(6):
            await world.pass_(10)
            await world.bury()
        assert [pod.metadata.name for pod in await world.pods()] == ["kept"]
        assert await world.leaving() == set()
        assert await world.condition("n", "Drained") == ("Unknown", "Draining")
        assert len(await world.cloud.list()) == 1
        await world.allow("b", 1)
        await world.pass_(10)
        assert await world.leaving() == {"kept"}
        await world.bury()
        await world.pass_(20)
        assert not await world.exists(NODE, "n")


async def test_a_pod_that_must_not_be_disrupted_stalls_the_drain() -> None:
    """Until somebody takes the annotation off."""
    world = World()
    await world.node("n")
    await world.pod("kept", "n", annotations={labels.DO_NOT_DISRUPT: "true"})
    async with running(world):
        await world.delete(NODE, "n")
        await world.pass_(120)
        assert await world.leaving() == set()
        await world.annotate(POD, "kept", labels.DO_NOT_DISRUPT, None)
        await world.pass_(10)
        assert await world.leaving() == {"kept"}


async def test_the_deadline_deletes_pods_early_enough_for_them_to_end() -> None:
    """Whatever protects them: budget, annotation, tier. Each has its whole grace period."""
    world = World()
    await world.node("n", grace="100s")
    await world.pod("annotated", "n", annotations={labels.DO_NOT_DISRUPT: "true"}, grace=40)
    await world.pod("budgeted", "n", grace=10)
    await world.pod("tolerant", "n", tolerations=[{**TOLERANT}])
    await world.budget("b", "budgeted", 0)
    deadline = world.time.now().replace(minute=1, second=40)
    await world.annotate(NODE_CLAIM, "n", GRACE, stamp(deadline))
    async with running(world) as process:
        await world.delete(NODE, "n")
        await world.pass_(59)
        assert await world.leaving() == set()
        await world.pass_(2)
        assert await world.leaving() == {"annotated"}
        await world.pass_(28)
        assert await world.leaving() == {"annotated"}
        await world.pass_(2)
        assert await world.leaving() == {"annotated", "budgeted"}
        pods = {pod.metadata.name: pod.metadata.deletion_timestamp for pod in await world.pods()}
        assert all(moment <= deadline for moment in pods.values() if moment is not None)
        assert {
            ("Pod", "annotated", "Disrupted"),
            ("Pod", "budgeted", "Disrupted"),
            ("Node", "n", "TerminationGracePeriodExpiring"),
        } <= await world.events()
        assert process.said("WARN", "ERROR") == []


async def test_volumes_are_awaited_but_not_past_the_deadline() -> None:
    """Those of pods that stay are not."""
    world = World()
    await world.node("n", grace="60s")
    await world.attach("held", "n", "volume-1")
    deadline = world.time.now().replace(minute=1)
    async with running(world):
        await world.delete(NODE, "n")
        await world.pass_(20)
        assert await world.condition("n", "VolumesDetached") == (
            "Unknown",
            "AwaitingVolumeDetachment",
        )
        assert ("Node", "n", "AwaitingVolumeDetachment") in await world.events()
        assert len(await world.cloud.list()) == 1
        await world.annotate(NODE_CLAIM, "n", GRACE, stamp(deadline))
        await world.pass_(42)
        assert await world.condition("n", "VolumesDetached") == (
            "False",
            "TerminationGracePeriodElapsed",
        )
        await world.pass_(10)
        assert not await world.exists(NODE, "n")


async def test_a_volume_that_is_detached_is_noticed_at_once() -> None:
    """And a volume of a pod that stays is not waited for."""
    world = World()
    await world.node("n")
    body: Body = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"], "volumeName": "volume-2"},
    }
    await world.kube.create(VOLUME_CLAIM, body, "default")
    await world.pod("stays", "n", tolerations=[{**TOLERANT}], volume="data")
    await world.attach("gone-soon", "n", "volume-1")
    await world.attach("stays", "n", "volume-2")
    async with running(world):
        await world.delete(NODE, "n")
        await world.pass_(10.25)
        assert (await world.condition("n", "VolumesDetached"))[0] == "Unknown"
        await world.delete(ATTACHMENT, "gone-soon")
        await world.pass_()
        assert (await world.condition("n", "VolumesDetached"))[0] == "True"
        await world.pass_(5)
        assert not await world.exists(NODE, "n")


async def test_a_node_whose_instance_is_gone_is_not_drained() -> None:
    """There is nobody left to end its pods."""
    world = World()
    await world.node("n", is_ready=False)
    await world.pod("kept", "n")
    await world.budget("b", "kept", 0)
    await world.delete(NODE, "n")
    await world.annotate(NODE, "n", "karpenter.kwok.sh/instance", None)  # the machine is gone
    async with running(world):
        await world.pass_(1)
        assert not await world.exists(NODE, "n")
        assert (await world.wire_claim("n")).metadata.deletion_timestamp is not None
        assert await world.leaving() == set()


async def test_a_node_that_only_does_not_speak_is_drained() -> None:
    """Its instance is there, or the cloud cannot say."""
    world = World()
    await world.node("n", is_ready=False)
    await world.pod("a", "n")
    world.faults.order(Throttling(calls=(Call.GET,)))
    async with running(world):
        await world.delete(NODE, "n")
        await world.pass_(20)
        assert await world.leaving() == {"a"}
        assert await world.exists(NODE, "n")


async def test_nodes_of_others_are_never_touched() -> None:
    """Not though they bear our finalizer and taint, and not ours while nobody deletes them."""
    world = World()
    await world.node("ours")
    await world.pod("on-ours", "ours")
    for name, finalizers in (("theirs", [labels.TERMINATION_FINALIZER]), ("other", ["x.com/f"])):
        body: Body = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "finalizers": [*finalizers],
                "labels": {CLASS_LABEL: "default"} if name == "other" else {},
            },
            "spec": {"providerID": f"aws://{name}"},
        }
        await world.kube.create(NODE, body)
        await world.pod(f"on-{name}", name)
        await world.kube.delete(Ref(NODE, name), Deletion())
    before = [await world.wire_node(name) for name in ("theirs", "other", "ours")]
    async with running(world) as process:
        await world.pass_(60)
        assert process.kube.calls == []
    assert [await world.wire_node(name) for name in ("theirs", "other", "ours")] == before
    assert await world.leaving() == set()


async def test_a_node_without_a_claim_is_drained_and_let_go() -> None:
    """Its instance is nobody's to end: garbage collection finds it."""
    world = World()
    await world.node("n")
    await world.pod("a", "n")
    nothing: Body = {"metadata": {"finalizers": None}}
    await world.kube.patch(Ref(NODE_CLAIM, "n"), Patch(nothing))
    await world.delete(NODE_CLAIM, "n")
    async with running(world):
        await world.delete(NODE, "n")
        await world.pass_(5)
        assert await world.leaving() == {"a"}
        await world.bury()
        await world.pass_(2)
        assert not await world.exists(NODE, "n")


async def test_a_cloud_that_cannot_be_asked_is_asked_again() -> None:
    """The Node stays until its instance is known to be gone."""
    world = World()
    await world.node("n")
    world.faults.order(Throttling(calls=(Call.DELETE,), times=4))
    async with running(world):
        await world.delete(NODE, "n")
        await world.pass_(7)
        assert await world.exists(NODE, "n")
        await world.pass_(60)
        assert not await world.exists(NODE, "n")
        assert not await world.cloud.list()


async def test_an_api_that_fails_is_tried_again() -> None:
    """Whatever was to be written."""
    world = World()
    await world.node("n")
    await world.pod("a", "n")
    async with running(world) as process:
        asked: Counter[tuple[str, str]] = Counter()

        def refuse(verb: str, ref: Ref) -> None:
            asked[verb, ref.kind.name] += 1
            if asked[verb, ref.kind.name] <= 3:
                raise UnavailableError(503, "ServiceUnavailable", f"{verb} {ref.name}")

        process.kube.refuse = refuse
        await world.delete(NODE, "n")
        for _ in range(60):
            await world.pass_(2)
            await world.bury()
        assert not await world.exists(NODE, "n")
        assert not await world.cloud.list()


async def test_a_cloud_is_not_asked_more_often_than_an_instance_takes_to_go() -> None:
    """Though the Node is heard of all the time."""
    world = World()
    await world.node("n")
    async with running(world) as process:
        await world.delete(NODE, "n")
        await world.pass_(5.5)
        assert process.said("INFO") == ["deleted node claim"]
        n_asked = len(process.kube.calls)
        for beat in range(4):
            await world.annotate(NODE, "n", "example.com/beat", str(beat))
            await world.pass_(1)
        assert len(process.kube.calls) == n_asked
        await world.pass_(1)
        assert not await world.exists(NODE, "n")


async def test_a_claim_that_is_deleted_takes_its_node_along() -> None:
    """Pods leave first; then everything is gone, and users were told all along."""
    world = World()
    await world.node("n", grace="10m")
    await world.pod("a", "n")
    async with running(world, ends_claims=True) as process:
        await world.delete(NODE_CLAIM, "n")
        await world.pass_(1)
        assert await world.leaving() == {"a"}
        await world.bury()
        await world.pass_(20)
        assert not await world.exists(NODE, "n")
        assert not await world.exists(NODE_CLAIM, "n")
        assert not await world.cloud.list()
        assert {
            ("Node", "n", "FailedDraining"),
            ("Node", "n", "TerminationGracePeriodExpiring"),
            ("NodeClaim", "n", "TerminationGracePeriodExpiring"),
            ("Pod", "a", "Evicted"),
        } <= await world.events()
        assert process.said("ERROR") == []


async def test_a_pod_that_nobody_ends_does_not_hold_its_node_for_ever() -> None:
    """A minute after it should have been gone, the node goes on without it."""
    world = World()
    await world.node("n")
    await world.pod("stuck", "n", grace=30)
    async with running(world):
        await world.delete(NODE, "n")
        await world.pass_(89)
        assert await world.condition("n", "Drained") == ("Unknown", "Draining")
        await world.pass_(15)
        assert not await world.exists(NODE, "n")
