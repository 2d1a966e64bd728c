"""Nodes go once what comes instead has started, and stay if it does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from dovetail import labels
from dovetail.controllers.cache import NODE, NODE_CLAIM, NODE_POOL, POD
from dovetail.decide.candidates import pending_pods
from dovetail.kube.errors import ForbiddenError, UnavailableError
from dovetail.kube.seam import Body, Patch, Ref
from dovetail.model.plan import Disrupt, Launch, Nominate
from dovetail.model.pool import NodeClassRef, NodePool
from dovetail.model.verdict import Score
from tests.unit.controllers.disruption.test_loop import departing, disrupted_nodes, is_going
from tests.unit.controllers.leaving import BUDGET, Process, World, running
from tests.unit.controllers.worlds import TYPES
from tests.unit.observe.scraped import metered

DRIFTED, UNDERUTILIZED = "Drifted", "Underutilized"
POOL = NodePool(
    "default", uid="u", node_class=NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "default")
)
REASON = "DisruptionReason"
MINUTE = 60.0


def launch(name: str, *pods: str) -> Launch:
    """A replacement."""
    kind = TYPES[0]
    return Launch(
        name=name,
        node_pool="default",
        instance_type=kind.name,
        zone=kind.offerings[0].zone,
        capacity_type=kind.offerings[0].capacity_type,
        price_nanousd=1,
        instance_types=(kind.name,),
        requests={"cpu": 100},
        pods=pods,
        allocatable=kind.allocatable,
    )


def moved(*nodes: str, reason: str = DRIFTED, **changes: object) -> Disrupt:
    """These nodes, for one that comes instead."""
    given: dict[str, object] = {
        "replacements": (launch("new", "default/p"),),
        "pods": ("default/p",),
        **changes,
    }
    return Disrupt(reason, nodes, **given)  # type: ignore[arg-type]  # keywords of the struct


@asynccontextmanager
async def replacing(world: World) -> AsyncIterator[Process]:
    """A process at work that sees to claims too, with a pod on node a."""
    await world.node("a")
    await world.pod("p", "a")
    async with running(world, ends_claims=True) as process, asyncio.TaskGroup() as group:
        task = group.create_task(process.disruptions.run())
        await world.pass_()
        yield process
        task.cancel()


@asynccontextmanager
async def taking_over(world: World) -> AsyncIterator[Process]:
    """The process that comes next."""
    async with running(world, ends_claims=True) as process, asyncio.TaskGroup() as group:
        await process.disruptions.take_over()
        task = group.create_task(process.disruptions.run())
        await world.pass_()
        yield process
        task.cancel()


async def start(world: World, name: str = "new") -> None:
    """The kubelet of a replacement comes up."""
    await world.kube.patch(Ref(NODE, name), Patch({"spec": {"taints": None}}))
    await world.set_ready(name, is_ready=True)
    await world.pass_(1)


async def is_put_back(world: World, name: str) -> bool:
    """Whether nothing shows on a node that it was to go."""
    return (
        await disrupted_nodes(world, name) == []
        and await world.condition(name, REASON) == ("", "")
        and not await is_going(world, name)
    )


async def test_a_node_goes_once_its_replacement_has_started() -> None:
    """Fenced and marked at once, counted and told; the pods are not planned for twice."""
    world = World()
    async with replacing(world) as process:
        assert await process.disruptions.begin(moved("a"), (POOL,))
        await world.pass_(2)
        assert await disrupted_nodes(world, "a") == [(labels.DISRUPTED_TAINT, "NoSchedule")]
        assert await world.condition("a", REASON) == ("True", DRIFTED)
        assert departing(process, world) == ["a"]
        queue = pending_pods(process.cache.cluster.snapshot(world.time.now()), world.time.now())
        assert [(pod.key, pod.node_name) for pod in queue.reserved] == [("default/p", "new")]
        assert queue.pods == ()
        await world.pass_(MINUTE)
        assert not await is_going(world, "a")
        await start(world)
        assert await is_going(world, "a")
        told = await world.events()
        assert ("NodeClaim", "new", "DisruptionLaunching") in told
        assert ("NodeClaim", "new", "DisruptionWaitingReadiness") in told
        assert {
            ("Node", "a", "DisruptionTerminating"),
            ("NodeClaim", "a", "DisruptionTerminating"),
        } <= told
        meters = process.dependencies.meters
        decided = {"decision": "replace", "reason": "drifted", "consolidation_type": ""}
        assert metered(meters, "karpenter_voluntary_disruption_decisions_total", **decided) == [1]
        assert metered(meters, "karpenter_nodeclaims_created_total", reason="drifted") == [1]
        assert metered(meters, "karpenter_nodeclaims_disrupted_total", reason="drifted") == [1]
        assert metered(meters, "karpenter_pods_disruption_initiated_total", reason="drifted") == [1]
        await world.pass_(1)
        await world.bury()
        await world.pass_(30)
        assert not await world.exists(NODE, "a")
        assert await world.exists(NODE, "new")
        assert process.said("ERROR") == []


@pytest.mark.parametrize("nodes", [("a",), ("a", "b")], ids=["one node", "several"])
async def test_what_balanced_pools_approve_of_is_told_and_counted(nodes: tuple[str, ...]) -> None:
    """Of a single node on it and its claim; of several on the pool."""
    world = World()
    async with replacing(world) as process:
        await world.node("b")
        await world.pass_()
        disrupt = moved(*nodes, reason=UNDERUTILIZED, scores=(Score("default", 1250),))
        assert await process.disruptions.begin(disrupt, (POOL,))
        await world.pass_(1)
        of_one = {("Node", "a"), ("NodeClaim", "a")}
        want = of_one if len(nodes) == 1 else {("NodePool", "default")}
        told = await world.events()
        assert {one[:2] for one in told if one[2] == "ConsolidationApproved"} == want
        labelled = {"decision": "approved", "nodepool": "default", "policy": "balanced"}
        meters = process.dependencies.meters
        assert metered(meters, "karpenter_consolidation_moves_total", **labelled) == [1]
        assert metered(meters, "karpenter_consolidation_score_sum", **labelled) == [1.25]


async def test_a_saving_is_told_to_whoever_looks_at_the_nodes() -> None:
    """And counted by how many nodes it is about."""
    world = World()
    async with replacing(world) as process:
        await world.node("b")
        await world.pass_()
        disrupt = moved("a", "b", reason=UNDERUTILIZED, saving_nanousd=10**9)
        assert await process.disruptions.begin(disrupt, (POOL,))
        await world.pass_(1)
        assert {("Node", one, "ConsolidationCandidate") for one in "ab"} <= await world.events()
        await start(world)
        assert await is_going(world, "a")
        assert await is_going(world, "b")
        assert metered(
            process.dependencies.meters,
            "karpenter_voluntary_disruption_decisions_total",
            decision="replace",
            reason="underutilized",
            consolidation_type="multi",
        ) == [1]


async def test_nodes_stay_when_their_replacement_does_not_start_in_time() -> None:
    """And it goes, since nobody else would take it away; the node is left alone for a while."""
    world = World()
    async with replacing(world) as process:
        await process.disruptions.begin(moved("a"), (POOL,))
        await world.pass_(9 * MINUTE)
        assert await disrupted_nodes(world, "a") != []
        await world.pass_(2 * MINUTE)
        assert await is_put_back(world, "a")
        assert not await world.exists(NODE_CLAIM, "new")
        assert departing(process, world) == []
        ledger = process.cache.cluster.snapshot(world.time.now()).ledger
        assert ledger.nominations == ()
        assert [one.node for one in ledger.setbacks] == []  # a minute has passed
        failures = "karpenter_voluntary_disruption_queue_failures_total"
        assert metered(
            process.dependencies.meters, failures, decision="replace", reason="drifted"
        ) == [1]
        await process.disruptions.begin(moved("a", replacements=(launch("newer"),)), (POOL,))
        await world.pass_(10 * MINUTE + 1)
        ledger = process.cache.cluster.snapshot(world.time.now()).ledger
        assert [one.node for one in ledger.setbacks] == ["a"]
        left = ledger.setbacks[0].until - world.time.now()
        assert timedelta(minutes=1) < left < timedelta(minutes=2)


async def test_nodes_stay_when_their_replacement_goes() -> None:
    """Whoever took it away."""
    world = World()
    async with replacing(world) as process:
        await process.disruptions.begin(moved("a"), (POOL,))
        await world.pass_(2)
        await world.delete(NODE_CLAIM, "new")
        await world.pass_(2)
        assert await is_put_back(world, "a")
        assert departing(process, world) == []


async def test_a_replacement_that_has_started_is_left_to_others() -> None:
    """The other one of two never comes."""
    world = World()
    async with replacing(world) as process:
        both = (launch("new", "default/p"), launch("late"))
        await process.disruptions.begin(moved("a", replacements=both), (POOL,))
        await world.pass_(2)
        await start(world)
        assert not await is_going(world, "a")
        await world.pass_(11 * MINUTE)
        assert await is_put_back(world, "a")
        assert await world.exists(NODE_CLAIM, "new")
        assert not await world.exists(NODE_CLAIM, "late")


async def test_nodes_stay_when_a_claim_cannot_be_made() -> None:
    """The replacement that could be made is left to whoever needs it."""
    world = World()
    async with replacing(world) as process:
        refused: list[str] = []

        def refuse(verb: str, ref: Ref) -> None:
            if verb == "create" and ref.kind == NODE_CLAIM and not refused:
                refused.append(verb)
                raise ForbiddenError(403, "Forbidden", "no")

        process.kube.refuse = refuse
        both = (launch("new"), launch("other"))
        assert not await process.disruptions.begin(moved("a", replacements=both), (POOL,))
        await world.pass_(1)
        assert await is_put_back(world, "a")
        assert departing(process, world) == []
        names = [node.name for node in process.cache.cluster.nodes(world.time.now())]
        assert sorted(names) == ["a", "other"]


async def test_all_nodes_stay_when_one_cannot_be_fenced() -> None:
    """And nothing is ordered."""
    world = World()
    async with replacing(world) as process:
        await world.node("b")
        await world.pass_()

        def refuse(verb: str, ref: Ref) -> None:
            if verb == "patch" and (ref.kind, ref.name) == (NODE, "b"):
                raise UnavailableError(503, "", "no")

        process.kube.refuse = refuse
        assert not await process.disruptions.begin(moved("a", "b"), (POOL,))
        process.kube.refuse = lambda verb, ref: None  # noqa: ARG005  refuses nothing
        assert await is_put_back(world, "a")
        assert await is_put_back(world, "b")
        assert not await world.exists(NODE_CLAIM, "new")
        assert departing(process, world) == []


@pytest.mark.parametrize("kind", [NODE, POD])
async def test_who_is_protected_meanwhile_stays(kind: object) -> None:
    """The node, or a pod on it."""
    world = World()
    async with replacing(world) as process:
        await process.disruptions.begin(moved("a", reason=UNDERUTILIZED), (POOL,))
        await world.pass_(2)
        name, held = ("a", NODE) if kind is NODE else ("p", POD)
        await world.annotate(held, name, labels.DO_NOT_DISRUPT, "true")
        await start(world)
        assert await is_put_back(world, "a")
        assert ("Node", "a", "ConsolidationRejected") in await world.events()
        failed = "karpenter_voluntary_disruption_failed_validations_total"
        assert metered(process.dependencies.meters, failed, consolidation_type="single") == [1]


async def test_a_budget_of_pods_that_is_used_up_is_waited_for() -> None:
    """Other disruptions use it too. Until time is up."""
    world = World()
    async with replacing(world) as process:
        await world.budget("b", "p", 0)
        await process.disruptions.begin(moved("a"), (POOL,))
        await world.pass_(2)
        await start(world)
        await world.pass_(MINUTE)
        assert not await is_going(world, "a")
        assert await disrupted_nodes(world, "a") != []
        assert ("Node", "a", "DisruptionBlocked") in await world.events()
        await world.allow("b", 1)
        await world.pass_(6)
        assert await is_going(world, "a")
        assert await world.exists(BUDGET, "b")


async def test_a_budget_of_pods_is_not_waited_for_for_ever() -> None:
    """The node is put back."""
    world = World()
    async with replacing(world) as process:
        await world.budget("b", "p", 0)
        await process.disruptions.begin(moved("a"), (POOL,))
        await world.pass_(2)
        await start(world)
        await world.pass_(11 * MINUTE)
        assert await is_put_back(world, "a")
        assert await world.exists(NODE_CLAIM, "new")


async def test_a_pool_that_lets_nobody_go_any_more_is_heard() -> None:
    """Though it did when that began."""
    world = World()
    async with replacing(world) as process:
        await process.disruptions.begin(moved("a"), (POOL,))
        await world.pass_(2)
        none: Body = {"spec": {"disruption": {"budgets": [{"nodes": "0"}]}}}
        await world.kube.patch(Ref(NODE_POOL, "default"), Patch(none))
        await start(world)
        assert await is_put_back(world, "a")


async def test_a_node_that_somebody_else_takes_away_is_not_waited_for() -> None:
    """The others go on; with none left there is nothing to do."""
    world = World()
    async with replacing(world) as process:
        await world.node("b")
        await world.pass_()
        await process.disruptions.begin(moved("a", "b"), (POOL,))
        await world.pass_(2)
        await world.delete(NODE_CLAIM, "a")
        await world.pass_(2)
        await start(world)
        assert await is_going(world, "b")
        assert process.said("ERROR") == []


async def test_a_deletion_that_fails_is_tried_again() -> None:
    """The replacement stands ready, after all."""
    world = World()
    async with replacing(world) as process:
        await process.disruptions.begin(moved("a"), (POOL,))
        await world.pass_(2)

        def refuse(verb: str, ref: Ref) -> None:
            if verb == "delete" and ref.name == "a":
                raise UnavailableError(503, "", "no")

        process.kube.refuse = refuse
        await start(world)
        await world.pass_(MINUTE)
        assert await disrupted_nodes(world, "a") != []
        process.kube.refuse = lambda verb, ref: None  # noqa: ARG005  refuses nothing
        await world.pass_(31)
        assert await is_going(world, "a")


async def test_whoever_takes_over_goes_on_waiting() -> None:
    """The claim says which node goes once it has started."""
    world = World()
    async with replacing(world) as process:
        await process.disruptions.begin(moved("a"), (POOL,))
        await world.pass_(2)
    async with taking_over(world) as process:
        assert departing(process, world) == ["a"]
        assert await disrupted_nodes(world, "a") != []
        await start(world)
        assert await is_going(world, "a")


async def test_whoever_takes_over_gives_up_what_cannot_be_done_any_more() -> None:
    """One of two replacements was never made; the other one goes before it has started."""
    world = World()
    async with replacing(world) as process:
        both = (launch("new", "default/p"), launch("other"))
        await process.disruptions.begin(moved("a", replacements=both), (POOL,))
        await world.pass_(2)
    await world.kube.patch(Ref(NODE_CLAIM, "other"), Patch({"metadata": {"finalizers": None}}))
    await world.delete(NODE_CLAIM, "other")
    async with taking_over(world) as process:
        await world.pass_(30)
        assert await is_put_back(world, "a")
        assert not await world.exists(NODE_CLAIM, "new")
        assert departing(process, world) == []


async def test_a_claim_that_replaced_nodes_which_stayed_matters_no_more() -> None:
    """Nor does one whose annotation makes no sense."""
    world = World()
    async with replacing(world) as process:
        await process.disruptions.begin(moved("a", reason=UNDERUTILIZED), (POOL,))
        await world.pass_(2)
        await world.annotate(NODE, "a", labels.DO_NOT_DISRUPT, "true")
        await start(world)
        await world.node("b")
        await world.annotate(NODE_CLAIM, "b", labels.REPLACES, "{")
    async with taking_over(world) as process:
        assert departing(process, world) == []
        assert await is_put_back(world, "a")


async def test_room_on_nodes_that_stay_is_kept_for_those_who_move() -> None:
    """Until their node is gone, however long that takes."""
    world = World()
    async with replacing(world) as process:
        await world.node("b")
        await world.pass_()
        disrupt = moved("a", replacements=(launch("new"),), places=(Nominate("b", ("default/p",)),))
        await process.disruptions.begin(disrupt, (POOL,))
        await world.pass_(5 * MINUTE)
        ledger = process.cache.cluster.snapshot(world.time.now()).ledger
        assert [one.node for one in ledger.nominations] == ["b"]


async def test_a_budget_of_pods_that_never_allows_it_is_not_waited_for() -> None:
    """The node is put back at once: nobody else could ever go first."""
    world = World()
    async with replacing(world) as process:
        await world.budget("b", "p", 0)
        await world.kube.patch(
            Ref(BUDGET, "b", "default"),
            Patch({"status": {"expectedPods": 1}}, subresource="status"),
        )
        await process.disruptions.begin(moved("a"), (POOL,))
        await world.pass_(2)
        await start(world)
        assert await is_put_back(world, "a")
