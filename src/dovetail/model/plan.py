"""Defines the plan that `decide` returns: what is to happen, and why."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

import msgspec

from dovetail.model.ledger import Proposal
from dovetail.model.requirements import Requirement
from dovetail.model.taints import Taint
from dovetail.model.verdict import Blocked, Score, Unschedulable


class Launch(msgspec.Struct, frozen=True, gc=False):
    """Make this node. The chosen type is first in `instance_types`; the rest are fallbacks that
    would hold the same pods, cheapest first. `labels` are all labels the pods were planned against,
    `requests` what pods and daemon sets take of it.
    """

    name: str
    node_pool: str
    instance_type: str
    zone: str
    capacity_type: str
    price_nanousd: int
    instance_types: tuple[str, ...]
    requests: Mapping[str, int]
    pods: tuple[str, ...]
    labels: Mapping[str, str] = {}
    requirements: tuple[Requirement, ...] = ()
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    allocatable: Mapping[str, int] = {}
    reservation_id: str = ""
    is_min_values_relaxed: bool = False


class Nominate(msgspec.Struct, frozen=True, gc=False):
    """These waiting pods fit on this node, which is there or on its way."""

    node: str
    pods: tuple[str, ...]


class DisruptionReason(StrEnum):
    """Why nodes are taken away by choice; budgets may be about some of these only."""

    EMPTY = "Empty"
    DRIFTED = "Drifted"
    UNDERUTILIZED = "Underutilized"


class Disrupt(msgspec.Struct, frozen=True, gc=False):
    """Take these nodes away, after their replacements (if any) are ready. `pods` are all that move,
    `places` says which of them fit on nodes that stay. The saving is net of replacements; `scores`
    are what Balanced pools make of it. `node_saving_nanousd` is what is saved beside it because
    nodes have a price of their own (`Policy.node_price_nanousd`), net of replacements too.
    """

    reason: str
    nodes: tuple[str, ...]
    replacements: tuple[Launch, ...] = ()
    pods: tuple[str, ...] = ()
    saving_nanousd: int = 0
    places: tuple[Nominate, ...] = ()
    scores: tuple[Score, ...] = ()
    node_saving_nanousd: int = 0

    @property
    def whole_saving_nanousd(self) -> int:
        """What moves are compared by: what is saved of the provider's prices and of node prices."""
        return self.saving_nanousd + self.node_saving_nanousd


class OfferKey(msgspec.Struct, frozen=True, gc=False, order=True):
    """One thing that can be bought, by name."""

    node_pool: str
    instance_type: str
    zone: str
    capacity_type: str
    reservation_id: str = ""
    labels: tuple[tuple[str, str], ...] = ()  # values chosen for labels that the pool leaves open


class HostCap(msgspec.Struct, frozen=True, gc=False):
    """Pods of which a node takes at most `cap`, since they exclude each other; and what a place
    under that cap is worth with each of the certificate's multipliers.
    """

    pods: tuple[str, ...]
    cap: int
    multipliers: tuple[int, ...]


class WholePods(msgspec.Struct, frozen=True, gc=False):
    """Pods cannot be cut: a weight for each pod such that what fits one node weighs at most 1.

    A pod that asks for the share x of a node's `resource` weighs floor((k + 1) x) / k, or x itself
    where (k + 1) x is whole. `multipliers` says what a weight of 1 is worth.
    """

    resource: str
    k: int
    multipliers: tuple[int, ...]


class PodValue(msgspec.Struct, frozen=True, gc=False):
    """What one pod of these is worth, in nanodollars."""

    nanousd: int
    pods: tuple[str, ...]


class Certificate(msgspec.Struct, frozen=True, gc=False):
    """Proof that no plan for the same pods costs less than `bound_nanousd`.

    Each offer gets one of the `multipliers`: for each resource a price per unit, in nanodollars
    over `denominator`. An offer's multipliers are scaled, by an exact fraction, so that a full node
    (allocatable less daemon sets) is worth just its price. A pod's value is the least
    that its requests are worth on any offer that would take it. A node then holds no more value
    than it costs, so the pods' total value is a lower bound. What existing nodes could hold for
    nothing is taken off (`existing_multiplier` is theirs, -1: pods that fit one count as nothing).
    `host_caps` and `whole_pods` add to a pod's value what its place under a cap, and its weight as
    a whole pod, are worth; a full node then holds `cap` places and a weight of 1 more.

    There are two other forms, without multipliers. `pod_values` states what pods are worth: no pods
    that fit a node together are worth more than the node costs, which a checker finds out by
    solving a knapsack for each offer. `is_counted`: all pods that no existing node takes are alike,
    and the bound is the least price of nodes that hold so many. In both, offers that cost as much
    as the plan need not be looked at, and pods that fit an existing node count as nothing.
    """

    resources: tuple[str, ...] = ()
    multipliers: tuple[tuple[int, ...], ...] = ()
    denominator: int = 1
    choice: tuple[tuple[OfferKey, int], ...] = ()
    existing_multiplier: int = -1
    host_caps: tuple[HostCap, ...] = ()
    whole_pods: tuple[WholePods, ...] = ()
    pod_values: tuple[PodValue, ...] = ()
    is_counted: bool = False
    bound_nanousd: int = 0


class Yield(msgspec.Struct, frozen=True, gc=False):
    """A node whose pods cost so little to give up, for whoever gives pods up anyway: the lower, the
    sooner (`controller.kubernetes.io/pod-deletion-cost`).
    """

    node: str
    cost: int


class Cost(msgspec.Struct, frozen=True, gc=False):
    """What it all costs, per hour. Nodes without a known price count as nothing. The target is what
    the cluster would cost at least if all that may be moved were bought anew; 0 if nobody asked.

    All of that is the provider's money. `node_price_nanousd` is what the new nodes cost beside it
    (`Policy.node_price_nanousd`), `lower_bound_with_nodes_nanousd` a lower bound on the sum; both
    are 0 where no node has a price of its own.
    """

    new_nanousd: int = 0
    lower_bound_nanousd: int = 0
    cluster_before_nanousd: int = 0
    cluster_after_nanousd: int = 0
    cluster_target_nanousd: int = 0
    node_price_nanousd: int = 0
    lower_bound_with_nodes_nanousd: int = 0


class Plan(msgspec.Struct, frozen=True, gc=False):
    """Everything worth doing now, and the reasons.

    `binding_order` lists every placed pod in an order in which kube-scheduler could bind them.
    `n_groups` says how many distinct shapes the pending pods had. `proposals` take the place of the
    ledger's; `blocked` are nodes that could go but may not. New pods should rather keep off those
    that are `discouraged`, and off no others; where workloads shrink, pods of nodes that are
    `yielding` should be the first to go. `wake_at` is the next instant at which time alone
    could change the answer. `certificate` proves the lower bound, `node_certificate` the one that
    counts node prices, where there are any.
    """

    launches: tuple[Launch, ...] = ()
    nominations: tuple[Nominate, ...] = ()
    unschedulable: tuple[Unschedulable, ...] = ()
    disruptions: tuple[Disrupt, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    discouraged: tuple[str, ...] = ()
    yielding: tuple[Yield, ...] = ()
    cost: Cost = Cost()
    certificate: Certificate = Certificate()
    node_certificate: Certificate = Certificate()
    binding_order: tuple[str, ...] = ()
    n_pods: int = 0
    n_groups: int = 0
    wake_at: datetime | None = None


class FrontierPoint(msgspec.Struct, frozen=True):
    """A plan that no other beats in both nodes and price, and from which price per node on it is
    the best of all; None where a plan with more and one with fewer nodes always beat it.
    """

    n_nodes: int
    price_nanousd: int
    best_from_nanousd: int | None
