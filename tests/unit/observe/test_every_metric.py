"""No metric of the reference is forgotten: each is in a scrape, by its exact name and labels.

The list is that of the reference, written out.
"""

from __future__ import annotations

import re
from datetime import timedelta

import msgspec
import pytest
from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.parser import text_string_to_metric_families

from dovetail.kube.mirror import Present
from dovetail.model.pod import Owner
from dovetail.observe import quantiles
from dovetail.observe.meters import Meters
from dovetail.observe.onlooker import Onlooker
from dovetail.observe.quantiles import Summary
from dovetail.testing.builders import instance_type, node, node_pool, pod, snapshot
from dovetail.testing.virtual_time import START, VirtualTime
from tests.unit.observe.test_onlooker import with_condition
from tests.unit.observe.wire_pods import wire_pod

COUNTER, GAUGE, HISTOGRAM, SUMMARY = "counter", "gauge", "histogram", "summary"
DISRUPTED = "reason nodepool capacity_type consolidation_policy termination_mode"
WELL_KNOWN = "nodepool zone region instance_type arch os capacity_type windows_build"
PLACE = "nodepool zone arch capacity_type instance_type"
NODE = f"node_name phase managed {WELL_KNOWN}"
OWNED = "karpenter_kwok_sh_kwoknodeclass karpenter_sh_nodepool"
STATED = "namespace name type status reason"

METRICS = {
    "karpenter_scheduler_scheduling_duration_seconds": (HISTOGRAM, "controller"),
    "karpenter_scheduler_queue_depth": (GAUGE, "controller scheduling_id"),
    "karpenter_scheduler_unfinished_work_seconds": (GAUGE, "controller scheduling_id"),
    "karpenter_scheduler_ignored_pods_count": (GAUGE, ""),
    "karpenter_scheduler_unschedulable_pods_count": (GAUGE, "controller"),
    "karpenter_scheduler_pending_pods_by_effective_zone_count": (GAUGE, "controller zone"),
    "karpenter_cluster_state_node_count": (GAUGE, ""),
    "karpenter_cluster_state_synced": (GAUGE, ""),
    "karpenter_cluster_state_unsynced_time_seconds": (GAUGE, ""),
    "karpenter_cluster_utilization_percent": (GAUGE, "resource_type"),
    "karpenter_pods_scheduling_decision_duration_seconds": (HISTOGRAM, ""),
    "karpenter_pods_state": (
        GAUGE,
        f"name namespace owner node scheduled phase ready managed {PLACE}",
    ),
    "karpenter_pods_startup_duration_seconds": (SUMMARY, ""),
    "karpenter_pods_unstarted_time_seconds": (GAUGE, "name namespace"),
    "karpenter_pods_bound_duration_seconds": (HISTOGRAM, ""),
    "karpenter_pods_unbound_time_seconds": (GAUGE, "name namespace"),
    "karpenter_pods_provisioning_bound_duration_seconds": (HISTOGRAM, ""),
    "karpenter_pods_provisioning_unbound_time_seconds": (GAUGE, "name namespace"),
    "karpenter_pods_provisioning_startup_duration_seconds": (HISTOGRAM, ""),
    "karpenter_pods_provisioning_unstarted_time_seconds": (GAUGE, "name namespace"),
    "karpenter_pods_provisioning_scheduling_undecided_time_seconds": (GAUGE, "name namespace"),
    "karpenter_pods_eviction_requests_total": (COUNTER, "code"),
    "karpenter_pods_drained_total": (COUNTER, "reason"),
    "karpenter_pods_disruption_initiated_total": (COUNTER, DISRUPTED),
    "karpenter_nodeclaims_created_total": (COUNTER, "reason nodepool min_values_relaxed"),
    "karpenter_nodeclaims_terminated_total": (COUNTER, "nodepool capacity_type zone"),
    "karpenter_nodeclaims_disrupted_total": (COUNTER, DISRUPTED),
    "karpenter_nodeclaims_unhealthy_disrupted_total": (
        COUNTER,
        "condition nodepool capacity_type image_id",
    ),
    "karpenter_nodeclaims_instance_termination_duration_seconds": (HISTOGRAM, "nodepool"),
    "karpenter_nodeclaims_termination_duration_seconds": (HISTOGRAM, "nodepool"),
    "karpenter_nodes_created_total": (COUNTER, "nodepool zone"),
    "karpenter_nodes_terminated_total": (COUNTER, "nodepool zone"),
    "karpenter_nodes_termination_duration_seconds": (SUMMARY, "nodepool"),
    "karpenter_nodes_drained_total": (COUNTER, "nodepool"),
    "karpenter_nodes_lifetime_duration_seconds": (HISTOGRAM, "nodepool"),
    "karpenter_nodes_allocatable": (GAUGE, f"{NODE} resource_type"),
    "karpenter_nodes_total_pod_requests": (GAUGE, f"{NODE} resource_type"),
    "karpenter_nodes_total_pod_limits": (GAUGE, f"{NODE} resource_type"),
    "karpenter_nodes_total_daemon_requests": (GAUGE, f"{NODE} resource_type"),
    "karpenter_nodes_total_daemon_limits": (GAUGE, f"{NODE} resource_type"),
    "karpenter_nodes_system_overhead": (GAUGE, f"{NODE} resource_type"),
    "karpenter_nodes_current_lifetime_seconds": (GAUGE, NODE),
    "karpenter_nodepools_limit": (GAUGE, "resource_type nodepool"),
    "karpenter_nodepools_usage": (GAUGE, "resource_type nodepool"),
    "karpenter_nodepools_cost_total": (GAUGE, "nodepool"),
    "karpenter_nodepools_cost_tracker_errors_total": (COUNTER, "nodepool"),
    "karpenter_nodepools_allowed_disruptions": (GAUGE, "nodepool reason"),
    "karpenter_nodepools_nodes_consuming_budgets": (GAUGE, "nodepool reason"),
    "karpenter_voluntary_disruption_decision_evaluation_duration_seconds": (
        HISTOGRAM,
        "reason consolidation_type",
    ),
    "karpenter_voluntary_disruption_decisions_total": (
        COUNTER,
        "decision reason consolidation_type",
    ),
    "karpenter_voluntary_disruption_decisions_by_nodepool_total": (
        COUNTER,
        "nodepool decision reason consolidation_type",
    ),
    "karpenter_voluntary_disruption_eligible_nodes": (GAUGE, "reason"),
    "karpenter_voluntary_disruption_consolidation_timeouts_total": (COUNTER, "consolidation_type"),
    "karpenter_voluntary_disruption_failed_validations_total": (COUNTER, "consolidation_type"),
    "karpenter_voluntary_disruption_queue_failures_total": (
        COUNTER,
        "decision reason consolidation_type",
    ),
    "karpenter_consolidation_score": (HISTOGRAM, "decision nodepool policy"),
    "karpenter_consolidation_moves_total": (COUNTER, "decision nodepool policy"),
    "karpenter_cloudprovider_duration_seconds": (HISTOGRAM, "controller method provider"),
    "karpenter_cloudprovider_errors_total": (COUNTER, "controller method provider error"),
    "karpenter_build_info": (GAUGE, "version goversion goarch commit"),
    "operator_nodeclaim_status_condition_count": (GAUGE, f"{STATED} {OWNED}"),
    "operator_nodeclaim_status_condition_current_status_seconds": (GAUGE, f"{STATED} {OWNED}"),
    "operator_nodeclaim_status_condition_transition_seconds": (HISTOGRAM, f"type status {OWNED}"),
    "operator_nodeclaim_status_condition_transitions_total": (
        COUNTER,
        f"type status reason {OWNED}",
    ),
    "operator_nodeclaim_termination_current_time_seconds": (GAUGE, f"namespace name {OWNED}"),
    "operator_nodeclaim_termination_duration_seconds": (HISTOGRAM, OWNED),
    "operator_nodepool_status_condition_count": (GAUGE, STATED),
    "operator_nodepool_status_condition_current_status_seconds": (GAUGE, STATED),
    "operator_nodepool_status_condition_transition_seconds": (HISTOGRAM, "type status"),
    "operator_nodepool_status_condition_transitions_total": (COUNTER, "type status reason"),
    "operator_nodepool_termination_current_time_seconds": (GAUGE, "namespace name"),
    "operator_nodepool_termination_duration_seconds": (HISTOGRAM, ""),
    "operator_node_status_condition_count": (GAUGE, f"{STATED} {OWNED} karpenter_sh_initialized"),
    "operator_node_status_condition_current_status_seconds": (
        GAUGE,
        f"{STATED} {OWNED} karpenter_sh_initialized",
    ),
    "operator_node_status_condition_transition_seconds": (
        HISTOGRAM,
        f"type status {OWNED} karpenter_sh_initialized",
    ),
    "operator_node_status_condition_transitions_total": (
        COUNTER,
        f"type status reason {OWNED} karpenter_sh_initialized",
    ),
    "operator_node_termination_current_time_seconds": (
        GAUGE,
        f"namespace name {OWNED} karpenter_sh_initialized",
    ),
    "operator_node_termination_duration_seconds": (
        HISTOGRAM,
        f"{OWNED} karpenter_sh_initialized",
    ),
    "operator_status_condition_count": (GAUGE, f"{STATED} group kind"),
    "operator_status_condition_current_status_seconds": (GAUGE, f"{STATED} group kind"),
    "operator_status_condition_transition_seconds": (HISTOGRAM, "type status group kind"),
    "operator_status_condition_transitions_total": (COUNTER, "type status reason group kind"),
    "operator_termination_current_time_seconds": (GAUGE, "namespace name group kind"),
    "operator_termination_duration_seconds": (HISTOGRAM, "group kind"),
    "client_go_request_duration_seconds": (HISTOGRAM, "verb group version kind subresource"),
    "client_go_request_total": (COUNTER, "code method"),
}


def touch(meters: Meters) -> None:
    """Give every meter a series, with the labels that it was declared with."""
    held = [
        *vars(meters).values(),
        *(x for one in meters.conditions.values() for x in vars(one).values()),
    ]
    for one in held:
        if isinstance(one, Counter | Gauge | Histogram) and one._labelnames:  # noqa: SLF001  the only way to ask
            one.labels(*(["x"] * len(one._labelnames)))  # noqa: SLF001  the only way to ask
        elif isinstance(one, Summary) and one.label_names:
            one.labels(**dict.fromkeys(one.label_names, "x"))


def whole_scrape() -> str:
    """A scrape with at least one series of everything."""
    time = VirtualTime()
    meters = Meters(node_class_labels=("karpenter.kwok.sh/kwoknodeclass",))
    onlooker = Onlooker(meters, lambda _: None, time)
    touch(meters)
    onlooker.hear(Present(wire_pod()))
    onlooker.hear(Present(wire_pod("waits", uid="u2")))
    agent_pod = wire_pod("agent", node="n1", limits={"cpu": "1"}, owner="DaemonSet")
    onlooker.hear_pods(Present(agent_pod))
    onlooker._times.note_plan(["default/p1"], [], START)  # noqa: SLF001  without a plan
    for group, kind in (("karpenter.sh", "NodeClaim"), ("karpenter.sh", "NodePool"), ("", "Node")):
        onlooker.hear(Present(with_condition(group, kind, "True")))
    small = instance_type("m", cpu=4, price=0.25)
    ours = msgspec.structs.replace(
        node("n1", types=[small], pool="default", type="m"), created_at=START - timedelta(hours=1)
    )
    agent = msgspec.structs.replace(pod("agent", node="n1"), owner=Owner("DaemonSet", "agent"))
    cluster = snapshot(
        (agent, pod("p1")),
        nodes=(ours,),
        node_pools=(node_pool("default", limits={"cpu": 9}),),
        types=(small,),
    )
    return b"".join(onlooker.scrape(cluster)).decode()


TEXT = whole_scrape()
FOUND = {
    (f"{one.name}_total" if one.type == COUNTER else one.name): one
    for one in text_string_to_metric_families(TEXT)
}
_NOT_OURS = {"le", "quantile"}


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_of_the_reference_is_in_the_scrape(name: str) -> None:
    """With its type, and with its labels on every series."""
    kind, wanted = METRICS[name]
    assert name in FOUND
    assert FOUND[name].type == kind
    assert FOUND[name].samples
    for sample in FOUND[name].samples:
        assert set(sample.labels) - _NOT_OURS == set(wanted.split()), sample


def test_nothing_is_in_the_scrape_that_the_reference_does_not_have() -> None:
    """Names of our own begin with `dovetail_`."""
    assert {name for name in FOUND if not name.startswith("dovetail_")} == set(METRICS)


def test_every_metric_has_one_heading() -> None:
    """Some readers refuse a scrape in which a metric is opened twice."""
    headings = re.findall(r"^# TYPE (\S+) ", TEXT, flags=re.MULTILINE)
    assert len(headings) == len(set(headings))


def test_timeouts_of_consolidation_are_there_before_any_happened() -> None:
    """So that a rate can be taken from the first one on."""
    text = Meters().text().decode()
    for kind in ("multi", "single"):
        name = "karpenter_voluntary_disruption_consolidation_timeouts_total"
        assert f'{name}{{consolidation_type="{kind}"}} 0.0' in text


def test_durations_are_divided_as_dashboards_expect() -> None:
    """45 bounds from 5 ms to 10 minutes; lifetimes from a quarter of an hour to 30 days."""
    assert (len(quantiles.DURATIONS), quantiles.DURATIONS[0], quantiles.DURATIONS[-1]) == (
        45,
        0.005,
        600,
    )
    assert list(quantiles.DURATIONS) == sorted(quantiles.DURATIONS)
    assert (quantiles.LIFETIMES[0], quantiles.LIFETIMES[-1]) == (900, 30 * 86_400)
    assert (quantiles.CONDITIONS[0], quantiles.CONDITIONS[-1]) == (0.5, 8_192)
    assert (len(quantiles.CLAIM_TERMINATION), len(quantiles.INSTANCE_TERMINATION)) == (12, 11)
    assert quantiles.SCORES == (0.1, 0.25, 0.33, 0.5, 1, 2, 5, 10)


def test_a_build_says_what_it_is() -> None:
    """One series that is always 1."""
    meters = Meters()
    meters.tell_build(version="1.2", commit="abc")
    assert re.search(
        r'^karpenter_build_info\{commit="abc",.*version="1\.2"\} 1',
        meters.text().decode(),
        re.MULTILINE,
    )


def test_nothing_but_series_that_count_is_written() -> None:
    """The client's own series for when a counter began would double the scrape."""
    assert "_created{" not in TEXT.replace("nodes_created_total", "")
