"""Computes which pods will be on which new node, including pods that join a launch of others.

A static pool's nodes are launched for nobody; pods that fit there are nominated to them, as to a
node that exists. Shown they are with the node, like the pods of any other launch.
"""

from __future__ import annotations

import msgspec

from dovetail.model.plan import Launch, Plan
from dovetail.model.resources import total
from dovetail.model.snapshot import Snapshot


def housed(plan: Plan, snapshot: Snapshot) -> Plan:
    """The plan with every pod of a new node shown there, and what they take of it."""
    promised = {nomination.node: nomination.pods for nomination in plan.nominations}
    if not any(item.name in promised for item in plan.launches):
        return plan
    pods = {pod.key: pod for pod in snapshot.pods}

    def shown(launch: Launch) -> Launch:
        more = promised.get(launch.name, ())
        requests = total((launch.requests, *(pods[key].spec.requests for key in more)))
        return msgspec.structs.replace(launch, pods=(*launch.pods, *more), requests=requests)

    new = {item.name for item in plan.launches}
    return msgspec.structs.replace(
        plan,
        launches=tuple(shown(item) if item.name in promised else item for item in plan.launches),
        nominations=tuple(item for item in plan.nominations if item.node not in new),
    )
