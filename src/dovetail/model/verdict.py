"""Defines verdicts: why a pod is unschedulable or a node stays, with its reason as data."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec


class Reason(StrEnum):
    """Every reason for which a pod may wait. Each has a sentence in `decide/explain.py`."""

    # The pod itself cannot be planned for.
    INVALID_POD = "InvalidPod"
    SCHEDULING_GATED = "SchedulingGated"
    OTHER_SCHEDULER = "OtherScheduler"
    DYNAMIC_RESOURCES = "DynamicResources"
    PRIORITY_CLASS_NOT_FOUND = "PriorityClassNotFound"
    CLAIM_NOT_FOUND = "PersistentVolumeClaimNotFound"
    CLAIM_UNUSABLE = "PersistentVolumeClaimUnusable"
    VOLUME_NOT_FOUND = "PersistentVolumeNotFound"
    STORAGE_CLASS_NOT_FOUND = "StorageClassNotFound"
    VOLUME_UNBOUND_IMMEDIATE = "VolumeBindingImmediate"
    REFUSES_NODE_POOLS = "RefusesNodePools"
    # No pool can help.
    NO_NODE_POOLS = "NoNodePools"
    NODE_POOL_NOT_READY = "NodePoolNotReady"
    NODE_POOL_STATIC = "NodePoolStatic"
    NO_INSTANCE_TYPES = "NoInstanceTypes"
    TAINT_NOT_TOLERATED = "TaintNotTolerated"
    NODE_AFFINITY = "NodeAffinity"
    VOLUME_TOPOLOGY = "VolumeTopology"
    VOLUME_LIMITS = "VolumeLimits"
    RESOURCES = "InsufficientResources"
    NO_OFFERING = "NoOffering"
    HOST_PORTS = "HostPortConflict"
    POD_AFFINITY = "PodAffinity"
    POD_ANTI_AFFINITY = "PodAntiAffinity"
    TOPOLOGY_SPREAD = "TopologySpread"
    MIN_VALUES = "MinValues"
    LIMITS = "LimitsExceeded"
    RESERVATIONS = "ReservationsExhausted"


class Blocker(StrEnum):
    """Every reason for which a node stays. Each has a sentence in
    `decide/disrupt/blockers.py`. The last few no plan speaks of: `decide/disrupt/why.py` does, of
    nodes that were no candidates.
    """

    DISRUPTING = "AlreadyDisrupting"
    NO_NODE_CLAIM = "NoNodeClaim"
    NOT_INITIALIZED = "NotInitialized"
    LEAVING = "Leaving"
    NOMINATED = "Nominated"
    NODE_PROTECTED = "NodeDoNotDisrupt"
    NO_NODE_POOL = "NoNodePool"
    NODE_POOL_INVALID = "NodePoolInvalid"
    NO_INSTANCE_TYPES = "NoInstanceTypes"
    POD_PROTECTED = "PodDoNotDisrupt"
    POD_DISRUPTION_BUDGET = "PodDisruptionBudget"
    BUDGET_NEVER_ALLOWS = "PodDisruptionBudgetNeverAllows"
    SEVERAL_POD_DISRUPTION_BUDGETS = "PodDisruptionBudgets"
    NEVER = "ConsolidateAfterNever"
    NODE_POOL_BUDGET = "BudgetExhausted"
    POD_STUCK = "PodCannotMove"
    WHEN_EMPTY = "OnlyWhenEmpty"
    UNPRICED = "PriceUnknown"
    NOTHING_TO_GAIN = "NothingToGain"
    NOT_WORTH_IT = "NotWorthTheDisruption"
    UNSETTLED = "NodePoolUnsettled"
    LIMITS = "NodePoolLimits"
    NO_OFFERING = "NothingOnOffer"
    SAVES_TOO_LITTLE = "SavesTooLittle"
    ROLLOUT = "RolloutUnderWay"
    ENDS_SOON = "PodEndsSoon"
    JUST_FILLED = "JustFilled"
    EVICTED_OFTEN = "EvictedTooOften"
    SETBACK = "TriedInVain"
    # Not told in plans.
    STATIC = "NodePoolStatic"
    NOT_QUIET = "NotQuiet"
    UNCONFIRMED = "NotConfirmed"
    NOT_WANTED = "ReasonNotWanted"
    NOT_LOOKED_AT = "NotLookedAt"


class Score(msgspec.Struct, frozen=True, gc=False):
    """What a Balanced pool makes of a move: what it saves for what it disturbs, in thousandths."""

    node_pool: str
    thousandths: int


class Blocked(msgspec.Struct, frozen=True, gc=False):
    """A node that could go but may not: why, in a word and in a sentence, until when if time alone
    ends it, and the smallest change that would; and the scores of a move that was not worth it.
    """

    node: str
    reason: Blocker
    message: str
    until: datetime | None = None
    fix: str = ""
    scores: tuple[Score, ...] = ()


class Problem(msgspec.Struct, frozen=True, gc=False):
    """Something wrong with one object, and what would mend it."""

    reason: str
    message: str
    fix: str = ""


class PoolReason(msgspec.Struct, frozen=True, gc=False):
    """Why one pool cannot take a pod: the constraint that removed its last instance types."""

    node_pool: str
    reason: str
    message: str
    instance_types_left: int = 0  # how many were left before that constraint


class Unschedulable(msgspec.Struct, frozen=True, gc=False):
    """A pod that stays waiting, and everything a person needs to change that."""

    pod: str
    summary: str
    reasons: tuple[PoolReason, ...] = ()
    fix: str = ""
