"""Defines the settings of the operator that change decisions, as data."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

import msgspec

from dovetail.model.plan import DisruptionReason
from dovetail.model.pool import NodePool
from dovetail.model.topology import Spread


class PreferencePolicy(StrEnum):
    """Whether preferences may choose among plans of equal price."""

    RESPECT = "Respect"
    IGNORE = "Ignore"


class MinValuesPolicy(StrEnum):
    """Whether a pool's minValues may give way when they cannot be met."""

    STRICT = "Strict"
    BEST_EFFORT = "BestEffort"


class Policy(msgspec.Struct, frozen=True, gc=False):
    """`effort` counts how often an improvement is tried: 0 none, 1 the default, more is slower.

    `spot_robustness` blends the cheapest (0) with the fifth cheapest type that would do (1).
    `confirm_after` is how long a node must have been seen fit to go before it does. `disrupts_for`
    are the reasons for which nodes are taken away at all, `replaces_spot_by_spot` whether a spot
    node may be taken away for a cheaper one, `keeps_replicas` whether pools with replicas are kept
    at so many nodes, `discourages` whether new pods are asked to keep off nodes that waste much,
    `yields` whether pods of such nodes are to be given up first.

    `least_saving_nanousd` is what a move that saves money must save an hour for each pod that it
    evicts, `most_evictions` how often such moves may evict a pod a day (None: any number of times),
    `eviction_cost` what evicting a pod is worth: for so long what it occupies is paid for in vain.

    `node_price_nanousd` is what a node costs an hour beside its provider's price: a licence, an
    address, load on the control plane. Plans and moves are compared with it; the money that a plan
    shows is the provider's. A NodePool may say otherwise.
    """

    preference_policy: str = PreferencePolicy.RESPECT
    min_values_policy: str = MinValuesPolicy.STRICT
    effort: int = 1
    spot_robustness: float = 0.0
    default_spread: tuple[Spread, ...] = ()
    max_instance_types: int = 600
    confirm_after: timedelta = timedelta(seconds=15)
    disrupts_for: tuple[DisruptionReason, ...] = (DisruptionReason.EMPTY,)
    replaces_spot_by_spot: bool = False
    keeps_replicas: bool = False
    discourages: bool = True
    yields: bool = True
    least_saving_nanousd: int = 0
    most_evictions: int | None = None
    eviction_cost: timedelta = timedelta(hours=2)
    node_price_nanousd: int = 0

    def node_price_of(self, pool: NodePool) -> int:
        """What each node of this pool costs an hour beside its provider's price."""
        theirs = pool.node_price_nanousd
        return self.node_price_nanousd if theirs is None else theirs
