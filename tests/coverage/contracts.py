"""Every literal that users see, and who sees it: the play, or a test that is named.

Taken line by line from the behaviour of the reference.
"""

from __future__ import annotations

from typing import Final

PLAY: Final = "the play"
_CONTROLLERS: Final = "tests/unit/controllers"
CLAIMS: Final = f"{_CONTROLLERS}/claims/test_loop.py::"
CLAIM_LIVES: Final = f"{_CONTROLLERS}/claims/test_lives.py::"
FAILED_LAUNCHES: Final = f"{_CONTROLLERS}/launching/test_instance_launch.py::"
POOLS: Final = f"{_CONTROLLERS}/pools/test_loop.py::"
TERMINATIONS: Final = f"{_CONTROLLERS}/nodes/test_termination.py::"
EVICTIONS: Final = f"{_CONTROLLERS}/pods/test_eviction_queue.py::"
INFIRMARY: Final = f"{_CONTROLLERS}/claims/test_node_health.py::"
_REPAIRED: Final = f"{INFIRMARY}test_a_node_that_is_not_ready_for_ten_minutes_goes_at_once"
DISRUPTIONS: Final = f"{_CONTROLLERS}/disruption/test_loop.py::"
BUFFERS: Final = f"{_CONTROLLERS}/pools/test_capacity_buffers.py::"
_UNRESOLVED: Final = f"{BUFFERS}test_a_buffer_whose_template_is_missing_says_so_until_it_is_there"
REPLACEMENTS: Final = f"{_CONTROLLERS}/disruption/test_replacements.py::"
_APPROVED: Final = f"{REPLACEMENTS}test_what_balanced_pools_approve_of_is_told_and_counted"
CATALOGUE: Final = f"{_CONTROLLERS}/pools/test_catalogue.py::"
LEADERSHIP: Final = f"{_CONTROLLERS}/leadership/test_election.py::"
LOGS: Final = "tests/unit/observe/test_logs.py::"
STEPS: Final = "tests/unit/observe/test_steps.py::"
EVERY_METRIC: Final = "tests/unit/observe/test_every_metric.py::"
OPS: Final = "tests/unit/web/test_ops.py::"
RUN: Final = "tests/cli/test_run.py::"
REPLICA: Final = "tests/coverage/test_replica.py::"
SOURCES: Final = "tests/unit/settings/test_sources.py::"

_STARTING: Final = f"{CLAIMS}test_a_starting_node_is_waited_for_with_a_reason"
_VOLUMES: Final = f"{TERMINATIONS}test_volumes_are_awaited_but_not_past_the_deadline"

# Kind, type, status, reason.
CONDITIONS: Final[dict[tuple[str, str, str, str], str]] = {
    ("CapacityBuffer", "ReadyForProvisioning", "True", "Resolved"): (
        f"{BUFFERS}test_room_that_is_there_is_said_to_be"
    ),
    ("CapacityBuffer", "ReadyForProvisioning", "False", "PodTemplateNotFound"): _UNRESOLVED,
    ("CapacityBuffer", "ReadyForProvisioning", "False", "ScalableRefNotFound"): (
        f"{BUFFERS}test_a_buffer_of_a_workload_says_whether_that_is_there"
    ),
    ("CapacityBuffer", "ReadyForProvisioning", "False", "ResolutionFailed"): (
        f"{BUFFERS}test_a_buffer_of_a_workload_says_whether_that_is_there"
    ),
    ("CapacityBuffer", "Provisioning", "True", "FitsExistingCapacity"): (
        f"{BUFFERS}test_room_that_is_there_is_said_to_be"
    ),
    ("CapacityBuffer", "Provisioning", "False", "RequiresNewCapacity"): (
        f"{BUFFERS}test_a_buffer_says_what_it_comes_to"
    ),
    ("CapacityBuffer", "Provisioning", "False", "BufferEmpty"): (
        f"{BUFFERS}test_a_buffer_for_nobody_says_so"
    ),
    ("CapacityBuffer", "Provisioning", "False", "NotReadyForProvisioning"): _UNRESOLVED,
    ("NodeClaim", "Launched", "Unknown", "AwaitingReconciliation"): PLAY,
    ("NodeClaim", "Launched", "Unknown", "QuotaExceeded"): PLAY,  # a reason of the provider's
    ("NodeClaim", "Launched", "Unknown", "LaunchFailed"): (
        f"{FAILED_LAUNCHES}test_an_error_of_no_class_is_a_failed_launch"
    ),
    ("NodeClaim", "Launched", "True", "Launched"): PLAY,
    ("NodeClaim", "Registered", "Unknown", "NodeNotFound"): PLAY,
    ("NodeClaim", "Registered", "Unknown", "RegistrationHookPending"): (
        f"{CLAIMS}test_a_node_waits_for_its_clouds_hooks"
    ),
    ("NodeClaim", "Registered", "False", "MultipleNodesFound"): (
        f"{CLAIMS}test_two_nodes_of_one_instance_are_one_too_many"
    ),
    ("NodeClaim", "Registered", "True", "Registered"): PLAY,
    ("NodeClaim", "Initialized", "Unknown", "AwaitingReconciliation"): PLAY,
    ("NodeClaim", "Initialized", "Unknown", "NodeNotFound"): (
        f"{CLAIMS}test_a_node_that_vanishes_before_it_is_ready_is_missed"
    ),
    ("NodeClaim", "Initialized", "Unknown", "NodeNotReady"): PLAY,
    ("NodeClaim", "Initialized", "Unknown", "StartupTaintsExist"): _STARTING,
    ("NodeClaim", "Initialized", "Unknown", "KnownEphemeralTaintsExist"): _STARTING,
    ("NodeClaim", "Initialized", "Unknown", "ResourceNotRegistered"): (
        f"{CLAIMS}test_a_resource_that_is_not_reported_is_waited_for"
    ),
    ("NodeClaim", "Initialized", "Unknown", "DRADriverPoolsNotPublished"): (
        f"{CLAIMS}test_device_drivers_that_were_asked_for_are_waited_for"
    ),
    ("NodeClaim", "Initialized", "True", "Initialized"): PLAY,
    ("NodeClaim", "Ready", "Unknown", "ReconcilingDependents"): PLAY,
    ("NodeClaim", "Ready", "True", "Ready"): PLAY,
    ("NodeClaim", "Drifted", "True", "RequirementsDrifted"): PLAY,
    ("NodeClaim", "Drifted", "True", "NodePoolDrifted"): (
        f"{CLAIM_LIVES}test_a_claim_drifts_with_its_pools_template"
    ),
    ("NodeClaim", "Drifted", "True", "InstanceTypeNotFound"): (
        f"{CLAIM_LIVES}test_a_claim_whose_type_is_no_longer_offered_drifts"
    ),
    ("NodeClaim", "Consolidatable", "True", "Consolidatable"): PLAY,
    ("NodeClaim", "ConsistentStateFound", "True", "ConsistentStateFound"): PLAY,
    ("NodeClaim", "ConsistentStateFound", "False", "ConsistencyCheckFailed"): (
        f"{CLAIM_LIVES}test_a_node_that_turned_out_too_small_is_told_of"
    ),
    ("NodeClaim", "DisruptionReason", "True", "Empty"): PLAY,
    ("NodeClaim", "DisruptionReason", "True", "Drifted"): PLAY,
    ("NodeClaim", "DisruptionReason", "True", "Underutilized"): PLAY,
    ("NodeClaim", "Drained", "Unknown", "Draining"): PLAY,
    ("NodeClaim", "Drained", "True", "Drained"): PLAY,
    ("NodeClaim", "VolumesDetached", "Unknown", "AwaitingVolumeDetachment"): _VOLUMES,
    ("NodeClaim", "VolumesDetached", "False", "TerminationGracePeriodElapsed"): _VOLUMES,
    ("NodeClaim", "VolumesDetached", "True", "VolumesDetached"): PLAY,
    ("NodeClaim", "InstanceTerminating", "True", "InstanceTerminating"): PLAY,
    ("NodePool", "ValidationSucceeded", "True", "ValidationSucceeded"): PLAY,
    ("NodePool", "ValidationSucceeded", "False", "NodePoolValidationFailed"): PLAY,
    ("NodePool", "NodeClassReady", "True", "NodeClassReady"): PLAY,
    ("NodePool", "NodeClassReady", "False", "NodeClassNotFound"): PLAY,
    ("NodePool", "NodeClassReady", "False", "NodeClassTerminating"): (
        f"{POOLS}test_a_node_class_that_goes_takes_its_pools_readiness_along"
    ),
    ("NodePool", "NodeClassReady", "False", "NodeClassReadinessUnknown"): (
        f"{POOLS}test_a_node_class_that_is_not_ready_says_why"
    ),
    ("NodePool", "NodeRegistrationHealthy", "Unknown", "AwaitingReconciliation"): PLAY,
    ("NodePool", "NodeRegistrationHealthy", "True", "NodeRegistrationHealthy"): PLAY,
    ("NodePool", "NodeRegistrationHealthy", "False", "RegistrationFailed"): PLAY,
    ("NodePool", "Ready", "True", "Ready"): PLAY,
    ("NodePool", "Ready", "False", "UnhealthyDependents"): PLAY,
    ("NodeOverlay", "ValidationSucceeded", "False", "Conflict"): (
        f"{CATALOGUE}test_overlays_change_what_pools_could_launch"
    ),
    ("NodeOverlay", "ValidationSucceeded", "False", "RuntimeValidation"): (
        f"{CATALOGUE}test_overlays_change_what_pools_could_launch"
    ),
}

# Kind, type, reason.
EVENTS: Final[dict[tuple[str, str, str], str]] = {
    ("Node", "Warning", "NodeRepairBlocked"): (
        f"{INFIRMARY}test_more_than_a_fifth_of_a_pool_is_not_repaired"
    ),
    ("Pod", "Normal", "Nominated"): PLAY,
    ("Pod", "Warning", "FailedScheduling"): PLAY,
    ("Pod", "Normal", "Evicted"): PLAY,
    ("Pod", "Warning", "Disrupted"): (
        f"{EVICTIONS}test_a_pod_that_would_end_too_late_is_deleted_with_what_time_is_left"
    ),
    ("Pod", "Normal", "DoNotDisruptUntil"): (
        f"{EVICTIONS}test_a_pod_under_timed_protection_goes_when_that_ends"
    ),
    ("Pod", "Normal", "DoNotDisruptGracePeriodElapsed"): (
        f"{EVICTIONS}test_a_pod_under_timed_protection_goes_when_that_ends"
    ),
    ("Pod", "Warning", "InvalidDoNotDisruptAnnotation"): (
        f"{EVICTIONS}test_an_annotation_that_makes_no_sense_protects_nothing_and_is_told"
    ),
    ("NodePool", "Warning", "NoCompatibleInstanceTypes"): PLAY,
    ("NodePool", "Normal", "DisruptionBlocked"): PLAY,
    ("NodePool", "Normal", "ConsolidationApproved"): _APPROVED,
    ("NodePool", "Normal", "NodeRegistrationHealthy"): PLAY,  # each condition that turns
    ("NodePool", "Normal", "Finalized"): PLAY,
    ("NodePool", "Normal", "ValidationSucceeded"): PLAY,
    ("NodePool", "Normal", "NodeClassReady"): PLAY,
    ("NodePool", "Normal", "Ready"): PLAY,
    ("NodeClaim", "Warning", "InsufficientCapacityError"): PLAY,
    ("NodeClaim", "Warning", "UnregisteredTaintMissing"): (
        f"{CLAIMS}test_a_node_without_the_unregistered_taint_is_told_of"
    ),
    ("NodeClaim", "Warning", "FailedConsistencyCheck"): (
        f"{CLAIM_LIVES}test_a_node_that_turned_out_too_small_is_told_of"
    ),
    ("NodeClaim", "Warning", "TerminationGracePeriodExpiring"): PLAY,
    ("NodeClaim", "Normal", "Launched"): PLAY,
    ("NodeClaim", "Normal", "Registered"): PLAY,
    ("NodeClaim", "Normal", "Initialized"): PLAY,
    ("NodeClaim", "Normal", "Ready"): PLAY,
    ("NodeClaim", "Normal", "Drained"): PLAY,
    ("NodeClaim", "Normal", "Finalized"): PLAY,
    ("NodeClaim", "Normal", "DisruptionBlocked"): PLAY,
    ("NodeClaim", "Normal", "DisruptionTerminating"): PLAY,
    ("NodeClaim", "Normal", "DisruptionLaunching"): PLAY,
    ("NodeClaim", "Normal", "DisruptionWaitingReadiness"): PLAY,
    ("NodeClaim", "Normal", "ConsolidationCandidate"): PLAY,
    ("NodeClaim", "Normal", "ConsolidationApproved"): _APPROVED,
    ("NodeClaim", "Normal", "Unconsolidatable"): PLAY,
    ("Node", "Warning", "TerminationGracePeriodExpiring"): PLAY,
    ("Node", "Warning", "FailedDraining"): PLAY,
    ("Node", "Warning", "AwaitingVolumeDetachment"): _VOLUMES,
    ("Node", "Normal", "DiskPressure"): PLAY,
    ("Node", "Normal", "Finalized"): PLAY,
    ("Node", "Normal", "DisruptionBlocked"): PLAY,
    ("Node", "Normal", "DisruptionTerminating"): PLAY,
    ("Node", "Normal", "ConsolidationCandidate"): PLAY,
    ("Node", "Normal", "ConsolidationApproved"): _APPROVED,
    ("Node", "Normal", "ConsolidationRejected"): (
        f"{REPLACEMENTS}test_who_is_protected_meanwhile_stays"
    ),
    ("Node", "Normal", "Unconsolidatable"): PLAY,
}

# Kind and key.
LABELS: Final[dict[tuple[str, str], str]] = {
    ("NodeClaim", "karpenter.sh/nodepool"): PLAY,
    ("NodeClaim", "karpenter.sh/capacity-type"): PLAY,
    ("NodeClaim", "karpenter.kwok.sh/kwoknodeclass"): PLAY,
    ("NodeClaim", "node.kubernetes.io/instance-type"): PLAY,
    ("NodeClaim", "topology.kubernetes.io/zone"): PLAY,
    ("NodeClaim", "kubernetes.io/arch"): PLAY,
    ("NodeClaim", "kubernetes.io/os"): PLAY,
    ("Node", "karpenter.sh/nodepool"): PLAY,
    ("Node", "karpenter.sh/capacity-type"): PLAY,
    ("Node", "karpenter.sh/registered"): PLAY,
    ("Node", "karpenter.sh/initialized"): PLAY,
    ("Node", "karpenter.kwok.sh/kwoknodeclass"): PLAY,
    ("Node", "karpenter.kwok.sh/instance-cpu"): PLAY,
    ("Node", "karpenter.kwok.sh/instance-family"): PLAY,
    ("Node", "karpenter.kwok.sh/instance-memory"): PLAY,
    ("Node", "karpenter.kwok.sh/instance-size"): PLAY,
    ("Node", "kwok.x-k8s.io/node"): PLAY,
    ("Node", "kwok-partition"): PLAY,
    ("Node", "eks-node-viewer/instance-price"): PLAY,
    ("Node", "kubernetes.io/hostname"): PLAY,
    ("Node", "node.kubernetes.io/exclude-from-external-load-balancers"): PLAY,
    ("Node", "karpenter.sh/do-not-sync-taints"): (
        f"{CLAIMS}test_a_node_that_wants_no_taints_gets_none"
    ),
}

ANNOTATIONS: Final[dict[tuple[str, str], str]] = {
    ("NodePool", "karpenter.sh/nodepool-hash"): PLAY,
    ("NodePool", "karpenter.sh/nodepool-hash-version"): PLAY,
    ("NodeClaim", "karpenter.sh/nodepool-hash"): PLAY,
    ("NodeClaim", "karpenter.sh/nodepool-hash-version"): PLAY,
    ("NodeClaim", "karpenter.sh/nodeclaim-termination-timestamp"): PLAY,
    ("NodeClaim", "karpenter.sh/price-overlay-applied"): PLAY,
    ("NodeClaim", "karpenter.sh/capacity-overlay-applied"): PLAY,
    ("NodeClaim", "karpenter.sh/nodeclaim-min-values-relaxed"): (
        "tests/unit/controllers/launching/test_claim_body.py::test_a_claim_tells_when_min_values_gave_way"
    ),
    ("NodeClaim", "karpenter.sh/requested-dra-drivers"): (
        f"{CLAIMS}test_device_drivers_that_were_asked_for_are_waited_for"
    ),
    ("Node", "karpenter.sh/do-not-disrupt"): (
        "tests/unit/decide/disrupt/test_candidates.py::test_what_a_node_says_itself_may_keep_it"
    ),
    ("Pod", "karpenter.sh/do-not-disrupt"): (
        f"{TERMINATIONS}test_a_pod_that_must_not_be_disrupted_stalls_the_drain"
    ),
}

FINALIZERS: Final[dict[tuple[str, str], str]] = {
    ("NodeClaim", "karpenter.sh/termination"): PLAY,
    ("Node", "karpenter.sh/termination"): PLAY,
}

TAINTS: Final[dict[tuple[str, str], str]] = {
    ("karpenter.sh/unregistered", "NoExecute"): PLAY,
    ("karpenter.sh/disrupted", "NoSchedule"): PLAY,
}

# Metric, label, value.
LABEL_VALUES: Final[dict[tuple[str, str, str], str]] = {
    ("karpenter_nodeclaims_created_total", "reason", "provisioned"): PLAY,
    ("karpenter_nodeclaims_created_total", "reason", "drifted"): PLAY,
    ("karpenter_nodeclaims_created_total", "min_values_relaxed", "false"): PLAY,
    ("karpenter_nodeclaims_disrupted_total", "reason", "insufficient_capacity"): PLAY,
    ("karpenter_nodeclaims_disrupted_total", "reason", "nodeclass_not_ready"): PLAY,
    ("karpenter_nodeclaims_disrupted_total", "reason", "launch_timeout"): PLAY,
    ("karpenter_nodeclaims_disrupted_total", "reason", "registration_timeout"): PLAY,
    ("karpenter_nodeclaims_disrupted_total", "reason", "garbage_collected"): PLAY,
    ("karpenter_nodeclaims_disrupted_total", "reason", "expired"): PLAY,
    ("karpenter_nodeclaims_disrupted_total", "reason", "empty"): PLAY,
    ("karpenter_nodeclaims_disrupted_total", "reason", "drifted"): PLAY,
    ("karpenter_nodeclaims_disrupted_total", "reason", "underutilized"): PLAY,
    (
        "karpenter_nodeclaims_disrupted_total",
        "consolidation_policy",
        "when_empty_or_underutilized",
    ): PLAY,
    ("karpenter_nodeclaims_disrupted_total", "reason", "unhealthy"): _REPAIRED,
    ("karpenter_nodeclaims_disrupted_total", "termination_mode", "graceful"): PLAY,
    ("karpenter_nodeclaims_disrupted_total", "termination_mode", "eventual"): (
        f"{STEPS}test_the_grace_period_says_how_a_claim_goes"
    ),
    ("karpenter_nodeclaims_disrupted_total", "termination_mode", "forceful"): (
        f"{STEPS}test_the_grace_period_says_how_a_claim_goes"
    ),
    ("karpenter_voluntary_disruption_decisions_total", "decision", "delete"): PLAY,
    ("karpenter_voluntary_disruption_decisions_total", "decision", "replace"): PLAY,
    ("karpenter_voluntary_disruption_decisions_total", "consolidation_type", "empty"): PLAY,
    ("karpenter_voluntary_disruption_decisions_total", "consolidation_type", "single"): PLAY,
    ("karpenter_voluntary_disruption_decisions_total", "consolidation_type", "multi"): (
        f"{REPLACEMENTS}test_a_saving_is_told_to_whoever_looks_at_the_nodes"
    ),
    ("karpenter_voluntary_disruption_eligible_nodes", "reason", "empty"): PLAY,
    ("karpenter_voluntary_disruption_eligible_nodes", "reason", "drifted"): PLAY,
    ("karpenter_voluntary_disruption_eligible_nodes", "reason", "underutilized"): PLAY,
    ("karpenter_pods_eviction_requests_total", "code", "200"): PLAY,
    ("karpenter_pods_eviction_requests_total", "code", "429"): (
        f"{STEPS}test_evictions_are_counted_by_the_answers_code"
    ),
    ("karpenter_pods_drained_total", "reason", "Forceful Termination"): PLAY,
    ("karpenter_nodepools_allowed_disruptions", "reason", "Empty"): PLAY,
    ("karpenter_nodepools_allowed_disruptions", "reason", "Drifted"): PLAY,
    ("karpenter_nodepools_allowed_disruptions", "reason", "Underutilized"): PLAY,
    ("karpenter_scheduler_scheduling_duration_seconds", "controller", "provisioner"): PLAY,
    ("karpenter_scheduler_pending_pods_by_effective_zone_count", "zone", "flexible"): PLAY,
    ("karpenter_cloudprovider_duration_seconds", "provider", "kwok"): PLAY,
    ("karpenter_cloudprovider_duration_seconds", "method", "Create"): PLAY,
    ("karpenter_cloudprovider_duration_seconds", "method", "Delete"): PLAY,
    ("karpenter_cloudprovider_duration_seconds", "method", "List"): PLAY,
    ("karpenter_cloudprovider_duration_seconds", "method", "GetInstanceTypes"): PLAY,
    ("karpenter_cloudprovider_duration_seconds", "method", "IsDrifted"): PLAY,
    ("karpenter_cloudprovider_duration_seconds", "controller", "nodeclaim.lifecycle"): PLAY,
    ("karpenter_cloudprovider_duration_seconds", "controller", "node.termination"): PLAY,
    ("karpenter_cloudprovider_duration_seconds", "controller", "nodeclaim.garbagecollection"): PLAY,
    ("karpenter_cloudprovider_errors_total", "error", "InsufficientCapacityError"): PLAY,
    ("karpenter_cloudprovider_errors_total", "error", "NodeClassNotReadyError"): PLAY,
    ("karpenter_cloudprovider_errors_total", "error", "NodeClaimNotFoundError"): PLAY,
    ("karpenter_cloudprovider_errors_total", "error", ""): PLAY,
}

# Metrics that the play does not move; all others it does.
METRICS_ELSEWHERE: Final[dict[str, str]] = {
    "karpenter_consolidation_score": _APPROVED,
    "karpenter_consolidation_moves_total": _APPROVED,
    "karpenter_nodeclaims_unhealthy_disrupted_total": _REPAIRED,
    "karpenter_scheduler_queue_depth": f"{REPLICA}test_a_decision_under_way_is_shown",
    "karpenter_scheduler_unfinished_work_seconds": f"{REPLICA}test_a_decision_under_way_is_shown",
    "karpenter_nodepools_cost_tracker_errors_total": (
        f"{STEPS}test_a_node_without_a_known_price_is_counted_once"
    ),
    "karpenter_voluntary_disruption_failed_validations_total": (
        f"{DISRUPTIONS}test_a_node_that_got_a_pod_meanwhile_is_put_back"
    ),
    "karpenter_voluntary_disruption_queue_failures_total": (
        f"{DISRUPTIONS}test_what_cannot_be_done_is_put_back_and_told"
    ),
    "karpenter_voluntary_disruption_consolidation_timeouts_total": (
        f"{EVERY_METRIC}test_timeouts_of_consolidation_are_there_before_any_happened"
    ),
}

# Logger and message, as the log of the play has them.
MESSAGES: Final[tuple[tuple[str, str], ...]] = (
    ("provisioner", "found provisionable pod(s)"),
    ("provisioner", "computed new nodeclaim(s) to fit pod(s)"),
    ("provisioner", "created nodeclaim"),
    ("nodeclaim.lifecycle", "launched node claim"),
    ("disruption", "disrupting node(s)"),
    ("eviction-queue", "evicted pod"),
    ("node.termination", "terminated node"),
    ("nodeclaim.garbagecollection", "deleting node claim without an instance"),
)

# What else users rely on: where to ask, what a lease says, what a line of the log has.
OTHERS: Final[dict[str, str]] = {
    "/metrics": f"{OPS}test_metrics_come_in_pieces_and_others_run_in_between",
    "/healthz": f"{OPS}test_health_is_an_answer_at_all",
    "/readyz": f"{OPS}test_readiness_says_what_is_missing_as_it_changes",
    "/debug/pprof/": f"{OPS}test_the_index_names_every_profile",
    "/debug/pprof/profile": f"{OPS}test_a_profile_shows_what_a_busy_thread_does",
    "/debug/pprof/goroutine": f"{OPS}test_stacks_of_tasks_and_threads_are_told",
    "/debug/pprof/heap": f"{OPS}test_memory_is_told_by_type_and_when_traced_by_line",
    "holderIdentity": f"{RUN}test_it_leads_answers_and_lets_the_lease_go_at_the_end",
    "leaseTransitions": f"{RUN}test_a_second_replica_takes_over_from_one_that_was_killed",
    "leaseDurationSeconds": (
        f"{LEADERSHIP}test_a_lease_of_another_program_is_respected_for_as_long_as_it_says"
    ),
    "acquireTime": (
        f"{LEADERSHIP}test_a_lease_of_another_program_is_respected_for_as_long_as_it_says"
    ),
    "renewTime": (
        f"{LEADERSHIP}test_a_lease_of_another_program_is_respected_for_as_long_as_it_says"
    ),
    "commit": f"{LOGS}test_a_line_has_the_keys_of_the_reference",
    "caller": f"{LOGS}test_only_a_debug_log_says_where_a_line_comes_from",
}

# What each flag does; that all are there, by name, variable and default, is seen by
# `test_every_name_and_default_of_the_reference_is_there` and in the help.
_POLICY: Final = f"{SOURCES}test_the_policy_of_decisions_is_what_was_set"
_SERVED: Final = f"{RUN}test_it_leads_answers_and_lets_the_lease_go_at_the_end"
FLAGS: Final[dict[str, str]] = {
    "karpenter-service": "",  # accepted, and nothing asks
    "disable-controller-warmup": "",  # a replica that waits always reads along
    "ignore-dra-requests": "",  # dynamic resources are out of scope (SCOPE.md)
    "metrics-port": _SERVED,
    "health-probe-port": _SERVED,
    "kube-client-qps": f"{SOURCES}test_spans_of_the_api_and_of_memory_have_a_word_for_no_limit",
    "kube-client-burst": (
        "tests/unit/kube/http/test_limits.py::test_a_burst_passes_at_once_and_the_rest_one_by_one"
    ),
    "enable-profiling": f"{OPS}test_the_index_names_every_profile",
    "disable-leader-election": f"{RUN}test_without_election_it_works_and_takes_no_lease",
    "disable-cluster-state-observability": (
        f"{REPLICA}test_without_observability_no_series_grows_with_the_cluster"
    ),
    "leader-election-name": _SERVED,
    "leader-election-namespace": f"{LEADERSHIP}test_the_lease_lies_with_the_pod",
    "memory-limit": (
        f"{_CONTROLLERS}/leadership/test_memory_limit.py::"
        "test_near_the_limit_memory_is_tidied_and_far_from_it_left_alone"
    ),
    "cpu-requests": f"{REPLICA}test_more_cores_see_to_more_at_once",
    "log-level": f"{LOGS}test_a_level_keeps_out_what_matters_less",
    "log-output-paths": f"{LOGS}test_several_outputs_get_the_same_lines",
    "log-error-output-paths": f"{LOGS}test_a_value_that_cannot_be_written_harms_nobody",
    "batch-max-duration": f"{REPLICA}test_pods_are_gathered_for_as_long_as_was_set",
    "batch-idle-duration": f"{REPLICA}test_pods_are_gathered_for_as_long_as_was_set",
    "preference-policy": _POLICY,
    "min-values-policy": _POLICY,
    "scheduler-config": _POLICY,
    "feature-gates": f"{CATALOGUE}test_reservations_count_only_where_their_gate_is_on",
    "instance-types-file-path": PLAY,
}
