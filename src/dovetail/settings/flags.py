"""By which names is each setting given, and what does it do? The table of flags and variables.

`settings/sources.py` makes settings of it; `cli/run.py` makes its help of it. What only one
provider reads is in that provider's own table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

import msgspec

from dovetail import labels
from dovetail.model.policy import MinValuesPolicy, PreferencePolicy
from dovetail.settings import readings
from dovetail.settings.operator import LogLevel, OperatorSettings
from dovetail.settings.readings import feature_gates
from dovetail.settings.table import Flag, SettingsTable
from dovetail.units import knobs

_ANY_PORT: Final = readings.between(0, 65535)


def _cpu_millis(given: str) -> int:
    number = readings.whole(given)
    return number if number > 0 else OperatorSettings().cpu_requests


_METAVARS: Final[Mapping[object, str]] = {
    readings.truth: "true|false",
    readings.span: "DURATION",
    readings.paths: "PATHS",
    str: "TEXT",
}


def _karpenter_flag(
    name: str,
    help_text: str,
    read: Callable[[str], object] = str,
    metavar: str = "",
    prefix: str = "",
) -> Flag:
    """A flag of Karpenter's."""
    variable = f"{prefix}{name.upper().replace('-', '_')}"
    return Flag(name, variable, "", help_text, read, metavar or _METAVARS[read])


_ours: Final = partial(_karpenter_flag, prefix="DOVETAIL_")


def _panel(panel: str, *flags: Flag) -> Iterator[Flag]:
    """Flags under one heading of the help."""
    return (msgspec.structs.replace(flag, panel=panel) for flag in flags)


_CLUSTER: Final = (
    Flag(
        "kubeconfig",
        "",
        "",
        "Path of the kubeconfig. Default: the files of KUBECONFIG, the service account of the "
        "pod, ~/.kube/config.",
        metavar="PATH",
    ),
    Flag("context", "", "", "The context of the kubeconfig. Default: its current-context."),
    _karpenter_flag(
        "kube-client-qps",
        "Requests a second to the API; negative means no limit. Lease renewals are not limited.",
        readings.rate,
        "N",
    ),
    _karpenter_flag(
        "kube-client-burst",
        "Requests at once before that rate applies.",
        readings.between(1, 1_000_000),
        "N",
    ),
    _ours(
        "dry-run",
        "Decide and log, but change nothing: no node, no object, no lease.",
        readings.truth,
    ),
)
_PROVIDER: Final = (
    _ours("provider", "The name of an installed cloud provider.", metavar="NAME"),
    _ours(
        "kubelets",
        "Simulate the kubelets of kwok nodes: make nodes Ready and bound pods Running.",
        readings.truth,
    ),
)
_DECISIONS: Final = (
    _karpenter_flag(
        "batch-idle-duration",
        "Decide when no new pending pod has arrived for this long.",
        readings.span,
    ),
    _karpenter_flag(
        "batch-max-duration",
        "Decide at most this long after the first pending pod arrived.",
        readings.span,
    ),
    _karpenter_flag(
        "preference-policy",
        "Whether preferences choose among plans of equal price.",
        readings.one_of(PreferencePolicy),
        "Respect|Ignore",
    ),
    _karpenter_flag(
        "min-values-policy",
        "Whether minValues of a NodePool may be relaxed when they cannot be met.",
        readings.one_of(MinValuesPolicy),
        "Strict|BestEffort",
    ),
    _karpenter_flag(
        "ignore-dra-requests",
        "Ignore pods that claim devices through dynamic resource allocation. With false they are "
        "ignored too: they are not supported yet.",
        readings.truth,
    ),
    _karpenter_flag(
        "feature-gates",
        "Features by name, such as NodeOverlay=true,StaticCapacity=true; unknown ones are ignored.",
        feature_gates,
        "GATES",
    ),
    _karpenter_flag(
        "scheduler-config",
        "Default spread constraints: podTopologySpread.defaultConstraints, YAML or JSON.",
        metavar="FILE",
    ),
    _ours(
        "spot-robustness",
        "Plan spot at a price between the cheapest (0) and the fifth cheapest type (1).",
        readings.share,
        "SHARE",
    ),
    _ours(
        "steer-pods",
        "Tell kube-scheduler where pods are planned to go (status.nominatedNodeName).",
        readings.truth,
    ),
    _ours(
        "effort",
        "Number of attempts to improve a plan; more is slower and never more expensive.",
        readings.between(0, 1_000_000),
        "N",
    ),
    _ours(
        "least-saving-per-eviction",
        "What a move must save for each pod that it evicts, in dollars an hour. The annotation "
        f"{labels.LEAST_SAVING} on a NodePool overrides it.",
        readings.saving,
        "DOLLARS",
    ),
    _ours(
        "most-evictions-per-day",
        "How often a pod may be evicted a day to save money, counted over all pods of its owner; "
        f"-1 for no limit. The annotation {labels.MOST_EVICTIONS} on a NodePool or pod "
        "overrides it.",
        readings.evictions,
        "N",
    ),
    _ours(
        "eviction-cost",
        "Cost of evicting a pod, as the time for which the resources that it requests are paid. "
        "A move must save this cost within the time that its pods have run. The annotation "
        f"{labels.EVICTION_COST} on a NodePool overrides it.",
        knobs.eviction_cost,
        "DURATION",
    ),
    _ours(
        "node-price",
        "Cost of a node in addition to the provider's price, in dollars an hour: a licence, an "
        "address, load on the control plane. A higher value favours fewer, larger nodes. The "
        f"annotation {labels.NODE_PRICE} on a NodePool overrides it.",
        readings.node_price,
        "DOLLARS",
    ),
    _ours(
        "discourage-scheduling",
        f"Put the taint {labels.DISCOURAGED}:PreferNoSchedule on underutilized nodes, so that new "
        "pods prefer other nodes and these become empty.",
        readings.truth,
    ),
    _ours(
        "deletion-costs",
        f"Set the annotation {labels.DELETION_COST} on pods of underutilized nodes, so that they "
        "are deleted first when a workload is scaled down.",
        readings.truth,
    ),
)
_LEADER_ELECTION: Final = (
    _karpenter_flag(
        "disable-leader-election",
        "Run without a lease. Use it only with a single replica.",
        readings.truth,
    ),
    _karpenter_flag(
        "leader-election-name",
        "The name of the lease. Karpenter uses the same lease, so only one of them is active.",
        metavar="NAME",
    ),
    _karpenter_flag(
        "leader-election-namespace",
        "The namespace of the lease. Default: POD_NAMESPACE, the service account's, 'default'.",
        metavar="NAME",
    ),
    _karpenter_flag(
        "disable-controller-warmup",
        "Accepted without effect: a replica without the lease always watches the cluster, and "
        "takes over at once.",
        readings.truth,
    ),
)
_ENDPOINTS: Final = (
    _karpenter_flag("metrics-port", "Port of /metrics; 0 takes any free port.", _ANY_PORT, "PORT"),
    _karpenter_flag(
        "health-probe-port",
        "Port of /healthz and /readyz; 0 takes any free port.",
        _ANY_PORT,
        "PORT",
    ),
    _ours("dashboard-port", "Port of the dashboard, read-only; 0 turns it off.", _ANY_PORT, "PORT"),
    _ours(
        "dashboard-host",
        "Address of the dashboard. It shows names of pods and nodes to anyone who can reach it.",
        metavar="ADDRESS",
    ),
    _karpenter_flag(
        "enable-profiling",
        "Serve /debug/pprof on the metrics port: stacks, samples and memory, on demand.",
        readings.truth,
    ),
    _karpenter_flag(
        "disable-cluster-state-observability",
        "Omit the metrics for each node and pod.",
        readings.truth,
    ),
    _karpenter_flag(
        "karpenter-service",
        "The Service in front of the controller. Accepted without effect.",
        metavar="NAME",
    ),
)
_LOGS: Final = (
    _karpenter_flag("log-level", "Log level.", readings.one_of(LogLevel), "debug|info|error"),
    _karpenter_flag(
        "log-output-paths",
        "Destinations of the log: stdout, stderr or files, separated by commas.",
        readings.paths,
    ),
    _karpenter_flag(
        "log-error-output-paths", "Destinations of errors of the log itself.", readings.paths
    ),
)
_JOURNAL: Final = (
    _ours(
        "journal",
        "Record every decision with its inputs in this folder, for 'dovetail explain' and "
        "'dovetail replay'. Default: none is recorded.",
        metavar="FOLDER",
    ),
    _ours(
        "journal-max-size",
        "Maximum size of the journal; the oldest decisions are deleted first.",
        readings.size,
        "QUANTITY",
    ),
    _ours("journal-max-age", "Maximum age of recorded decisions.", readings.span),
)
_RESOURCES: Final = (
    _karpenter_flag(
        "memory-limit",
        "The memory of the container, in bytes; -1 for none. Above nine tenths of it, garbage is "
        "collected and free memory returned. Python enforces no limit.",
        readings.whole,
        "BYTES",
    ),
    _karpenter_flag(
        "cpu-requests",
        "The CPU of the container, in thousandths of a core. It sets how many claims and nodes are "
        "handled in parallel; decisions always use one core.",
        _cpu_millis,
        "MILLICORES",
    ),
)

FLAGS: Final = (
    *_panel("Cluster", *_CLUSTER),
    *_panel("Provider", *_PROVIDER),
    *_panel("Decisions", *_DECISIONS),
    *_panel("Leader election", *_LEADER_ELECTION),
    *_panel("Endpoints", *_ENDPOINTS),
    *_panel("Logs", *_LOGS),
    *_panel("Journal", *_JOURNAL),
    *_panel("Resources", *_RESOURCES),
)

TABLE: Final = SettingsTable(OperatorSettings(), FLAGS)
