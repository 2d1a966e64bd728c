"""Does kube-scheduler bind pods where and when a plan expects it, and what does that cost?

`python -m benchmarks.peers.binding` makes the planned nodes and the pods on a real control plane
and lets kube-scheduler bind, with its default scoring and with MostAllocated. What it leaves
pending is planned once more. Pods are

    no         not nominated to their nodes
    yes        nominated as the controller does it: of those that a hard spread counts no more
               than its maxSkew for each node
    in turn    nominated all of them; those that a hard spread counts one by one, each while its
               gate holds it and after the one before it was tried. The controller does not do this:
               it has no gates to hold pods by.

The two prices are

    paper      the price of the first plan, in dollars an hour
    realised   the price of all nodes once nothing is pending any more

Gates are taken off in the plan's binding order; in the second round there are none any more. Among
equal nodes kube-scheduler draws lots, so that figures differ from run to run. A whole run is kept
in benchmarks/results/binding.json.

Exit code 1 when pods that were told in turn are not bound: fewer than 999 in 1,000 at once, or not
all after the second round. The other ways are measured, and nothing is asked of them.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.machine import facts
from benchmarks.peers.binding_objects import (
    as_it_came,
    daemon_pods,
    new_nodes,
    place_by_pod,
    pods_by_node,
)
from benchmarks.peers.binding_steps import Hands, hands_on
from benchmarks.peers.binding_verdicts import WAYS, Judged, Telling, Way, table
from benchmarks.peers.judging import NOW
from benchmarks.peers.scheduling import Scheduler, scheduling
from benchmarks.scenarios import SCENARIOS
from dovetail.decide import decide
from dovetail.decide.spread import Steerable
from dovetail.model.node import Node
from dovetail.model.plan import Plan
from dovetail.model.pod import Pod, PodKey
from dovetail.model.snapshot import Snapshot
from dovetail.units.money import dollars
from tests.controlplane.plane import ControlPlane, running

PATIENCE_SECONDS: Final = 300.0
_RESULTS: Final = Path(__file__).parent.parent / "results" / "binding.json"
_DEFAULT: Final = ("plain", "fleet", "diverse", "huge")
# The controller opens a node half a second after its pods were nominated: the scheduler hears of
# pods and of nodes by different watches (designs/0007).
_BEFORE_OPENING_SECONDS: Final = 0.5


def judge(scenario: str, snapshot: Snapshot, way: Way) -> Judged:
    """Let a kube-scheduler of its own bind what is planned for a cluster, in two rounds. Raises
    TimeoutError when that takes too long.
    """
    with running(schedules=False) as plane:
        return asyncio.run(_judged(plane, scenario, snapshot, way))


async def _judged(plane: ControlPlane, scenario: str, snapshot: Snapshot, way: Way) -> Judged:
    plan = decide(snapshot, NOW)
    snapshot = _planned(snapshot, plan)
    nodes = new_nodes(snapshot, plan)
    async with hands_on(plane.kubeconfig, patience_seconds=PATIENCE_SECONDS) as hands:
        await hands.found(snapshot)
        await _add_nodes(hands, snapshot, nodes)
        await hands.open_nodes(nodes)
        await hands.add_pods(snapshot.pods)
        with scheduling(plane, way.scoring) as scheduler:
            await hands.until_seen(scheduler, len(plan.binding_order))
            await _release(hands, snapshot, plan, way.telling)
            first = await hands.settled(scheduler)
            came = as_it_came(snapshot, nodes, first)
            again, last = await _second_round(hands, scheduler, came, way.telling)
    planned = place_by_pod(plan)
    pending = tuple(pod for pod in plan.binding_order if pod not in first)
    return Judged(
        scenario=scenario,
        scoring=way.scoring,
        telling=way.telling,
        n_pods=len(planned),
        n_bound_at_once=len(planned) - len(pending),
        n_as_planned=sum(first.get(pod) == node for pod, node in planned.items()),
        n_left_after_round_2=sum(pod not in last for pod in planned),
        paper=_price(plan),
        bound=dollars(plan.cost.lower_bound_nanousd),
        realised=_price(plan) + _price(again),
        pending=pending,
    )


async def _release(hands: Hands, snapshot: Snapshot, plan: Plan, telling: Telling) -> None:
    """Let the scheduler have the pods in the plan's order. It is told when it runs already: what
    gated pods say when it begins it does not heed.
    """
    steerable, place = Steerable(snapshot.pods), place_by_pod(plan)
    pods = {pod.key: pod for pod in snapshot.pods}
    if telling is Telling.AS_CONTROLLER:
        await _nominate(hands, plan, snapshot.pods)
    elif telling is Telling.IN_TURN:
        for node, keys in pods_by_node(plan).items():
            free = [key for key in keys if not steerable.is_counted(pods[key])]
            await hands.nominate(node, free)
    for key in plan.binding_order:
        has_turn = telling is Telling.IN_TURN and steerable.is_counted(pods[key])
        if has_turn:
            await hands.nominate(place[key], [key])
        await hands.release(key)
        if has_turn:
            await hands.until_tried(key)


async def _nominate(hands: Hands, plan: Plan, waiting: Iterable[Pod]) -> None:
    """Nominate as the controller does it."""
    pods = {pod.key: pod for pod in waiting}
    steerable = Steerable(pods.values())
    for node, keys in pods_by_node(plan).items():
        chosen = steerable.choose(pods[key] for key in keys)
        await hands.nominate(node, [pod.key for pod in chosen])


async def _second_round(
    hands: Hands, scheduler: Scheduler, came: Snapshot, telling: Telling
) -> tuple[Plan, dict[PodKey, str]]:
    """The plan for what is pending, and where pods are bound once its nodes are there, too."""
    again = decide(came, NOW)
    nodes = new_nodes(came, again)
    await _add_nodes(hands, came, nodes)
    if telling is not Telling.NOTHING:
        await _nominate(hands, again, [pod for pod in came.pods if not pod.node_name])
        await asyncio.sleep(_BEFORE_OPENING_SECONDS)
    await hands.open_nodes(nodes)
    return again, await hands.settled(scheduler)


def _planned(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """The cluster without pods that there is no place for: nobody is to be judged by them."""
    hopeless = {one.pod for one in plan.unschedulable}
    return msgspec.structs.replace(
        snapshot, pods=tuple(pod for pod in snapshot.pods if pod.key not in hopeless)
    )


async def _add_nodes(hands: Hands, snapshot: Snapshot, nodes: tuple[Node, ...]) -> None:
    await hands.add_nodes(nodes)
    await hands.add_pods(daemon_pods(nodes, snapshot.daemon_sets))


def _price(plan: Plan) -> float:
    return dollars(sum(one.price_nanousd for one in plan.launches))


def main(arguments: Sequence[str] | None = None) -> int:
    """Have every chosen plan judged in every way, and print what came of it."""
    chosen = _parser().parse_args(arguments)
    machine = facts()
    found: list[Judged] = []
    n_late = 0
    for scenario in chosen.scenario or _DEFAULT:
        snapshot = SCENARIOS[scenario](chosen.pods, chosen.seed)
        for way in WAYS:
            words = f"{scenario}, {way.scoring}, nominated: {way.telling}"
            print(f"judging {words} ...", file=sys.stderr, flush=True)
            try:
                found.append(judge(scenario, snapshot, way))
            except TimeoutError as error:
                n_late += 1
                print(f"given up after {PATIENCE_SECONDS:.0f} s: {error}", file=sys.stderr)
    print("\n".join(f"{name + ':':13}{value}" for name, value in machine.items()))
    print()
    print(table(found))
    path = chosen.json or (None if chosen.scenario or n_late else _RESULTS)
    if path is not None:
        body = {"machine": machine, "judged": found}
        path.write_bytes(msgspec.json.format(msgspec.json.encode(body), indent=2) + b"\n")
    return int(n_late > 0 or any(one.is_missed for one in found))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.binding", description=__doc__)
    parser.add_argument("--pods", type=int, default=1000, metavar="N", help="in each scenario")
    parser.add_argument("--scenario", action="append", choices=tuple(SCENARIOS))
    parser.add_argument("--seed", type=int, default=1, help="another seed is another cluster")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the verdicts there, too")
    return parser


if __name__ == "__main__":
    sys.exit(main())
