"""Defines every metric, under the names of the reference.

`Meters` has one attribute for each, named as the metric without `karpenter_`:

    meters.nodes_created_total.labels(nodepool="default", zone="a").inc()

The declaration of an attribute is the metric: its type, what it means, its labels. Gauges that
follow from a snapshot, one series for each pod, node or pool, are not here but in
`cluster_metrics.py`, those of status conditions in `condition_metrics.py`, but for what is counted
and timed: `ConditionMeters`, one set for each kind of object that has conditions.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from typing import Annotated, Final, get_args, get_type_hints

import msgspec
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

from dovetail import labels
from dovetail.observe import quantiles
from dovetail.observe.quantiles import Summary


class ConditionKind(msgspec.Struct, frozen=True, gc=False):
    """A kind whose conditions are watched, and which of an object's labels its series carry.

    `has_deprecated` says whether it is counted under the reference's old names too.
    """

    kind: str
    group: str = labels.GROUP
    labels: tuple[str, ...] = ()
    has_deprecated: bool = True

    @property
    def prefix(self) -> str:
        """How the names of its metrics begin."""
        return f"operator_{self.kind.lower()}"


def condition_kinds(node_class_labels: Iterable[str] = ()) -> tuple[ConditionKind, ...]:
    """The kinds, where nodes carry these labels that name their node class."""
    owned = (*node_class_labels, labels.NODE_POOL)
    return (
        ConditionKind("NodeClaim", labels=owned),
        ConditionKind("NodePool"),
        ConditionKind("Node", "", (*owned, labels.INITIALIZED), has_deprecated=False),
    )


def metric_label(key: str) -> str:
    """How a metric spells a label key of Kubernetes."""
    return key.translate(_PLAIN)


_PLAIN: Final = str.maketrans("/.-", "___")


class ConditionMeters:
    """The counters and histograms of one kind."""

    def __init__(self, kind: ConditionKind, registry: CollectorRegistry) -> None:
        own = tuple(metric_label(key) for key in kind.labels)
        self.kind = kind
        self.transition_seconds = Histogram(
            f"{kind.prefix}_status_condition_transition_seconds",
            "Time that a condition had its previous status.",
            ("type", "status", *own),
            buckets=quantiles.CONDITIONS,
            registry=registry,
        )
        self.transitions_total = Counter(
            f"{kind.prefix}_status_condition_transitions_total",
            "Number of condition transitions.",
            ("type", "status", "reason", *own),
            registry=registry,
        )
        self.termination_duration_seconds = Histogram(
            f"{kind.prefix}_termination_duration_seconds",
            "Time from deletion to removal of an object.",
            own,
            buckets=quantiles.CONDITIONS,
            registry=registry,
        )


# The reference has no series for the moment at which a counter began.
disable_created_metrics()  # type: ignore[no-untyped-call]  # the library forgot to say `-> None`

PREFIX: Final = "karpenter_"
_BY_SCHEDULING: Final = ("controller", "scheduling_id")
_BY_DISRUPTION: Final = (
    "reason",
    "nodepool",
    "capacity_type",
    "consolidation_policy",
    "termination_mode",
)
_BY_DECISION: Final = ("decision", "reason", "consolidation_type")
_BY_SCORE: Final = ("decision", "nodepool", "policy")
_BY_CALL: Final = ("controller", "method", "provider")
_BY_REQUEST: Final = ("verb", "group", "version", "kind", "subresource")


class Series(msgspec.Struct, frozen=True, gc=False):
    """What a metric means, and how its series are told apart."""

    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = quantiles.DURATIONS
    prefix: str = PREFIX


class Meters:
    """Every metric that is counted, timed or set; `registry` holds them and nothing else.

    `conditions` has those of status conditions by kind, labelled by node class where the nodes
    carry `node_class_labels`.
    """

    build_info: Annotated[
        Gauge, Series("The program that runs.", ("version", "goversion", "goarch", "commit"))
    ]

    # Planning
    scheduler_scheduling_duration_seconds: Annotated[
        Histogram, Series("Time taken by one planning pass.", ("controller",))
    ]
    scheduler_queue_depth: Annotated[
        Gauge, Series("Pods that the current pass has not scheduled yet.", _BY_SCHEDULING)
    ]
    scheduler_unfinished_work_seconds: Annotated[
        Gauge, Series("Duration of the current pass.", _BY_SCHEDULING)
    ]
    scheduler_ignored_pods_count: Annotated[
        Gauge, Series("Pods that are ignored because they are not valid.")
    ]
    scheduler_unschedulable_pods_count: Annotated[
        Gauge, Series("Unschedulable pods of the last pass.", ("controller",))
    ]
    cluster_state_synced: Annotated[
        Gauge, Series("1 if the cluster state is in sync with the API server, else 0.")
    ]
    cluster_state_unsynced_time_seconds: Annotated[
        Gauge, Series("Time that the cluster state has been out of sync with the API server.")
    ]

    # Pods
    pods_scheduling_decision_duration_seconds: Annotated[
        Histogram, Series("Time from first seeing a pod to the first decision about it.")
    ]
    pods_startup_duration_seconds: Annotated[
        Summary, Series("Time from the creation of a pod until it was ready.")
    ]
    pods_bound_duration_seconds: Annotated[
        Histogram, Series("Time from the creation of a pod until it had a node.")
    ]
    pods_provisioning_bound_duration_seconds: Annotated[
        Histogram, Series("Time from the decision that placed a pod until it had a node.")
    ]
    pods_provisioning_startup_duration_seconds: Annotated[
        Histogram, Series("Time from the decision that placed a pod until it was ready.")
    ]
    pods_eviction_requests_total: Annotated[
        Counter, Series("Eviction requests, by status code.", ("code",))
    ]
    pods_drained_total: Annotated[
        Counter, Series("Pods drained from nodes that were removed.", ("reason",))
    ]
    pods_disruption_initiated_total: Annotated[
        Counter, Series("Pods on nodes that were chosen for disruption.", _BY_DISRUPTION)
    ]

    # Claims
    nodeclaims_created_total: Annotated[
        Counter, Series("NodeClaims created.", ("reason", "nodepool", "min_values_relaxed"))
    ]
    nodeclaims_terminated_total: Annotated[
        Counter, Series("NodeClaims terminated.", ("nodepool", "capacity_type", "zone"))
    ]
    nodeclaims_disrupted_total: Annotated[
        Counter, Series("NodeClaims deleted by the controller itself.", _BY_DISRUPTION)
    ]
    nodeclaims_unhealthy_disrupted_total: Annotated[
        Counter,
        Series(
            "NodeClaims deleted by node repair.",
            ("condition", "nodepool", "capacity_type", "image_id"),
        ),
    ]
    nodeclaims_instance_termination_duration_seconds: Annotated[
        Histogram,
        Series(
            "Time that an instance took to terminate.",
            ("nodepool",),
            quantiles.INSTANCE_TERMINATION,
        ),
    ]
    nodeclaims_termination_duration_seconds: Annotated[
        Histogram,
        Series(
            "Time from deletion to removal of a NodeClaim.",
            ("nodepool",),
            quantiles.CLAIM_TERMINATION,
        ),
    ]

    # Nodes
    nodes_created_total: Annotated[Counter, Series("Nodes that registered.", ("nodepool", "zone"))]
    nodes_terminated_total: Annotated[Counter, Series("Nodes terminated.", ("nodepool", "zone"))]
    nodes_drained_total: Annotated[Counter, Series("Nodes drained.", ("nodepool",))]
    nodes_termination_duration_seconds: Annotated[
        Summary, Series("Time from deletion to removal of a Node.", ("nodepool",))
    ]
    nodes_lifetime_duration_seconds: Annotated[
        Histogram, Series("Lifetime of Nodes.", ("nodepool",), quantiles.LIFETIMES)
    ]

    # Pools
    nodepools_cost_tracker_errors_total: Annotated[
        Counter, Series("Nodes with an unknown price.", ("nodepool",))
    ]
    nodepools_allowed_disruptions: Annotated[
        Gauge, Series("Nodes that budgets allow to be disrupted now.", ("nodepool", "reason"))
    ]
    nodepools_nodes_consuming_budgets: Annotated[
        Gauge, Series("Nodes that count against budgets now.", ("nodepool", "reason"))
    ]

    # Disruption
    voluntary_disruption_decision_evaluation_duration_seconds: Annotated[
        Histogram, Series("Time taken to evaluate disruption.", ("reason", "consolidation_type"))
    ]
    voluntary_disruption_decisions_total: Annotated[
        Counter, Series("Disruption decisions.", _BY_DECISION)
    ]
    voluntary_disruption_decisions_by_nodepool_total: Annotated[
        Counter, Series("Disruption decisions, by NodePool.", ("nodepool", *_BY_DECISION))
    ]
    voluntary_disruption_eligible_nodes: Annotated[
        Gauge, Series("Nodes eligible for disruption.", ("reason",))
    ]
    voluntary_disruption_consolidation_timeouts_total: Annotated[
        Counter, Series("Consolidation searches that reached their limit.", ("consolidation_type",))
    ]
    voluntary_disruption_failed_validations_total: Annotated[
        Counter,
        Series("Decisions dropped because the cluster had changed.", ("consolidation_type",)),
    ]
    voluntary_disruption_queue_failures_total: Annotated[
        Counter, Series("Decisions that could not be executed.", _BY_DECISION)
    ]
    consolidation_score: Annotated[
        Histogram, Series("Savings by disruption of each move.", _BY_SCORE, quantiles.SCORES)
    ]
    consolidation_moves_total: Annotated[
        Counter, Series("Consolidation moves that were evaluated.", _BY_SCORE)
    ]

    # Clouds and the API server
    cloudprovider_duration_seconds: Annotated[
        Histogram, Series("Time that calls to the cloud take.", _BY_CALL, quantiles.DEFAULT)
    ]
    cloudprovider_errors_total: Annotated[
        Counter, Series("Calls to the cloud that failed.", (*_BY_CALL, "error"))
    ]
    client_go_request_duration_seconds: Annotated[
        Histogram,
        Series("Time that requests to the API server take.", _BY_REQUEST, quantiles.REQUESTS, ""),
    ]
    client_go_request_total: Annotated[
        Counter, Series("Requests to the API server.", ("code", "method"), prefix="")
    ]

    # Deprecated by the reference, and still read by dashboards; those of each kind: `conditions`.
    operator_status_condition_transition_seconds: Annotated[
        Histogram,
        Series(
            "Time that a condition had its previous status.",
            ("type", "status", "group", "kind"),
            quantiles.DEFAULT,
            "",
        ),
    ]
    operator_status_condition_transitions_total: Annotated[
        Counter,
        Series(
            "Number of condition transitions.",
            ("type", "status", "reason", "group", "kind"),
            prefix="",
        ),
    ]
    operator_termination_duration_seconds: Annotated[
        Histogram,
        Series(
            "Time from deletion to removal of an object.", ("group", "kind"), quantiles.DEFAULT, ""
        ),
    ]

    def __init__(self, *, node_class_labels: Iterable[str] = ()) -> None:
        self.registry = CollectorRegistry()
        for name, hint in get_type_hints(Meters, include_extras=True).items():
            kind, series = get_args(hint)
            setattr(self, name, _make_meter(kind, name, series, self.registry))
        for consolidation in ("multi", "single"):
            self.voluntary_disruption_consolidation_timeouts_total.labels(consolidation)
        self.conditions = {
            condition_kind.kind: ConditionMeters(condition_kind, self.registry)
            for condition_kind in condition_kinds(node_class_labels)
        }

    def tell_build(self, *, version: str, commit: str) -> None:
        """Say which program this is."""
        self.build_info.labels(
            version=version,
            goversion=f"python{platform.python_version()}",
            goarch=platform.machine(),
            commit=commit,
        ).set(1)

    def text(self) -> bytes:
        """All of them as a scrape reads them."""
        return generate_latest(self.registry)


Meter = Counter | Gauge | Histogram | Summary


def _make_meter(kind: type[Meter], name: str, series: Series, registry: CollectorRegistry) -> Meter:
    full = f"{series.prefix}{name}"
    if issubclass(kind, Histogram):
        return Histogram(
            full, series.help, series.labels, buckets=series.buckets, registry=registry
        )
    if issubclass(kind, Summary):
        return Summary(full, series.help, series.labels, registry)
    return kind(full, series.help, series.labels, registry=registry)
