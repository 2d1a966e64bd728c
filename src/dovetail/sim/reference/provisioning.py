"""What does the reference do for pods that wait? (spec/core.md 3)"""

from __future__ import annotations

from datetime import datetime

from dovetail.decide.candidates import waiting
from dovetail.decide.nodes import leaving
from dovetail.decide.pools import running_price
from dovetail.model.plan import Cost, Nominate, Plan
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Unschedulable
from dovetail.sim.reference.claims import launches
from dovetail.sim.reference.first_fit import FirstFit
from dovetail.sim.reference.standing import Occupancy


def provisioning(standing: Occupancy, snapshot: Snapshot, now: datetime) -> Plan:
    """Nodes for the pods that wait, and for those whose node is leaving."""
    queue = waiting(snapshot, now)
    if not queue.pods:
        return Plan(cost=_cost(snapshot, 0))
    gone = leaving(snapshot)
    places = [one for one in standing.places.values() if one.name not in gone]
    by_name = {one.name: one for one in places}
    standing.tallies.begin_trial()
    fit = FirstFit(standing, places)
    for pod in queue.reserved:  # promised to them, so nobody else's
        fit.keep(pod, by_name.get(pod.node_name))
    found = fit.run(queue.pods)
    fit.give_back()
    standing.tallies.end_trial()
    made = tuple(launches(found.claims, snapshot.revision))
    return Plan(
        launches=made,
        nominations=tuple(
            Nominate(name, tuple(pod.key for pod in pods))
            for name, pods in sorted(found.places.items())
        ),
        unschedulable=tuple(
            Unschedulable(pod.key, "It fits nowhere.")
            for pod in sorted(found.failed, key=lambda one: one.key)
        ),
        cost=_cost(snapshot, sum(one.price_nanousd for one in made)),
        binding_order=found.order,
        n_pods=len(queue.pods) + len(queue.refused),
    )


def _cost(snapshot: Snapshot, new: int) -> Cost:
    before = running_price(snapshot)
    return Cost(new_nanousd=new, cluster_before_nanousd=before, cluster_after_nanousd=before + new)
