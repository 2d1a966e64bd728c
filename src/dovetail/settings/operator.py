"""How is the controller to run? Everything that `dovetail run` can be told, with its defaults.

Names and defaults are Karpenter's; what Dovetail adds wears a name of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Final

import msgspec

from dovetail.model.policy import MinValuesPolicy, Policy, PreferencePolicy
from dovetail.model.topology import Spread
from dovetail.settings import policies
from dovetail.settings.readings import FEATURE_GATES
from dovetail.units import quantity

DEFAULT_PROVIDER: Final = "kwok"
_UNLIMITED: Final = 1e6
# From one core up to sixty the number of things done at once grows in a straight line.
_FEWEST_CPU_MILLIS: Final = 1_000
_MOST_CPU_MILLIS: Final = 60_000


class LogLevel(StrEnum):
    """How much is written down; the empty word means info."""

    UNSET = ""
    DEBUG = "debug"
    INFO = "info"
    ERROR = "error"


class OperatorSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator set. Each field is a flag (`settings/flags.py`), but for `default_spread`,
    which the file of `scheduler_config` holds.
    """

    # Cluster
    kubeconfig: str = ""
    context: str = ""
    kube_client_qps: int = 200
    kube_client_burst: int = 300
    dry_run: bool = False
    # Provider
    provider: str = DEFAULT_PROVIDER
    kubelets: bool = False
    # Decisions
    batch_max_duration: timedelta = timedelta(seconds=10)
    batch_idle_duration: timedelta = timedelta(seconds=1)
    preference_policy: PreferencePolicy = PreferencePolicy.RESPECT
    min_values_policy: MinValuesPolicy = MinValuesPolicy.STRICT
    ignore_dra_requests: bool = True
    feature_gates: Mapping[str, bool] = msgspec.field(default_factory=lambda: dict(FEATURE_GATES))
    scheduler_config: str = ""
    default_spread: tuple[Spread, ...] = ()
    spot_robustness: float = policies.DEFAULT.spot_robustness
    effort: int = policies.DEFAULT.effort
    steer_pods: bool = True
    least_saving_per_eviction: str = policies.ANY_SAVING.least_saving_per_eviction
    most_evictions_per_day: int = policies.ANY_SAVING.most_evictions_per_day
    eviction_cost: timedelta = policies.ANY_SAVING.eviction_cost
    node_price: str = "0"
    discourage_scheduling: bool = policies.DEFAULT.discourages
    deletion_costs: bool = policies.DEFAULT.yields
    # Leader election
    disable_leader_election: bool = False
    leader_election_name: str = "karpenter-leader-election"
    leader_election_namespace: str = ""
    disable_controller_warmup: bool = True
    # Endpoints and logs
    metrics_port: int = 8080
    health_probe_port: int = 8081
    dashboard_port: int = 0  # none
    dashboard_host: str = "127.0.0.1"
    enable_profiling: bool = False
    disable_cluster_state_observability: bool = False
    karpenter_service: str = ""
    log_level: LogLevel = LogLevel.INFO
    log_output_paths: tuple[str, ...] = ("stdout",)
    log_error_output_paths: tuple[str, ...] = ("stderr",)
    # Journal
    journal: str = ""
    journal_max_size: str = "1Gi"
    journal_max_age: timedelta = timedelta(hours=168)
    # Resources
    memory_limit: int = -1
    cpu_requests: int = 1000

    @property
    def policy(self) -> Policy:
        """What decisions read of this."""
        chosen = policies.policy(
            preference_policy=self.preference_policy,
            min_values_policy=self.min_values_policy,
            effort=self.effort,
            spot_robustness=self.spot_robustness,
            default_spread=self.default_spread,
        )
        chosen = msgspec.structs.replace(
            chosen,
            keeps_replicas=self.feature_gates.get("StaticCapacity", False),
            replaces_spot_by_spot=self.feature_gates.get("SpotToSpotConsolidation", False),
            discourages=self.discourage_scheduling,
            yields=self.deletion_costs,
        )
        calm = policies.Calm(
            self.least_saving_per_eviction, self.most_evictions_per_day, self.eviction_cost
        )
        return policies.with_node_price(policies.with_calm(chosen, calm), self.node_price)

    @property
    def requests_per_second(self) -> float:
        """How fast the API may be asked."""
        return float(self.kube_client_qps) if self.kube_client_qps > 0 else _UNLIMITED

    @property
    def journal_max_bytes(self) -> int:
        """How large the journal may become."""
        return quantity.whole(self.journal_max_size)

    @property
    def memory_limit_bytes(self) -> int | None:
        """How much memory there is; None when nobody said."""
        return self.memory_limit if self.memory_limit > 0 else None

    def n_at_once(self, *, least: int, most: int) -> int:
        """How many things of one sort to do at once: `least` on one core, `most` on sixty."""
        cpu_millis = min(max(self.cpu_requests, _FEWEST_CPU_MILLIS), _MOST_CPU_MILLIS)
        part = (cpu_millis - _FEWEST_CPU_MILLIS) / (_MOST_CPU_MILLIS - _FEWEST_CPU_MILLIS)
        return least + round(part * (most - least))
