"""Where does each pod stand once a plan is carried out?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

import msgspec

from dovetail import labels
from dovetail.model.plan import Launch, Plan
from dovetail.model.snapshot import Snapshot


class PodPlace(msgspec.Struct, frozen=True):
    """The node a pod stands on, with all its labels; `is_new` if the plan launches it."""

    node: str
    labels: Mapping[str, str]
    is_new: bool

    def domain(self, topology_key: str) -> str:
        """Its value of a topology key; empty if it has none."""
        return self.labels.get(topology_key, "")


class Arrangement(msgspec.Struct, frozen=True):
    """A cluster and the plan for it, with the place of every pod that has one."""

    snapshot: Snapshot
    plan: Plan
    places: Mapping[str, PodPlace]

    def named(self, patterns: Iterable[str]) -> list[str]:
        """The pods that any of the patterns names; `web-*` means those of namespace default."""
        full = [text if "/" in text else f"default/{text}" for text in patterns]
        keys = [pod.key for pod in self.snapshot.pods]
        return [key for key in keys if any(fnmatchcase(key, text) for text in full)]


def launched_labels(launch: Launch) -> dict[str, str]:
    """All labels of a node that the plan launches."""
    return {
        **launch.labels,
        labels.HOSTNAME: launch.name,
        labels.ZONE: launch.zone,
        labels.CAPACITY_TYPE: launch.capacity_type,
        labels.NODE_POOL: launch.node_pool,
        labels.INSTANCE_TYPE: launch.instance_type,
    }


def arrangement(snapshot: Snapshot, plan: Plan) -> Arrangement:
    """The cluster as it will be: bound pods where they are, planned ones where they go."""
    there = {
        node.name: PodPlace(node.name, {labels.HOSTNAME: node.name, **node.labels}, is_new=False)
        for node in snapshot.nodes
    }
    places = {
        pod.key: there[pod.node_name]
        for pod in snapshot.pods
        if pod.node_name in there and not pod.is_terminal and pod.deleting_at is None
    }
    for launch in plan.launches:
        there[launch.name] = PodPlace(launch.name, launched_labels(launch), is_new=True)
        places |= dict.fromkeys(launch.pods, there[launch.name])
    for nomination in plan.nominations:
        places |= dict.fromkeys(nomination.pods, there[nomination.node])
    return Arrangement(snapshot, plan, places)
