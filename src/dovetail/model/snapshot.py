"""Defines the snapshot: the whole cluster at one moment, all that a decision sees."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from dovetail.model.instance import InstanceType
from dovetail.model.ledger import Ledger
from dovetail.model.node import Node
from dovetail.model.plan import Plan
from dovetail.model.pod import DaemonSet, Pod
from dovetail.model.policy import Policy
from dovetail.model.pool import NodePool
from dovetail.model.topology import LabelSelector
from dovetail.model.volumes import StorageClass, Volume, VolumeClaim


class DisruptionBudget(msgspec.Struct, frozen=True, gc=False):
    """A PodDisruptionBudget: how many of the pods it selects may be evicted now. `expected_pods` is
    how many there should be; 0: nobody knows.
    """

    name: str
    namespace: str
    selector: LabelSelector
    disruptions_allowed: int = 0
    min_available: str = ""
    max_unavailable: str = ""
    always_allows_unhealthy: bool = False
    expected_pods: int = 0


class Service(msgspec.Struct, frozen=True, gc=False):
    """A Service, for the selector that default spread constraints are deduced from."""

    name: str
    namespace: str
    selector: Mapping[str, str] = {}


class Snapshot(msgspec.Struct, frozen=True, gc=False):
    """The cluster at one moment.

    `pods` are all of them, bound or waiting. `instance_types` are by pool name, overlays applied.
    `namespaces` maps each known namespace to its labels. `owner_selectors` maps a controller's uid
    (or "kind/namespace/name" without one) to its pod selector, for default spread constraints.
    """

    pods: tuple[Pod, ...] = ()
    nodes: tuple[Node, ...] = ()
    node_pools: tuple[NodePool, ...] = ()
    instance_types: Mapping[str, tuple[InstanceType, ...]] = {}
    daemon_sets: tuple[DaemonSet, ...] = ()
    volume_claims: Mapping[str, VolumeClaim] = {}  # by "namespace/name"
    volumes: Mapping[str, Volume] = {}
    storage_classes: Mapping[str, StorageClass] = {}
    namespaces: Mapping[str, Mapping[str, str]] = {}
    services: tuple[Service, ...] = ()
    owner_selectors: Mapping[str, LabelSelector] = {}
    disruption_budgets: tuple[DisruptionBudget, ...] = ()
    ledger: Ledger = Ledger()
    policy: Policy = Policy()
    revision: int = 1

    def without_disruption(self, *, keeps_replicas: bool | None = None) -> Snapshot:
        """The same cluster with a policy that removes no node. `keeps_replicas` says whether static
        pools are kept at their replicas; None leaves that as it is.
        """
        kept = self.policy.keeps_replicas if keeps_replicas is None else keeps_replicas
        policy = msgspec.structs.replace(self.policy, disrupts_for=(), keeps_replicas=kept)
        return msgspec.structs.replace(self, policy=policy)


class Decision(msgspec.Struct, frozen=True, gc=False):
    """A snapshot, the moment, the plan that came of them, and how long that took.

    `number` counts the decisions of a journal. A journal does not keep the proof of the bound: its
    plans have an empty certificate, and `certificate_digest` tells whether another is the same one.
    """

    number: int
    now: datetime
    seconds: float
    snapshot: Snapshot
    plan: Plan
    certificate_digest: str = ""
