"""What does the policy group store? How many pods of a kind may be evicted."""

from __future__ import annotations

from dovetail.api.meta import IntOrString, LabelSelector, Object, Wire


class PodDisruptionBudgetSpec(Wire, frozen=True):
    """Which pods are protected, and how well."""

    min_available: IntOrString | None = None
    max_unavailable: IntOrString | None = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str = ""


class PodDisruptionBudgetStatus(Wire, frozen=True):
    """What the budget allows now, as its controller counted."""

    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    observed_generation: int = 0


class PodDisruptionBudget(Object, frozen=True):
    """A limit on how many pods may be evicted. Without a status, none may be counted on."""

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus | None = None
