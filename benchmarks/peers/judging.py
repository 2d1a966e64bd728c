"""Is a plan legal by kube-scheduler's rules, whoever made it? The independent checker's word.

The reference leaves open which of many machines a node becomes. It is judged by the cheapest of
them, the one whose price counts: a node of that type, in that zone, bought that way.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from benchmarks.peers.reference import Answer, PeerClaim
from dovetail import labels
from dovetail.model.plan import Launch, Nominate, Plan
from dovetail.model.snapshot import Snapshot
from tests.oracle.check import Case
from tests.oracle.replay import bind_all

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)


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
                name=f"peer-{number}",
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
        **kind.requirements.settled(),
        labels.ZONE: claim.zone,
        labels.CAPACITY_TYPE: claim.capacity_type,
    }


def _pods(held: Iterable[Launch | Nominate]) -> tuple[str, ...]:
    return tuple(pod for one in held for pod in one.pods)
