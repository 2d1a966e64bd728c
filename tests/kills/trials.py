"""What the controller is put through, and what must be so in the end."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

from dovetail import api
from dovetail.controllers.cache import NODE_CLAIM
from dovetail.decide import decide
from dovetail.testing.virtual_time import START
from tests.doubles.troubled_kube import ApiCall, When
from tests.kills.laws import AtRest, breaches
from tests.kills.scenarios import LONGEST_SECONDS, Scenario
from tests.kills.storms import Storm
from tests.kills.world import Decide, Process, World, living, running

SECONDS_OF_A_RESTART = 3.0
_STEP_SECONDS = 5.0
_HOUR_SECONDS = 3_600.0
_QUIET_SECONDS = 130.0  # long enough for garbage to be looked for once more
_N_CRASHES = 6
_FEW = 5
_MOST_CALLS = 120  # of a process that will crash; to start takes some fifty
_LEASE_SECONDS = 20.0  # until another replica has noticed


def kill_points(calls: list[ApiCall]) -> list[int]:
    """The numbers of the calls to die at. Of evictions that are tried again and again, the first
    and the last few are enough.
    """
    tried: dict[str, list[int]] = {}
    found: set[int] = set()
    for number, call in enumerate(calls, start=1):
        if call.verb == "evict":
            tried.setdefault(call.name, []).append(number)
        elif call.is_write:
            found.add(number)
    few = {one for numbers in tried.values() for one in (*numbers[:_FEW], *numbers[-_FEW:])}
    return sorted(found | few)


async def left_alone(
    scenario: Scenario,
    seed: int | None = None,
    decide: Decide = decide,
    *,
    world: World | None = None,
) -> tuple[list[ApiCall], list[str]]:
    """What a controller asks API and cloud for that nobody kills, and what is wrong in the end."""
    world = world or World(is_aloof=scenario.is_aloof, seed=seed, decide=decide)
    async with living(world), running(world) as process:
        await _act(scenario, world, process)
        complaints = await judged(scenario, world)
        return process.mortal.calls, complaints


async def killed(
    scenario: Scenario,
    dies_at: int,
    when: When,
    seed: int | None = None,
    *,
    world: World | None = None,
) -> list[str]:
    """Kill the controller at that call and start another; what is wrong in the end."""
    world = world or World(is_aloof=scenario.is_aloof, seed=seed)
    async with living(world):
        async with running(world) as process:
            await _act(scenario, world, process, dies_at, when)
            is_dead = await _died(world, process, scenario.longest_seconds)
        if scenario.meanwhile is not None:
            await scenario.meanwhile(world)
        await world.pass_(SECONDS_OF_A_RESTART)
        async with running(world):
            complaints = await judged(scenario, world)
    return complaints if is_dead else ["the controller did not come to that call"]


async def weathered(
    scenario: Scenario, storm: Storm, seed: int | None, *, world: World | None = None
) -> list[str]:
    """Let the scenario happen in a storm; what is wrong once that is over."""
    world = world or World(is_aloof=scenario.is_aloof, seed=seed)
    async with living(world), running(world) as process:
        await _act(scenario, world, process)
        await storm.strikes(world, process, Random(seed or 0))  # noqa: S311  repeatable
        return await judged(_in_the_wake_of(storm, scenario), world)


async def crashed_again_and_again(scenario: Scenario, seed: int) -> list[str]:
    """Let controllers crash at chance calls, one after the other; what is wrong once one lives."""
    chance = Random(seed)  # noqa: S311  repeatable
    world = World(is_aloof=scenario.is_aloof, seed=seed)
    async with living(world):
        async with running(world) as process:
            await _act(scenario, world, process, chance.randint(1, _MOST_CALLS))
            await _died(world, process, within_seconds=60 * chance.random())
        for _ in range(_N_CRASHES):
            await world.pass_(SECONDS_OF_A_RESTART * chance.random())
            async with running(world) as process:
                process.mortal.begin_counting(
                    chance.randint(1, _MOST_CALLS), chance.choice(list(When))
                )
                await _died(world, process, within_seconds=60 * chance.random())
        await world.pass_(SECONDS_OF_A_RESTART)
        async with running(world):
            return await judged(scenario, world)


async def taken_over(scenario: Scenario, dies_at: int, when: When, seed: int | None) -> list[str]:
    """Kill the leader of two replicas at that call; what is wrong once the other has led."""
    world = World(is_aloof=scenario.is_aloof, seed=seed)
    async with living(world), running(world, is_elected=True) as leader:
        await world.pass_(5)
        async with running(world, is_elected=True) as other:
            await _act(scenario, world, leader, dies_at, when)
            is_dead = await _died(world, leader)
            has_led_early = other.is_leading
            await world.pass_(_LEASE_SECONDS)
            complaints = await judged(scenario, world)
            if not is_dead or has_led_early or not other.is_leading:
                complaints.append("the other replica did not take over then")
            return complaints


def _in_the_wake_of(storm: Storm, scenario: Scenario) -> Scenario:
    """What is still to be expected. Pods that could not be steered take each other's room, and a
    claim is made again that the API said it had not taken: a node may come that nobody needs.
    """
    return replace(
        scenario,
        n_nodes=None if scenario.is_scale_up or not storm.lets_steer else scenario.n_nodes,
        n_made=None,
        is_scale_up=scenario.is_scale_up and storm.lets_steer and not storm.sets_clock,
        has_budgets=not storm.takes_machines,
        longest_seconds=scenario.longest_seconds + (_HOUR_SECONDS if storm.sets_clock else 0),
    )


async def _act(
    scenario: Scenario,
    world: World,
    process: Process,
    dies_at: int | None = None,
    when: When = When.BEFORE,
) -> None:
    await scenario.given(world)
    await world.pass_(2)
    process.mortal.begin_counting(dies_at, when)
    await scenario.action(world)


async def _died(world: World, process: Process, within_seconds: float = LONGEST_SECONDS) -> bool:
    """Wait until the process has died; whether it has in that time."""
    for _ in range(int(within_seconds)):
        if process.mortal.ended.is_set():
            return True
        await world.pass_(1)
    return process.mortal.ended.is_set()


async def judged(scenario: Scenario, world: World) -> list[str]:
    """Wait for rest, and hold what there is and what was to the laws; what is wrong."""
    seen = AtRest(world, scenario.n_nodes, is_stuck=scenario.is_stuck)
    complaints = await _unrest(world, seen, scenario)
    if complaints:
        return complaints
    excused = None if scenario.has_budgets else START
    if scenario.drain_grace is not None:
        excused = _deadline(world, scenario.drain_grace)
    complaints += breaches(world, excused)
    if scenario.n_made not in (None, len(world.machines_made())):
        complaints.append(f"{len(world.machines_made())} instances came, not {scenario.n_made}")
    if scenario.is_scale_up:
        complaints += [f"node {name} was launched in vain" for name in seen.idle_nodes()]
        n_made = len(world.machines_made())
        if n_made != len(seen.nodes):
            complaints.append(f"{n_made} instances were launched for {len(seen.nodes)} nodes")
    if scenario.laws is not None:
        complaints += await scenario.laws(world)
    return complaints


async def _unrest(world: World, seen: AtRest, scenario: Scenario) -> list[str]:
    """Wait until the cluster is as it should be, for long enough; what is wrong if it never is, or
    does not stay.
    """
    complaints: list[str] = []
    stood_seconds, names = 0.0, await world.names(NODE_CLAIM)
    for _ in range(int(scenario.longest_seconds / _STEP_SECONDS)):
        await world.pass_(_STEP_SECONDS)
        complaints = await seen.complaints()
        before, names = names, await world.names(NODE_CLAIM)
        is_same = not complaints and names == before
        stood_seconds = stood_seconds + _STEP_SECONDS if is_same else 0.0
        if not complaints and stood_seconds >= scenario.rests_after_seconds:
            await world.pass_(_QUIET_SECONDS)
            return await seen.complaints()
    return complaints or ["nodes come and go for ever"]


def _deadline(world: World, grace: timedelta) -> datetime | None:
    """From when on pods may be deleted in spite of a budget: their own grace before the node's."""
    for one in world.history:
        deleted_at = one.object.metadata.deletion_timestamp
        if isinstance(one.object, api.NodeClaim) and deleted_at is not None:
            return deleted_at + grace - timedelta(seconds=30)
    return None
