"""Every rule of disruption and of controllers, and what shows it: scenarios, or tests by name.

A scenario is named by its file below `scenarios/`, a test by its file below `tests/` and its name.
What Dovetail does otherwise than the reference says so, with the place that shows what it does.
"""

from __future__ import annotations

from typing import Final

_D: Final = "disruption/"
_S: Final = "static/"
_CONTROLLERS: Final = "unit/controllers/"
_LIFECYCLE: Final = "unit/decide/lifecycle/"
_DISRUPT: Final = "unit/decide/disrupt/"
_DISRUPTIONS: Final = f"{_CONTROLLERS}disruption/test_loop.py::test_"
_BUFFERS: Final = f"{_CONTROLLERS}pools/test_capacity_buffers.py::test_"
_DECISIONS: Final = "unit/observe/test_decisions.py::test_"
_REPLACEMENTS: Final = f"{_CONTROLLERS}disruption/test_replacements.py::test_"

# Section, rule: where it is shown.
RULES: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    # ---- 6.1 the loop
    ("6.1", "emptiness comes before drift, drift before savings, under shared budgets"): (
        f"{_D}what_is_empty_goes_before_what_drifted",
    ),
    ("6.1", "what a dead process left on nodes is taken down"): (
        f"{_DISRUPTIONS}a_process_that_starts_takes_down_what_another_left",
        f"{_DISRUPTIONS}tidying_leaves_alone_what_is_under_way",
    ),
    ("6.1", "budgets that make no sense are told"): (
        f"{_DISRUPT}test_flaws.py::test_a_budget_that_cannot_be_meant_is_named",
    ),
    # ---- 6.2 candidates
    ("6.2", "a node that is being disrupted is no candidate"): (
        f"{_D}a_node_that_is_being_disrupted_takes_no_pods",
        f"{_D}every_node_that_stays_says_why",
    ),
    ("6.2", "a node without a claim, or that has not started, stays"): (
        f"{_D}a_node_that_is_not_ours_is_never_touched",
    ),
    ("6.2", "a node that is deleted or marked stays as it is"): (
        f"{_D}every_node_that_stays_says_why",
    ),
    ("6.2", "a nominated node stays"): (
        f"{_D}a_pod_that_arrives_meanwhile_keeps_an_empty_node",
        f"{_D}a_node_that_kube_scheduler_has_promised_stays",
    ),
    ("6.2", "do-not-disrupt on a Node holds if it says just true"): (
        f"{_D}a_protected_node_stays",
    ),
    ("6.2", "a node of no pool, or of an unknown one, stays"): (
        f"{_D}a_node_of_a_pool_that_is_gone_stays",
        f"{_DISRUPT}test_candidates.py::test_what_a_node_says_itself_may_keep_it",
    ),
    ("6.2", "a node whose pool lists no instance types stays"): (
        f"{_D}a_node_whose_pool_lists_no_types_stays",
    ),
    ("6.2", "do-not-disrupt of a pod holds, for ever or for a time"): (
        f"{_D}a_protected_pod_keeps_its_node_for_as_long_as_it_says",
    ),
    (
        "6.2",
        "a PodDisruptionBudget that allows nothing keeps the node, but not for the unhealthy",
    ): (f"{_D}a_disruption_budget_keeps_the_node_of_a_pod_that_may_not_go",),
    ("6.2", "a pod of several PodDisruptionBudgets keeps its node"): (
        f"{_D}a_pod_of_two_disruption_budgets_keeps_its_node",
    ),
    ("6.2", "what pods say is ignored where draining ends in any case"): (
        f"{_D}a_grace_period_ends_what_protects_a_pod",
    ),
    ("6.2", "the type of a node need not be known"): (
        f"{_D}an_empty_node_of_a_type_that_is_not_sold_any_more_goes",
    ),
    ("6.2", "evicting costs by priority and deletion cost, within bounds"): (
        f"{_DISRUPT}test_cost.py::test_a_pod_costs_by_priority_and_deletion_cost",
    ),
    ("6.2", "a node counts one, and its pods on top"): (
        f"{_DISRUPT}test_cost.py::test_a_node_costs_one_and_its_pods",
    ),
    ("6.2", "pods count less the nearer their node is to its end"): (
        f"{_D}a_node_near_its_end_gives_way_first",
        f"{_DISRUPT}test_cost.py::test_a_node_has_parts_of_its_life_left",
    ),
    ("6.2", "otherwise: pods that cost nothing to evict do not make their node empty"): (
        f"{_D}a_pod_that_costs_nothing_to_evict_still_needs_its_node",
    ),
    ("6.2", "a terminating pod of a StatefulSet is a pod, one of a Deployment is none"): (
        f"{_D}a_node_with_pods_is_not_empty",
    ),
    # ---- 6.3 budgets
    ("6.3", "a number"): (f"{_D}several_nodes_together_keep_to_the_budget",),
    ("6.3", "percentages are rounded up"): (f"{_D}a_budget_bounds_how_many_nodes_go_at_once",),
    ("6.3", "only nodes that have started count"): (
        f"{_D}nodes_that_still_start_are_not_counted_by_budgets",
    ),
    ("6.3", "nodes that are not ready or leave use budgets up"): (
        f"{_D}nodes_that_are_away_use_up_the_budget",
    ),
    ("6.3", "a budget may be about some reasons"): (
        f"{_D}a_budget_for_savings_keeps_nodes_that_could_go",
        f"{_D}a_budget_about_no_reason_limits_nothing",
    ),
    ("6.3", "a budget without reasons is about all"): (f"{_D}a_budget_of_zero_stops_everything",),
    ("6.3", "of several the tightest wins"): (
        f"{_D}the_tightest_budget_wins",
        f"{_D}of_two_windows_that_are_open_the_tighter_holds",
    ),
    ("6.3", "a schedule holds for its duration, in UTC"): (
        f"{_D}a_budget_holds_only_in_its_hours",
        f"{_DISRUPT}test_budgets.py::test_a_schedule_holds_from_its_hit_for_its_duration",
    ),
    ("6.3", "outside its hours a budget holds nothing back"): (
        f"{_D}a_budget_outside_its_hours_holds_nothing_back",
    ),
    ("6.3", "what makes no sense allows nothing"): (
        f"{_D}a_budget_that_makes_no_sense_allows_nothing",
        f"{_D}a_number_that_nobody_can_read_allows_nothing",
    ),
    ("6.3", "a pool whose budgets allow nothing is told so"): (
        "unit/decide/test_remarks.py::test_budgets_that_allow_nothing_are_told_by_reason",
    ),
    ("6.3", "expiration, repair, surplus and deletion by hand do not ask budgets"): (
        f"{_LIFECYCLE}test_expiration.py::test_a_claim_goes_at_the_end_of_its_life",
        f"{_LIFECYCLE}test_repair.py::test_a_broken_node_goes_with_no_time_to_drain",
        f"{_S}a_surplus_takes_the_nodes_that_disturb_least",
        "provisioning/pods_of_a_leaving_node_are_planned_for",
    ),
    # ---- 6.4 simulation
    ("6.4", "room on nodes that stay comes first"): (
        f"{_D}pods_of_a_drifted_node_take_room_that_is_there",
    ),
    ("6.4", "pods that wait and pods of leaving nodes are placed before anybody is moved"): (
        f"{_D}a_waiting_pod_takes_room_before_anybody_is_moved",
        f"{_D}a_node_that_is_being_disrupted_takes_no_pods",
    ),
    ("6.4", "pods that wait in vain stop no move"): (
        f"{_D}a_pod_that_cannot_be_placed_stops_no_move",
    ),
    ("6.4", "nobody is moved onto a node that still starts"): (
        f"{_D}nobody_is_moved_onto_a_node_that_still_starts",
    ),
    ("6.4", "pods of leaving nodes may go to nodes that still start"): (
        "fidelity/15_a_claim_in_flight_takes_pods",
    ),
    ("6.4", "savings move nobody onto a node that is not quiet"): (
        f"{_D}nobody_is_moved_onto_a_node_that_is_not_quiet",
    ),
    # ---- 6.5 emptiness
    ("6.5", "a quiet empty node goes"): (f"{_D}an_empty_node_goes_once_confirmed",),
    ("6.5", "nodes of static pools do not"): (f"{_D}a_static_pool_keeps_its_nodes",),
    ("6.5", "nor those of a pool with consolidateAfter Never"): (
        f"{_D}consolidate_after_never_keeps_empty_nodes",
    ),
    ("6.5", "nor those that hold room for a buffer"): (
        f"{_D}room_that_a_buffer_keeps_is_not_empty",
    ),
    ("6.5", "nor those that are not Consolidatable"): (
        f"{_D}a_node_that_was_not_quiet_for_long_enough_stays",
    ),
    ("6.5", "under every policy"): (
        f"{_D}a_pool_may_let_nodes_go_only_when_they_are_empty",
        f"{_D}an_empty_node_of_a_balanced_pool_is_not_weighed",
    ),
    ("6.5", "the dearest first, as far as budgets last"): (
        f"{_D}a_budget_bounds_how_many_nodes_go_at_once",
    ),
    ("6.5", "confirmed after 15 seconds, each by itself"): (
        f"{_D}an_empty_node_is_proposed_first",
        f"{_D}an_empty_node_does_not_go_a_moment_before_it_is_confirmed",
        (
            f"{_DISRUPT}test_emptiness.py::"
            "test_a_node_that_is_confirmed_does_not_wait_for_one_that_is_dearer"
        ),
    ),
    # ---- 6.6 drift
    ("6.6", "nodes that nobody needs first, then the oldest drift"): (
        f"{_D}a_drifted_node_that_nobody_needs_goes_first",
        f"{_D}the_node_that_drifted_first_goes_first",
    ),
    ("6.6", "one whose pods could not move stays, and the next has its turn"): (
        f"{_D}a_drifted_node_stays_while_a_pod_could_not_move",
    ),
    ("6.6", "replaced before it goes, without delay"): (
        f"{_D}a_drifted_node_is_replaced_before_it_goes",
    ),
    ("6.6", "at any price"): (f"{_D}a_drifted_node_is_replaced_though_that_costs_more",),
    ("6.6", "what counts as drift"): (
        f"{_LIFECYCLE}test_drift.py::test_a_node_drifts_from_what_would_be_made_today",
        f"{_LIFECYCLE}test_drift.py::test_an_instance_type_is_looked_for_now_and_then",
    ),
    ("6.6", "static pools replace one for one, under budgets and limits.nodes"): (
        f"{_S}drifted_nodes_of_a_static_pool_are_replaced_one_for_one",
        f"{_S}a_limit_of_nodes_bounds_how_many_are_replaced_at_once",
        f"{_S}a_static_pool_replaces_nothing_while_others_are_replaced",
    ),
    # ---- 6.7 consolidation
    ("6.7", "not of pools that let nodes go only when empty"): (
        f"{_D}a_pool_may_let_nodes_go_only_when_they_are_empty",
    ),
    ("6.7", "not of nodes whose price nobody knows"): (
        f"{_D}a_node_of_unknown_price_is_not_moved_to_save_money",
    ),
    ("6.7", "pods that fit elsewhere free their node"): (
        f"{_D}pods_that_fit_elsewhere_free_their_node",
    ),
    ("6.7", "one node for a cheaper one"): (
        f"{_D}a_node_too_large_for_its_pods_gives_way_to_a_cheaper_one",
    ),
    ("6.7", "otherwise: one node for several that are cheaper together"): (
        f"{_D}one_node_becomes_several_that_are_cheaper",
    ),
    ("6.7", "strictly cheaper"): (f"{_D}nothing_is_replaced_by_its_equal",),
    ("6.7", "at the worst price that the provider may choose"): (
        f"{_D}what_comes_instead_is_cheaper_at_its_worst_price",
        f"{_DISRUPT}test_replacing.py::test_only_what_is_cheaper_is_asked_for",
    ),
    ("6.7", "on demand gives way to spot, which must then be spot"): (
        f"{_D}an_on_demand_node_gives_way_to_spot",
    ),
    ("6.7", "spot for spot only behind its gate"): (
        f"{_D}spot_does_not_give_way_to_spot_unless_wanted",
    ),
    ("6.7", "spot for a single spot node needs 15 cheaper types, and asks for no more"): (
        f"{_D}spot_gives_way_to_spot_only_with_enough_cheaper_types",
        f"{_D}spot_gives_way_to_spot_with_fifteen_cheaper_types",
    ),
    ("6.7", "several spot nodes need no 15 types"): (
        f"{_D}several_spot_nodes_become_one_without_fifteen_types",
    ),
    ("6.7", "minValues hold for replacements"): (
        f"{_D}a_replacement_keeps_as_many_types_as_its_pool_insists_on",
    ),
    ("6.7", "reserved capacity is used, and kept"): (
        f"{_D}a_reservation_that_is_free_takes_pods_of_a_dear_node",
        f"{_D}a_node_on_a_reservation_is_not_moved_to_something_dearer",
    ),
    ("6.7", "what it would save is told"): (
        f"{_REPLACEMENTS}a_saving_is_told_to_whoever_looks_at_the_nodes",
    ),
    # ---- 6.8, 6.9 several nodes, single nodes
    ("6.8", "several nodes become one that is cheaper"): (
        f"{_D}several_nodes_become_one_that_is_cheaper",
    ),
    ("6.8", "within the budgets of every pool concerned"): (
        f"{_D}several_nodes_together_keep_to_the_budget",
        f"{_DISRUPT}test_consolidation.py::test_budgets_hold_for_all_moves_together",
    ),
    ("6.8", "across pools"): (f"{_D}nodes_of_two_pools_become_one",),
    ("6.8", "several are not replaced by one of their own kind"): (
        f"{_D}of_equal_nodes_some_stay_rather_than_one_comes_anew",
    ),
    ("6.8", "where nothing changed nothing is moved"): (
        "laws/test_move_laws.py::test_carried_out_the_cluster_comes_to_rest",
    ),
    ("6.9", "each node by itself, what saves most for what it disturbs first"): (
        f"{_D}a_node_too_large_for_its_pods_gives_way_to_a_cheaper_one",
        f"{_DISRUPT}test_consolidation.py::test_a_node_is_part_of_one_move_only",
    ),
    ("6.9", "every candidate has its turn"): (
        f"{_DISRUPT}test_consolidation.py::test_every_candidate_has_its_turn",
    ),
    # ---- 6.10 Balanced
    ("6.10", "a move must save enough for what it disturbs"): (
        f"{_D}a_balanced_pool_weighs_what_is_saved_against_who_is_disturbed",
        f"{_DISRUPT}test_balance.py::test_half_is_enough",
    ),
    ("6.10", "every Balanced pool must approve"): (
        f"{_DISRUPT}test_balance.py::test_each_balanced_pool_counts_its_own_part",
    ),
    ("6.10", "what is approved is told and counted, what is rejected is counted"): (
        f"{_REPLACEMENTS}what_balanced_pools_approve_of_is_told_and_counted",
        f"{_DECISIONS}moves_that_balanced_pools_reject_are_counted_with_their_scores",
    ),
    ("6.10", "emptiness and drift are not weighed"): (
        f"{_D}an_empty_node_of_a_balanced_pool_is_not_weighed",
        f"{_D}a_drifted_node_of_a_balanced_pool_is_not_weighed",
    ),
    # ---- 6.11 validation
    ("6.11", "a move stands for 15 seconds, and is judged again"): (
        f"{_D}a_saving_is_proposed_first",
        f"{_D}a_saving_that_has_stood_for_a_while_is_taken",
        f"{_DISRUPT}test_consolidation.py::test_a_move_waits_for_the_youngest_of_its_nodes",
    ),
    ("6.11", "a pod that comes meanwhile ends it"): (
        f"{_D}a_pod_that_arrives_meanwhile_keeps_an_empty_node",
        f"{_DISRUPTIONS}a_node_that_got_a_pod_meanwhile_is_put_back",
    ),
    ("6.11", "so does a budget that closes"): (
        f"{_D}a_budget_that_closes_meanwhile_keeps_a_confirmed_node",
    ),
    ("6.11", "so do protection and a pool that lets nobody go any more"): (
        f"{_REPLACEMENTS}who_is_protected_meanwhile_stays",
        f"{_REPLACEMENTS}a_pool_that_lets_nobody_go_any_more_is_heard",
    ),
    # ---- 6.12 execution
    ("6.12", "nodes are tainted and marked, then their claims deleted"): (
        f"{_DISRUPTIONS}empty_nodes_are_fenced_marked_and_their_claims_deleted",
    ),
    ("6.12", "a node that cannot be marked ends a replacement for all"): (
        f"{_REPLACEMENTS}all_nodes_stay_when_one_cannot_be_fenced",
    ),
    ("6.12", "a claim that cannot be made ends it too"): (
        f"{_REPLACEMENTS}nodes_stay_when_a_claim_cannot_be_made",
    ),
    ("6.12", "replacements are waited for until they are Initialized"): (
        f"{_REPLACEMENTS}a_node_goes_once_its_replacement_has_started",
    ),
    ("6.12", "a replacement that does not start, or goes, puts everything back"): (
        f"{_REPLACEMENTS}nodes_stay_when_their_replacement_does_not_start_in_time",
        f"{_REPLACEMENTS}nodes_stay_when_their_replacement_goes",
    ),
    ("6.12", "replacements that have started are left to emptiness and consolidation"): (
        f"{_REPLACEMENTS}a_replacement_that_has_started_is_left_to_others",
    ),
    ("6.12", "what fails in passing is tried again"): (
        f"{_REPLACEMENTS}a_deletion_that_fails_is_tried_again",
        f"{_DISRUPTIONS}others_who_write_to_node_and_claim_are_not_overwritten",
    ),
    ("6.12", "places of those who move are kept for them"): (
        f"{_REPLACEMENTS}room_on_nodes_that_stay_is_kept_for_those_who_move",
    ),
    ("6.12", "whoever is killed in the middle leaves nothing behind"): (
        f"{_DISRUPTIONS}a_process_that_dies_anywhere_in_a_disruption_leaves_nothing_behind",
    ),
    # ---- 6.13 PodDisruptionBudgets
    ("6.13", "one that can never allow an eviction is found beforehand"): (
        f"{_D}a_budget_that_never_allows_keeps_the_node_and_says_so",
        f"{_D}a_drifted_node_stays_while_a_budget_never_allows",
    ),
    ("6.13", "pods that are not evicted are not asked for"): (
        f"{_D}a_disruption_budget_keeps_the_node_of_a_pod_that_may_not_go",
    ),
    ("6.13", "namespaces must match"): (
        f"{_D}a_disruption_budget_counts_in_its_own_namespace_only",
    ),
    ("6.13", "each pod is asked for by itself, they are not added up"): (
        f"{_D}a_disruption_budget_that_allows_one_keeps_no_node_of_two_pods",
    ),
    # ---- 6.14 what is told
    ("6.14", "events and metrics bear the names of the reference"): (
        "coverage/test_contracts.py::test_no_event_goes_by_that_the_table_does_not_know",
        "coverage/test_contracts.py::test_the_play_moves_each_metric",
    ),
    # ---- 6.15 the matrix, cell by cell
    ("6.15", "emptiness asks budgets, PodDisruptionBudgets, pods, nodes and consolidateAfter"): (
        f"{_D}a_budget_of_zero_stops_everything",
        f"{_D}what_keeps_a_node_names_what_would_let_it_go",
        f"{_D}a_node_that_was_not_quiet_for_long_enough_stays",
    ),
    ("6.15", "drift asks budgets, and pods unless draining ends in any case"): (
        f"{_D}a_budget_of_zero_stops_everything",
        f"{_D}a_grace_period_ends_what_protects_a_pod",
    ),
    ("6.15", "drift asks the node, and not consolidateAfter"): (
        f"{_D}a_protected_node_stays_though_it_drifted",
        f"{_D}drift_does_not_wait_until_a_node_is_quiet",
    ),
    ("6.15", "static drift asks the same, and limits.nodes"): (
        f"{_S}a_protected_pod_keeps_its_drifted_static_node",
        f"{_S}a_limit_of_nodes_bounds_how_many_are_replaced_at_once",
    ),
    ("6.15", "savings ask all of them, of source and destination"): (
        f"{_D}a_budget_of_zero_stops_everything",
        f"{_D}nobody_who_is_protected_is_disturbed_to_save_money",
        f"{_D}nobody_is_moved_onto_a_node_that_is_not_quiet",
    ),
    ("6.15", "expiration asks nobody; its drain honours pods until the deadline"): (
        f"{_LIFECYCLE}test_expiration.py::test_a_claim_goes_at_the_end_of_its_life",
        (
            f"{_CONTROLLERS}nodes/test_termination.py::"
            "test_a_pod_that_must_not_be_disrupted_stalls_the_drain"
        ),
        f"{_LIFECYCLE}test_eviction.py::test_a_deadline_overrides_whatever_protects_a_pod",
    ),
    ("6.15", "repair asks nobody, and drains at once"): (
        f"{_LIFECYCLE}test_repair.py::test_a_broken_node_goes_with_no_time_to_drain",
    ),
    ("6.15", "a surplus asks nobody, and takes protected pods last"): (
        f"{_S}a_protected_node_is_no_exception_for_a_surplus",
        f"{_S}a_surplus_takes_the_nodes_that_disturb_least",
    ),
    ("6.15", "pods of a node that is deleted by hand are planned for"): (
        "provisioning/pods_of_a_leaving_node_are_planned_for",
        f"{_CONTROLLERS}nodes/test_termination.py::test_a_claim_that_is_deleted_takes_its_node_along",
    ),
    # ---- 7.1 repair
    ("7.1", "the policy whose time comes first counts"): (
        f"{_LIFECYCLE}test_repair.py::test_what_was_put_up_with_first_counts",
        f"{_LIFECYCLE}test_repair.py::test_before_its_time_has_come_it_is_looked_at_again_then",
    ),
    ("7.1", "not while more than a fifth of the nodes is unwell"): (
        f"{_LIFECYCLE}test_repair.py::test_nothing_is_repaired_while_too_many_are_unwell",
        f"{_LIFECYCLE}test_repair.py::test_a_fifth_of_the_nodes_may_be_unwell_rounded_up",
        f"{_CONTROLLERS}claims/test_node_health.py::test_more_than_a_fifth_of_a_pool_is_not_repaired",
    ),
    ("7.1", "of the whole cluster for claims without a pool"): (
        (
            f"{_CONTROLLERS}claims/test_node_health.py::"
            "test_a_claim_that_stands_alone_is_judged_among_all_nodes"
        ),
    ),
    ("7.1", "a broken node goes at once"): (
        (
            f"{_CONTROLLERS}claims/test_node_health.py::"
            "test_a_node_that_is_not_ready_for_ten_minutes_goes_at_once"
        ),
        f"{_LIFECYCLE}test_repair.py::test_a_deadline_that_has_passed_is_left_as_it_is",
    ),
    # ---- 7.2 static capacity
    ("7.2", "so many nodes as replicas says, within limits.nodes"): (
        f"{_S}a_pool_with_replicas_has_so_many_nodes",
        f"{_S}a_limit_of_nodes_bounds_replicas_with_nodes_that_are_leaving",
    ),
    ("7.2", "claims on their way and nodes being replaced count"): (
        f"{_S}claims_on_their_way_count_as_replicas",
        f"{_S}a_node_that_is_being_replaced_is_not_made_up_for",
        f"{_S}a_node_that_is_leaving_is_made_up_for",
    ),
    ("7.2", "a pool that is not ready launches nothing"): (
        f"{_S}a_static_pool_that_is_not_ready_launches_nothing",
    ),
    ("7.2", "a surplus begins with claims without an instance, then empty nodes"): (
        f"{_S}a_surplus_begins_with_claims_that_have_no_instance",
        f"{_S}a_surplus_takes_the_nodes_that_disturb_least",
        f"{_S}a_protected_daemon_pod_keeps_a_node_from_counting_as_empty",
    ),
    ("7.2", "static pools never grow for pods, but their nodes take them"): (
        "provisioning/a_static_pool_never_grows_for_pods",
        f"{_S}waiting_pods_take_the_nodes_of_a_static_pool",
    ),
    ("7.2", "they are neither empty nor consolidated"): (
        f"{_D}a_static_pool_keeps_its_nodes",
        f"{_LIFECYCLE}test_consolidatable.py::test_nodes_of_static_pools_are_never_consolidated",
    ),
    ("7.2", "only behind its gate"): (
        f"{_S}replicas_mean_nothing_unless_the_operator_wants_them_kept",
    ),
    # ---- 7.3 overlays
    ("7.3", "the heavier wins, the lighter fills the gaps, equals conflict"): (
        "unit/cloud/test_overlays.py::test_the_heavier_overlay_wins_and_the_lighter_fills_the_gaps",
        "unit/cloud/test_overlays.py::test_overlays_of_one_weight_that_touch_one_price_conflict",
        "unit/cloud/test_overlays.py::test_a_conflict_in_one_pool_leaves_the_overlay_out_of_all",
    ),
    ("7.3", "what pools could launch changes with them"): (
        f"{_CONTROLLERS}pools/test_catalogue.py::test_overlays_change_what_pools_could_launch",
        f"{_CONTROLLERS}pools/test_catalogue.py::test_overlays_count_only_where_their_gate_is_on",
    ),
    ("7.3", "a price that an overlay sets decides what is worth moving"): (
        "cli/test_disruptions.py::test_an_overlay_decides_what_is_worth_moving",
    ),
    # ---- 7.4 capacity buffers
    ("7.4", "a buffer stands for as many pods as it keeps room for"): (
        "unit/state/test_buffers.py::test_a_buffer_stands_for_as_many_pods_as_it_keeps_room_for",
        "unit/state/test_buffers.py::test_virtual_pods_come_last_and_hold_nothing",
    ),
    ("7.4", "the node that holds its room is not empty"): (
        f"{_D}room_that_a_buffer_keeps_is_not_empty",
    ),
    ("7.4", "but may drift, and give way to something cheaper"): (
        f"{_D}a_drifted_node_goes_though_it_holds_the_room_of_a_buffer",
        f"{_D}a_node_that_holds_the_room_of_a_buffer_may_give_way",
    ),
    ("7.4", "its room must be had after a move, if it can be had at all"): (
        f"{_D}room_for_a_buffer_is_kept_when_nodes_are_saved",
        f"{_D}a_buffer_that_fits_nowhere_stops_no_move",
        "kills/test_buffers.py::test_room_for_a_buffer_moves_to_a_cheaper_node_once",
    ),
    ("7.4", "what its template protects, and budgets of its pods, do not hold"): (
        f"{_D}what_a_template_protects_is_no_room_of_a_buffer",
    ),
    ("7.4", "a buffer says whether what it refers to is there"): (
        f"{_BUFFERS}a_buffer_whose_template_is_missing_says_so_until_it_is_there",
        f"{_BUFFERS}a_buffer_of_a_workload_says_whether_that_is_there",
    ),
    ("7.4", "a buffer says whether its room is there"): (
        "unit/decide/test_buffers.py::test_a_buffer_says_whether_its_room_is_there",
        f"{_BUFFERS}room_that_is_there_is_said_to_be",
        f"{_BUFFERS}a_buffer_for_nobody_says_so",
        "kills/test_buffers.py::test_room_for_a_buffer_is_bought_once",
        "e2e/test_buffers.py::test_room_is_bought_for_a_buffer_and_taken_by_a_pod",
    ),
    # ---- 7.5, 7.6 pools
    ("7.5", "a pool is unwell when half of the last four registrations failed"): (
        f"{_LIFECYCLE}test_health.py::test_a_pool_is_unwell_when_half_of_the_last_four_failed",
        f"{_LIFECYCLE}test_health.py::test_what_changed_is_judged_anew",
        f"{_LIFECYCLE}test_health.py::test_claims_of_another_pool_of_the_same_name_do_not_count",
        f"{_LIFECYCLE}test_health.py::test_a_restart_takes_up_the_thread",
    ),
    ("7.6", "a pool carries its hash, and brings claims of older rules over"): (
        f"{_LIFECYCLE}test_pool.py::test_a_pool_carries_the_hash_of_its_template",
        f"{_LIFECYCLE}test_pool.py::test_claims_are_brought_over_when_the_rules_of_the_hash_change",
    ),
    ("7.6", "a pool without a ready node class is not ready"): (
        f"{_LIFECYCLE}test_pool.py::test_a_pool_without_a_ready_node_class_is_not_ready",
    ),
    ("7.6", "a pool that makes no sense says where, and its nodes stay"): (
        f"{_LIFECYCLE}test_pool.py::test_a_pool_that_makes_no_sense_says_where",
        f"{_D}a_node_of_a_pool_that_makes_no_sense_stays",
    ),
    ("7.6", "a pool counts what its nodes have"): (
        f"{_LIFECYCLE}test_pool.py::test_a_pool_counts_what_its_nodes_have",
    ),
}

# Rules that are not shown yet, and why.
MISSING: Final[dict[tuple[str, str], str]] = {
    ("7.7", "VPA predictions"): "the reference does not consume them either",
}
SECTIONS: Final = frozenset(
    {*(f"6.{number}" for number in range(1, 16)), *(f"7.{number}" for number in range(1, 8))}
)
