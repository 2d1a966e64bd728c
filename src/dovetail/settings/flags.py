"""By which names is each setting given, and what does it do? The table of flags and variables.

`settings/sources.py` makes settings of it; `cli/run.py` makes its help of it. What only one
provider reads is in that provider's own table.
"""

from __future__ import annotations

from typing import Final

from dovetail import labels
from dovetail.model.policy import MinValuesPolicy, PreferencePolicy
from dovetail.settings import readings
from dovetail.settings.gates import feature_gates
from dovetail.settings.operator import LogLevel, OperatorSettings
from dovetail.settings.table import Flag, SettingsTable

CLUSTER: Final = "Cluster"
PROVIDER: Final = "Provider"
DECISIONS: Final = "Decisions"
ELECTION: Final = "Leader election"
ENDPOINTS: Final = "Endpoints"
LOGS: Final = "Logs"
JOURNAL: Final = "Journal"
RESOURCES: Final = "Resources"

_ANY_PORT: Final = readings.between(0, 65535)


def _cpu_millis(given: str) -> int:
    number = readings.whole(given)
    return number if number > 0 else OperatorSettings().cpu_requests


def _port(name: str, environment: str, help_text: str) -> Flag:
    return Flag(name, environment, ENDPOINTS, help_text, _ANY_PORT, "PORT")


def _switch(name: str, environment: str, panel: str, help_text: str) -> Flag:
    return Flag(name, environment, panel, help_text, readings.truth, "true|false")


FLAGS: Final = (
    Flag(
        "kubeconfig",
        "",
        CLUSTER,
        "Path of the kubeconfig. Default: the files of KUBECONFIG, the service account of the "
        "pod, ~/.kube/config.",
        metavar="PATH",
    ),
    Flag("context", "", CLUSTER, "The context of the kubeconfig. Default: its current-context."),
    Flag(
        "kube-client-qps",
        "KUBE_CLIENT_QPS",
        CLUSTER,
        "Requests a second to the API; negative means no limit. Lease renewals are not limited.",
        readings.rate,
        "N",
    ),
    Flag(
        "kube-client-burst",
        "KUBE_CLIENT_BURST",
        CLUSTER,
        "Requests at once before that rate applies.",
        readings.between(1, 1_000_000),
        "N",
    ),
    _switch(
        "dry-run",
        "DOVETAIL_DRY_RUN",
        CLUSTER,
        "Decide and log, but change nothing: no node, no object, no lease.",
    ),
    Flag(
        "provider",
        "DOVETAIL_PROVIDER",
        PROVIDER,
        "The name of an installed cloud provider.",
        metavar="NAME",
    ),
    _switch(
        "kubelets",
        "DOVETAIL_KUBELETS",
        PROVIDER,
        "Simulate the kubelets of kwok nodes: make nodes Ready and bound pods Running.",
    ),
    Flag(
        "batch-idle-duration",
        "BATCH_IDLE_DURATION",
        DECISIONS,
        "Decide when no new pending pod has arrived for this long.",
        readings.span,
        "DURATION",
    ),
    Flag(
        "batch-max-duration",
        "BATCH_MAX_DURATION",
        DECISIONS,
        "Decide at most this long after the first pending pod arrived.",
        readings.span,
        "DURATION",
    ),
    Flag(
        "preference-policy",
        "PREFERENCE_POLICY",
        DECISIONS,
        "Whether preferences choose among plans of equal price.",
        readings.one_of(PreferencePolicy),
        "Respect|Ignore",
    ),
    Flag(
        "min-values-policy",
        "MIN_VALUES_POLICY",
        DECISIONS,
        "Whether minValues of a NodePool may be relaxed when they cannot be met.",
        readings.one_of(MinValuesPolicy),
        "Strict|BestEffort",
    ),
    _switch(
        "ignore-dra-requests",
        "IGNORE_DRA_REQUESTS",
        DECISIONS,
        "Ignore pods that claim devices through dynamic resource allocation. With false they are "
        "ignored too: they are not supported yet.",
    ),
    Flag(
        "feature-gates",
        "FEATURE_GATES",
        DECISIONS,
        "Features by name, such as NodeOverlay=true,StaticCapacity=true; unknown ones are ignored.",
        feature_gates,
        "GATES",
    ),
    Flag(
        "scheduler-config",
        "SCHEDULER_CONFIG",
        DECISIONS,
        "Default spread constraints: podTopologySpread.defaultConstraints, YAML or JSON.",
        metavar="FILE",
    ),
    Flag(
        "spot-robustness",
        "DOVETAIL_SPOT_ROBUSTNESS",
        DECISIONS,
        "Plan spot at a price between the cheapest (0) and the fifth cheapest type (1).",
        readings.share,
        "SHARE",
    ),
    _switch(
        "steer-pods",
        "DOVETAIL_STEER_PODS",
        DECISIONS,
        "Tell kube-scheduler where pods are planned to go (status.nominatedNodeName).",
    ),
    Flag(
        "effort",
        "DOVETAIL_EFFORT",
        DECISIONS,
        "Number of attempts to improve a plan; more is slower and never more expensive.",
        readings.between(0, 1_000_000),
        "N",
    ),
    Flag(
        "least-saving-per-eviction",
        "DOVETAIL_LEAST_SAVING_PER_EVICTION",
        DECISIONS,
        "What a move must save for each pod that it evicts, in dollars an hour. The annotation "
        f"{labels.LEAST_SAVING} on a NodePool overrides it.",
        readings.saving,
        "DOLLARS",
    ),
    Flag(
        "most-evictions-per-day",
        "DOVETAIL_MOST_EVICTIONS_PER_DAY",
        DECISIONS,
        "How often a pod may be evicted a day to save money, counted over all pods of its owner; "
        f"-1 for no limit. The annotation {labels.MOST_EVICTIONS} on a NodePool or pod "
        "overrides it.",
        readings.evictions,
        "N",
    ),
    Flag(
        "eviction-cost",
        "DOVETAIL_EVICTION_COST",
        DECISIONS,
        "Cost of evicting a pod, as the time for which the resources that it requests are paid. "
        "A move must save this cost within the time that its pods have run. The annotation "
        f"{labels.EVICTION_COST} on a NodePool overrides it.",
        readings.cost,
        "DURATION",
    ),
    Flag(
        "node-price",
        "DOVETAIL_NODE_PRICE",
        DECISIONS,
        "Cost of a node in addition to the provider's price, in dollars an hour: a licence, an "
        "address, load on the control plane. A higher value favours fewer, larger nodes. The "
        f"annotation {labels.NODE_PRICE} on a NodePool overrides it.",
        readings.node_price,
        "DOLLARS",
    ),
    _switch(
        "discourage-scheduling",
        "DOVETAIL_DISCOURAGE_SCHEDULING",
        DECISIONS,
        f"Put the taint {labels.DISCOURAGED}:PreferNoSchedule on underutilized nodes, so that new "
        "pods prefer other nodes and these become empty.",
    ),
    _switch(
        "deletion-costs",
        "DOVETAIL_DELETION_COSTS",
        DECISIONS,
        f"Set the annotation {labels.DELETION_COST} on pods of underutilized nodes, so that they "
        "are deleted first when a workload is scaled down.",
    ),
    _switch(
        "disable-leader-election",
        "DISABLE_LEADER_ELECTION",
        ELECTION,
        "Run without a lease. Use it only with a single replica.",
    ),
    Flag(
        "leader-election-name",
        "LEADER_ELECTION_NAME",
        ELECTION,
        "The name of the lease. Karpenter uses the same lease, so only one of them is active.",
        metavar="NAME",
    ),
    Flag(
        "leader-election-namespace",
        "LEADER_ELECTION_NAMESPACE",
        ELECTION,
        "The namespace of the lease. Default: POD_NAMESPACE, the service account's, 'default'.",
        metavar="NAME",
    ),
    _switch(
        "disable-controller-warmup",
        "DISABLE_CONTROLLER_WARMUP",
        ELECTION,
        "Accepted without effect: a replica without the lease always watches the cluster, and "
        "takes over at once.",
    ),
    _port("metrics-port", "METRICS_PORT", "Port of /metrics; 0 takes any free port."),
    _port(
        "health-probe-port",
        "HEALTH_PROBE_PORT",
        "Port of /healthz and /readyz; 0 takes any free port.",
    ),
    _port(
        "dashboard-port",
        "DOVETAIL_DASHBOARD_PORT",
        "Port of the dashboard, read-only; 0 turns it off.",
    ),
    Flag(
        "dashboard-host",
        "DOVETAIL_DASHBOARD_HOST",
        ENDPOINTS,
        "Address of the dashboard. It shows names of pods and nodes to anyone who can reach it.",
        metavar="ADDRESS",
    ),
    _switch(
        "enable-profiling",
        "ENABLE_PROFILING",
        ENDPOINTS,
        "Serve /debug/pprof on the metrics port: stacks, samples and memory, on demand.",
    ),
    _switch(
        "disable-cluster-state-observability",
        "DISABLE_CLUSTER_STATE_OBSERVABILITY",
        ENDPOINTS,
        "Omit the metrics for each node and pod.",
    ),
    Flag(
        "karpenter-service",
        "KARPENTER_SERVICE",
        ENDPOINTS,
        "The Service in front of the controller. Accepted without effect.",
        metavar="NAME",
    ),
    Flag(
        "log-level",
        "LOG_LEVEL",
        LOGS,
        "Log level.",
        readings.one_of(LogLevel),
        "debug|info|error",
    ),
    Flag(
        "log-output-paths",
        "LOG_OUTPUT_PATHS",
        LOGS,
        "Destinations of the log: stdout, stderr or files, separated by commas.",
        readings.paths,
        "PATHS",
    ),
    Flag(
        "log-error-output-paths",
        "LOG_ERROR_OUTPUT_PATHS",
        LOGS,
        "Destinations of errors of the log itself.",
        readings.paths,
        "PATHS",
    ),
    Flag(
        "journal",
        "DOVETAIL_JOURNAL",
        JOURNAL,
        "Record every decision with its inputs in this folder, for 'dovetail explain' and "
        "'dovetail replay'. Default: none is recorded.",
        metavar="FOLDER",
    ),
    Flag(
        "journal-max-size",
        "DOVETAIL_JOURNAL_MAX_SIZE",
        JOURNAL,
        "Maximum size of the journal; the oldest decisions are deleted first.",
        readings.size,
        "QUANTITY",
    ),
    Flag(
        "journal-max-age",
        "DOVETAIL_JOURNAL_MAX_AGE",
        JOURNAL,
        "Maximum age of recorded decisions.",
        readings.span,
        "DURATION",
    ),
    Flag(
        "memory-limit",
        "MEMORY_LIMIT",
        RESOURCES,
        "The memory of the container, in bytes; -1 for none. Above nine tenths of it, garbage is "
        "collected and free memory returned. Python enforces no limit.",
        readings.whole,
        "BYTES",
    ),
    Flag(
        "cpu-requests",
        "CPU_REQUESTS",
        RESOURCES,
        "The CPU of the container, in thousandths of a core. It sets how many claims and nodes are "
        "handled in parallel; decisions always use one core.",
        _cpu_millis,
        "MILLICORES",
    ),
)

TABLE: Final = SettingsTable(OperatorSettings(), FLAGS)
