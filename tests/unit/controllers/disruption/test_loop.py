"""A node that a plan wants gone goes, or is put back as it was."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from dovetail import api, labels
from dovetail.controllers.cache import NODE, NODE_CLAIM, NODE_POOL
from dovetail.kube.errors import ConflictError, UnavailableError
from dovetail.kube.seam import Body, Patch, Ref
from dovetail.model.plan import Disrupt, Launch
from tests.unit.controllers.leaving import Process, World, deaf, running
from tests.unit.observe.scraped import metered

EMPTY = "Empty"


async def disrupted_nodes(world: World, name: str) -> list[tuple[str, str]]:
    """The taints of a Node."""
    return [(one.key, one.effect) for one in (await world.wire_node(name)).spec.taints]


def departing(process: Process, world: World) -> list[str]:
    """The nodes that count as leaving because they are being disrupted."""
    ledger = process.cache.cluster.snapshot(world.time.now()).ledger
    return [one.node for one in ledger.disrupting]


async def is_going(world: World, claim: str) -> bool:
    """Whether a claim is being deleted."""
    return (await world.wire_claim(claim)).metadata.deletion_timestamp is not None


async def test_empty_nodes_are_fenced_marked_and_their_claims_deleted() -> None:
    """Users hear of it, on the Node and on the claim; it is counted and logged."""
    world = World()
    await world.node("a")
    await world.node("b")
    async with running(world) as process:
        await process.disruptions.begin(Disrupt(EMPTY, ("a", "b"), saving_nanousd=10**9))
        assert departing(process, world) == ["a", "b"]
        await world.pass_()
        for name in ("a", "b"):
            assert await disrupted_nodes(world, name) == [(labels.DISRUPTED_TAINT, "NoSchedule")]
            assert await world.condition(name, "DisruptionReason") == ("True", EMPTY)
            assert await is_going(world, name)
            for kind in ("Node", "NodeClaim"):
                assert (kind, name, "DisruptionTerminating") in await world.events()
        assert process.said("INFO") == ["disrupting node(s)"]
        meters = process.dependencies.meters
        decided = {"decision": "delete", "reason": "empty", "consolidation_type": "empty"}
        for name in ("decisions_total", "decisions_by_nodepool_total"):
            assert metered(meters, f"karpenter_voluntary_disruption_{name}", **decided) == [1]
        assert metered(
            meters,
            "karpenter_nodeclaims_disrupted_total",
            reason="empty",
            nodepool="default",
            termination_mode="graceful",
        ) == [2]


async def test_a_disrupted_node_goes_to_its_end() -> None:
    """Its claim takes it along, its pods hear why; nothing is left of it, nor of the instance."""
    world = World()
    await world.node("a")
    await world.pod("daemon", "a", owner="DaemonSet")
    async with running(world, ends_claims=True) as process:
        await process.disruptions.begin(Disrupt(EMPTY, ("a",)))
        await world.pass_(1)
        await world.bury()
        assert metered(
            process.dependencies.meters, "karpenter_pods_drained_total", reason=EMPTY
        ) == [1]
        await world.pass_(30)
        assert not await world.exists(NODE, "a")
        assert not await world.exists(NODE_CLAIM, "a")
        assert not await world.cloud.list()
        assert departing(process, world) == []
        await process.disruptions.tidy()
        assert process.said("WARN", "ERROR") == []


async def test_a_node_that_got_a_pod_meanwhile_is_put_back() -> None:
    """The API is asked itself: the watch may be late. The others go on."""
    world = World()
    await world.node("a")
    await world.node("b")
    process = await deaf(world)
    await world.pod("late", "a")
    assert process.cache.cluster.pods_on("a") == ()
    await process.disruptions.begin(Disrupt(EMPTY, ("a", "b")))
    assert await disrupted_nodes(world, "a") == []
    assert await world.condition("a", "DisruptionReason") == ("", "")
    assert not await is_going(world, "a")
    assert await is_going(world, "b")
    assert departing(process, world) == ["b"]
    assert metered(
        process.dependencies.meters, "karpenter_voluntary_disruption_failed_validations_total"
    ) == [1]


async def test_an_empty_node_stays_when_a_budget_closes_meanwhile() -> None:
    """Budgets are checked again before claims are deleted; nodes that they still allow go."""
    world = World()
    await world.node("a")
    await world.node("b")
    async with running(world) as process:
        budgets: Body = {"spec": {"disruption": {"budgets": [{"nodes": "1"}]}}}
        await world.kube.patch(Ref(NODE_POOL, "default"), Patch(budgets))
        await world.pass_()
        await process.disruptions.begin(Disrupt(EMPTY, ("b", "a")))
        assert await is_going(world, "b")
        assert not await is_going(world, "a")
        assert await disrupted_nodes(world, "a") == []
        assert departing(process, world) == ["b"]
        assert metered(
            process.dependencies.meters, "karpenter_voluntary_disruption_failed_validations_total"
        ) == [1]


async def test_daemons_do_not_keep_a_node() -> None:
    """Nor do pods that are part of it."""
    world = World()
    await world.node("a")
    await world.pod("daemon", "a", owner="DaemonSet")
    await world.pod("mirror", "a", owner="Node")
    async with running(world) as process:
        await process.disruptions.begin(Disrupt(EMPTY, ("a",)))
        assert await is_going(world, "a")


async def test_others_who_write_to_node_and_claim_are_not_overwritten() -> None:
    """Their versions have moved on since we heard of them."""
    world = World()
    await world.node("a")
    async with running(world) as process:
        taint: Body = {"spec": {"taints": [{"key": "x.com/y", "effect": "NoExecute"}]}}
        await world.kube.patch(Ref(NODE, "a"), Patch(taint))
        said: Body = {"status": {"imageID": "other"}}
        await world.kube.patch(Ref(NODE_CLAIM, "a"), Patch(said, subresource="status"))
        await process.disruptions.begin(Disrupt(EMPTY, ("a",)))
        assert await disrupted_nodes(world, "a") == [
            ("x.com/y", "NoExecute"),
            (labels.DISRUPTED_TAINT, "NoSchedule"),
        ]
        claim = await world.wire_claim("a")
        assert claim.status.image_id == "other"
        assert await world.condition("a", "DisruptionReason") == ("True", EMPTY)
        assert await is_going(world, "a")


@pytest.mark.parametrize("verb", ["patch Node", "patch NodeClaim", "list Pod", "delete NodeClaim"])
async def test_what_cannot_be_done_is_put_back_and_told(verb: str) -> None:
    """Nothing is raised; the plan's other nodes go on."""
    world = World()
    await world.node("a")
    await world.node("b")
    async with running(world) as process:
        refused: list[str] = []

        def refuse(asked: str, ref: Ref) -> None:
            if f"{asked} {ref.kind.name}" == verb and ref.name.endswith("a") and not refused:
                refused.append(ref.name)
                raise UnavailableError(503, "", "no")

        process.kube.refuse = refuse
        assert not await process.disruptions.begin(Disrupt(EMPTY, ("a", "b")))
        assert refused
        assert await disrupted_nodes(world, "a") == []
        assert await world.condition("a", "DisruptionReason") == ("", "")
        assert not await is_going(world, "a")
        assert await is_going(world, "b")
        assert departing(process, world) == ["b"]
        assert process.said("ERROR") == ["disrupting node failed"]
        name = "karpenter_voluntary_disruption_queue_failures_total"
        assert metered(process.dependencies.meters, name, reason="empty", decision="delete") == [1]
        assert await process.disruptions.begin(Disrupt(EMPTY, ("a",)))
        assert await is_going(world, "a")


async def test_a_conflict_that_does_not_end_is_given_up() -> None:
    """After a few tries; what is left over is taken down later."""
    world = World()
    await world.node("a")
    async with running(world) as process:

        def refuse(verb: str, ref: Ref) -> None:
            if verb == "patch" and ref.kind == NODE_CLAIM:
                raise ConflictError(409, "Conflict", "again")

        process.kube.refuse = refuse
        await process.disruptions.begin(Disrupt(EMPTY, ("a",)))
        assert await disrupted_nodes(world, "a") == []
        assert not await is_going(world, "a")


async def test_a_fence_that_cannot_be_taken_down_is_left_to_tidying() -> None:
    """And so is the reason."""
    world = World()
    await world.node("a")
    async with running(world) as process:

        def refuse(verb: str, ref: Ref) -> None:
            n_patched = sum(one[1] == "patch" for one in process.kube.calls)
            if verb == "list" or (verb == "patch" and n_patched >= 2):
                raise UnavailableError(503, "", f"no {ref.name}")

        process.kube.refuse = refuse
        await process.disruptions.begin(Disrupt(EMPTY, ("a",)))
        assert await disrupted_nodes(world, "a") != []
        process.kube.refuse = lambda verb, ref: None  # noqa: ARG005  refuses nothing
        await process.disruptions.tidy()
        assert await disrupted_nodes(world, "a") == []
        assert await world.condition("a", "DisruptionReason") == ("", "")
        assert departing(process, world) == []


async def test_nodes_that_leave_or_are_not_ours_are_no_candidates() -> None:
    """Nor is one twice; and where something is to come instead, all go or none."""
    world = World()
    await world.node("a")
    await world.node("going")
    body: Body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "theirs"}}
    await world.kube.create(NODE, body)
    async with running(world) as process:
        await world.delete(NODE_CLAIM, "going")
        await world.pass_()
        process.kube.calls.clear()
        begin = process.disruptions.begin
        await begin(Disrupt(EMPTY, ("going", "theirs", "nowhere")))
        launch = Launch("r", "default", "t", "z", "spot", 1, ("t",), {}, ())
        await begin(Disrupt("Underutilized", ("a", "going"), replacements=(launch,)))
        assert process.kube.calls == []
        await begin(Disrupt(EMPTY, ("a",)))
        n_calls = len(process.kube.calls)
        await begin(Disrupt(EMPTY, ("a",)))
        assert len(process.kube.calls) == n_calls


async def test_a_process_that_starts_takes_down_what_another_left() -> None:
    """Fence and reason, or either; not of Nodes that leave, and not of others' Nodes."""
    world = World()
    fence: Body = {"spec": {"taints": [{"key": labels.DISRUPTED_TAINT, "effect": "NoSchedule"}]}}
    for name in ("both", "reason", "leaves"):
        await world.node(name)
        await _give_reason(world, name)
    for name in ("both", "leaves"):
        await world.kube.patch(Ref(NODE, name), Patch(fence))
    theirs: Body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "theirs"}, **fence}
    await world.kube.create(NODE, theirs)
    await world.delete(NODE_CLAIM, "leaves")
    async with running(world) as process:
        await process.disruptions.tidy()
        assert await disrupted_nodes(world, "both") == []
        for name in ("both", "reason"):
            assert await world.condition(name, "DisruptionReason") == ("", "")
        assert await disrupted_nodes(world, "leaves") != []
        assert await world.condition("leaves", "DisruptionReason") == ("True", EMPTY)
        assert await disrupted_nodes(world, "theirs") != []
        n_calls = len(process.kube.calls)
        await process.disruptions.tidy()
        assert len(process.kube.calls) == n_calls


async def test_tidying_leaves_alone_what_is_under_way() -> None:
    """Also right after the deletion, which nobody has heard of yet."""
    world = World()
    await world.node("a")
    process = await deaf(world)
    await process.disruptions.begin(Disrupt(EMPTY, ("a",)))
    claim = process.cache.claims.get("a")
    assert claim is not None
    assert claim.metadata.deletion_timestamp is None
    assert await is_going(world, "a")
    await process.disruptions.tidy()
    assert await disrupted_nodes(world, "a") == [(labels.DISRUPTED_TAINT, "NoSchedule")]
    assert await world.condition("a", "DisruptionReason") == ("True", EMPTY)


async def test_a_process_that_dies_anywhere_in_a_disruption_leaves_nothing_behind() -> None:
    """The next one either finishes it, or finds everything as it was and may begin again."""
    for lives in range(1, 8):
        world = World()
        await world.node("a")
        async with running(world, lives) as process:
            await _until_death(world, process)
        async with running(world, ends_claims=True) as process:
            await process.disruptions.tidy()
            await world.pass_(30)
            if await world.exists(NODE, "a"):
                assert await disrupted_nodes(world, "a") == []
                assert await world.condition("a", "DisruptionReason") == ("", "")
                await process.disruptions.begin(Disrupt(EMPTY, ("a",)))
                await world.pass_(30)
            assert not await world.exists(NODE, "a")
            assert not await world.exists(NODE_CLAIM, "a")
            assert not await world.cloud.list()


async def test_what_is_left_over_is_taken_down_in_time() -> None:
    """Not only when a process starts: an API that fails for a moment must not fence a node off."""
    world = World()
    await world.node("a")
    async with running(world) as process, asyncio.TaskGroup() as group:
        tidying = group.create_task(process.disruptions.run())
        await world.pass_()

        def refuse(verb: str, ref: Ref) -> None:
            n_patched = sum(one[1] == "patch" for one in process.kube.calls)
            if verb == "list" or (verb == "patch" and n_patched >= 2):
                raise UnavailableError(503, "", f"no {ref.name}")

        process.kube.refuse = refuse
        await process.disruptions.begin(Disrupt(EMPTY, ("a",)))
        assert await disrupted_nodes(world, "a") != []
        process.kube.refuse = lambda verb, ref: None  # noqa: ARG005  refuses nothing
        await world.pass_(60)
        assert await disrupted_nodes(world, "a") == []
        await process.disruptions.finish()
        tidying.cancel()


async def test_a_node_that_comes_again_under_its_name_can_go_again() -> None:
    """Nothing of the one before is remembered."""
    world = World()
    async with running(world, ends_claims=True) as process:
        for _ in range(2):
            await world.node("a")
            await world.pass_()
            await process.disruptions.begin(Disrupt(EMPTY, ("a",)))
            await world.pass_(30)
            assert not await world.exists(NODE, "a")


async def test_a_disruption_that_is_cut_short_is_not_under_way_for_ever() -> None:
    """A bug elsewhere, or the end of the loop that began it."""
    world = World()
    await world.node("a")
    async with running(world) as process:

        def refuse(verb: str, ref: Ref) -> None:
            if verb == "list":
                raise RuntimeError(ref.name)

        process.kube.refuse = refuse
        with pytest.raises(ExceptionGroup):
            await process.disruptions.begin(Disrupt(EMPTY, ("a",)))
        assert departing(process, world) == []
        process.kube.refuse = lambda verb, ref: None  # noqa: ARG005  refuses nothing
        await process.disruptions.tidy()
        assert await disrupted_nodes(world, "a") == []
        await process.disruptions.begin(Disrupt(EMPTY, ("a",)))
        assert await is_going(world, "a")


async def _until_death(world: World, process: Process) -> None:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(process.disruptions.begin(Disrupt(EMPTY, ("a",))))
        await world.pass_()
        task.cancel()


async def _give_reason(world: World, name: str) -> None:
    held = (await world.wire_claim(name)).status.conditions
    reason = api.Condition("DisruptionReason", "True", EMPTY, last_transition_time=world.time.now())
    said = [msgspec.to_builtins(one) for one in (*held, reason)]
    patch = Patch({"status": {"conditions": said}}, subresource="status")
    await world.kube.patch(Ref(NODE_CLAIM, name), patch)
