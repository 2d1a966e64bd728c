"""Defines the changes that a cluster takes in, and what each could matter to.

What the API says arrives as `Observed` and `Vanished`, what became of our own doing as outcomes.
"""

from __future__ import annotations

from datetime import datetime
from enum import Flag, auto

import msgspec

from dovetail import api
from dovetail.model.ending import InstanceEnding
from dovetail.model.instance import InstanceType
from dovetail.model.ledger import Proposal
from dovetail.model.plan import Launch
from dovetail.model.pod import PodKey


class Touched(Flag):
    """What a change could matter to; nothing at all is the falsy `Touched(0)`."""

    PENDING = auto()  # pods that wait, or what decides where they may go
    NODES = auto()  # nodes, or the pods on them
    POOLS = auto()  # what may be launched


NOTHING = Touched(0)


class Observed(msgspec.Struct, frozen=True):
    """An object as it is now, new or changed."""

    object: api.Object


class Vanished(msgspec.Struct, frozen=True):
    """An object that is gone."""

    kind: api.Kind
    name: str
    namespace: str = ""


class Catalogued(msgspec.Struct, frozen=True):
    """What a pool could launch, overlays applied."""

    node_pool: str
    instance_types: tuple[InstanceType, ...]


class LaunchStarted(msgspec.Struct, frozen=True):
    """A planned node is being made: from now on it counts as a node to come."""

    launch: Launch
    at: datetime


class LaunchDone(msgspec.Struct, frozen=True):
    """The API has taken the NodeClaim; the watch will show it."""

    node_claim: str
    at: datetime


class LaunchRefused(msgspec.Struct, frozen=True):
    """A node that will not come. Its pods wait again."""

    node_claim: str
    at: datetime


class Refused(msgspec.Struct, frozen=True):
    """A provider could not deliver this offering. It is not asked again for the usual time."""

    instance_type: str
    zone: str
    capacity_type: str
    at: datetime


class PoolRefused(msgspec.Struct, frozen=True):
    """A launch failed, and the provider did not say which offering was the cause. The pool asks for
    none of those that would have served it for a while, longer each time. Each offering is an
    instance type, a zone and a capacity type.
    """

    node_pool: str
    offerings: tuple[tuple[str, str, str], ...]
    at: datetime


class InstanceLaunchFailed(msgspec.Struct, frozen=True):
    """The provider could not launch an instance for a claim, by the claim's UID."""

    node_claim_uid: str


class InstanceLaunchEnded(msgspec.Struct, frozen=True):
    """A claim has its instance, or is gone: its failed launches do not matter any more."""

    node_claim_uid: str


class Nominated(msgspec.Struct, frozen=True):
    """Pods are meant for a node: one that is there, or a claim whose node is to come."""

    node: str
    pods: tuple[PodKey, ...]
    at: datetime


class Withdrawn(msgspec.Struct, frozen=True):
    """Pods are no longer meant for the node they were nominated to."""

    pods: tuple[PodKey, ...]


class Evicted(msgspec.Struct, frozen=True):
    """The API has taken the eviction of a pod; the watch will show that it is leaving."""

    pod: PodKey
    uid: str
    at: datetime
    workload: str = ""  # whose pod it is


class Proposed(msgspec.Struct, frozen=True):
    """The nodes that could go, as the last plan found them; earlier proposals are over."""

    proposals: tuple[Proposal, ...]


class Disrupting(msgspec.Struct, frozen=True):
    """These nodes are being taken away: from now on they count as leaving. The UID of a node's
    claim tells it from a later node of the same name.
    """

    nodes: tuple[str, ...]
    reason: str
    at: datetime
    node_claim_uid: str = ""


class DisruptionEnded(msgspec.Struct, frozen=True):
    """These nodes are not being taken away any more; those that are gone need not be named. Where
    the attempt failed, `failed_at` says when: it is tried again later, and later each time.
    """

    nodes: tuple[str, ...]
    failed_at: datetime | None = None


class EndingAnnounced(msgspec.Struct, frozen=True):
    """A provider says that an instance will be gone."""

    ending: InstanceEnding
    at: datetime


class EndingsPlanned(msgspec.Struct, frozen=True):
    """A decision has planned for the pods on the nodes of these instances."""

    provider_ids: tuple[str, ...]


LedgerChange = (
    Refused
    | PoolRefused
    | InstanceLaunchFailed
    | InstanceLaunchEnded
    | Proposed
    | Disrupting
    | DisruptionEnded
    | EndingAnnounced
    | EndingsPlanned
)
Outcome = (
    LaunchStarted | LaunchDone | LaunchRefused | Nominated | Withdrawn | Evicted | LedgerChange
)
Change = Observed | Vanished | Catalogued | Outcome
