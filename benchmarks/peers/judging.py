"""Is a plan legal by kube-scheduler's rules, whoever made it? The independent checker's word.

The reference leaves open which of many machines a node becomes. It is judged by the cheapest of
them, the one whose price counts: a node of that type, in that zone, bought that way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from benchmarks.peers.reference import Answer, PeerClaim
from dovetail import labels
from dovetail.model.plan import Launch, Nominate, Plan
from dovetail.model.snapshot import Snapshot
from tests.oracle.check import Case
from tests.oracle.replay import bind_all

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
_PEER: Final = "peer-"
_MOST_WORDS: Final = 110  # characters of a reason that are shown


class Disagreement(msgspec.Struct, frozen=True):
    """Pods of which one says that they can be placed (so), and the other that they cannot."""

    n_pods: int
    what: str
    reason: str
    example: str
    right: str  # by kube-scheduler's rules


class Word(msgspec.Struct, frozen=True):
    """The checker's word on both plans for a cluster."""

    n_illegal: int = 0
    n_illegal_of_theirs: int = 0
    disagreements: tuple[Disagreement, ...] = ()


def word(snapshot: Snapshot, ours: Plan, theirs: Answer) -> Word:
    """Judge both plans, pod by pod."""
    wrong, wrong_of_theirs = illegal(snapshot, ours), illegal(snapshot, plan_of(theirs, snapshot))
    fine = {*_pods(ours.launches), *_pods(ours.nominations)} - wrong.keys()
    fine_of_theirs = set(theirs.placed) - wrong_of_theirs.keys()
    left_out = {one.pod: one.error for one in theirs.not_placed}
    left_out_of_ours = {one.pod: one.summary for one in ours.unschedulable}
    return Word(
        len(wrong),
        len(wrong_of_theirs),
        (
            *_grouped("Go places them", wrong_of_theirs, fine, "Dovetail"),
            *_grouped("Go leaves them out", left_out, fine, "Dovetail"),
            *_grouped("Dovetail places them", wrong, fine_of_theirs, "Go"),
            *_grouped("Dovetail leaves them out", left_out_of_ours, fine_of_theirs, "Go"),
        ),
    )


def _grouped(
    what: str, reason_by_pod: Mapping[str, str], placed_by_the_other: set[str], right: str
) -> Iterator[Disagreement]:
    """Pods with the same reason, most first; who would do better has placed them legally."""
    pods_by_reason: dict[str, list[str]] = {}
    for pod, said in reason_by_pod.items():
        # The checker begins with the node's name, which says nothing.
        reason = said.partition(": ")[2] if said.startswith(_PEER) else said
        pods_by_reason.setdefault(_shortened(reason), []).append(pod)
    for reason, pods in sorted(pods_by_reason.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        is_better = placed_by_the_other.issuperset(pods)
        yield Disagreement(len(pods), what, reason, pods[0], right if is_better else "neither")


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_WORDS else f"{text[:_MOST_WORDS]} ..."


def illegal(snapshot: Snapshot, plan: Plan) -> dict[str, str]:
    """The pods that kube-scheduler would not bind where the plan has them, and why."""
    case = Case(snapshot, NOW, plan)
    order = [case.waiting[key] for key in plan.binding_order]
    return bind_all(case.empty_world, case.host_by_pod, order)


def plan_of(answer: Answer, snapshot: Snapshot) -> Plan:
    """The reference's answer as a plan."""
    pools = {pool.name: pool for pool in snapshot.node_pools}
    launches = []
    for number, claim in enumerate(answer.node_claims):
        pool = pools[claim.node_pool]
        launches.append(
            Launch(
                name=f"{_PEER}{number}",
                node_pool=claim.node_pool,
                instance_type=claim.instance_type,
                zone=claim.zone,
                capacity_type=claim.capacity_type,
                price_nanousd=claim.price_nanousd,
                instance_types=(claim.instance_type,),
                requests={},
                pods=claim.pods,
                labels={**pool.labels, **_labels(claim, snapshot)},
                taints=pool.taints,
            )
        )
    there = tuple(Nominate(one.name, one.pods) for one in answer.existing_nodes)
    return Plan(
        launches=tuple(launches),
        nominations=there,
        binding_order=(*_pods(there), *_pods(launches)),
    )


def _labels(claim: PeerClaim, snapshot: Snapshot) -> dict[str, str]:
    """What a node of this type, zone and capacity type says of itself."""
    kinds = snapshot.instance_types[claim.node_pool]
    kind = next(one for one in kinds if one.name == claim.instance_type)
    return {
        **kind.requirements.single_values(),
        labels.ZONE: claim.zone,
        labels.CAPACITY_TYPE: claim.capacity_type,
    }


def _pods(held: Iterable[Launch | Nominate]) -> tuple[str, ...]:
    return tuple(pod for one in held for pod in one.pods)
