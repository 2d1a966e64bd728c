"""Defines NodePools: what may be launched, how much of it, and what may be disrupted."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum

import msgspec

from dovetail.model.requirements import Requirement
from dovetail.model.taints import Taint
from dovetail.model.verdict import Problem


class ConsolidationPolicy(StrEnum):
    """Which nodes may be consolidated."""

    WHEN_EMPTY = "WhenEmpty"
    WHEN_EMPTY_OR_UNDERUTILIZED = "WhenEmptyOrUnderutilized"
    BALANCED = "Balanced"


class Budget(msgspec.Struct, frozen=True, gc=False):
    """How many nodes may be disrupted at once; `nodes` is a count or a percentage. Reasons None
    means all of them; a list that is empty names none, so that the budget limits nothing.
    """

    nodes: str = "10%"
    reasons: tuple[str, ...] | None = None
    schedule: str = ""
    duration: timedelta | None = None

    def is_about(self, reason: str) -> bool:
        """Whether it limits disruptions for this reason."""
        return self.reasons is None or reason in self.reasons


class Disruption(msgspec.Struct, frozen=True, gc=False):
    """When nodes may go. `consolidate_after` None means never. What a pool says of evictions
    takes the place of what the policy says (see there); None: it says nothing.
    """

    consolidate_after: timedelta | None = timedelta(0)
    consolidation_policy: str = ConsolidationPolicy.WHEN_EMPTY_OR_UNDERUTILIZED
    budgets: tuple[Budget, ...] = (Budget(),)
    least_saving_nanousd: int | None = None
    most_evictions: int | None = None
    eviction_cost: timedelta | None = None


class NodeClassRef(msgspec.Struct, frozen=True, gc=False):
    """The node class that a pool launches with."""

    group: str = ""
    kind: str = ""
    name: str = ""


class NodePool(msgspec.Struct, frozen=True, gc=False):
    """A NodePool as decisions see it. `limits` and `usage` are counted in capacity, `nodes` too.

    `expire_after` None means never. `replicas` set makes the pool static: it never grows for pods.
    `node_price_nanousd` takes the place of the policy's (see there); None: the policy's holds.
    `blank_fields` names the fields below that the template gives empty, such as `labels: {}`.
    """

    name: str
    weight: int = 0
    requirements: tuple[Requirement, ...] = ()
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    limits: Mapping[str, int] = {}
    node_class: NodeClassRef = NodeClassRef()
    expire_after: timedelta | None = timedelta(hours=720)
    termination_grace_period: timedelta | None = None
    disruption: Disruption = Disruption()
    replicas: int | None = None
    is_ready: bool = True
    is_deleting: bool = False
    uid: str = ""
    node_price_nanousd: int | None = None
    blank_fields: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
