"""dovetail plan: prints what would be launched, moved and removed for these manifests."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dovetail.cli import options
from dovetail.cli.output import Output, Progress, align, emit, json_text, say, yaml_text
from dovetail.model.policy import MinValuesPolicy, Policy, PreferencePolicy

if TYPE_CHECKING:
    from dovetail.app import Planned, PlanRequest

_DEFAULT = Policy()


def plan(  # noqa: PLR0913  typer reads one flag from each argument
    *,
    files: options.Files = [],  # noqa: B006  typer copies it, and wants a list
    more: options.MorePaths = None,
    output: options.OutputForm = Output.TABLE,
    catalog: options.Catalog = "",
    now: options.Now = "",
    no_disrupt: options.NoDisrupt = False,
    preference_policy: options.Preferences = PreferencePolicy.RESPECT,
    min_values_policy: options.MinValues = MinValuesPolicy.STRICT,
    feature_gates: options.FeatureGates = "",
    scheduler_config: options.SchedulerConfigFile = "",
    spot_robustness: options.SpotRobustness = _DEFAULT.spot_robustness,
    effort: options.Effort = _DEFAULT.effort,
    least_saving_per_eviction: options.LeastSaving = "0",
    most_evictions_per_day: options.MostEvictions = -1,
    eviction_cost: options.EvictionCost = "",
    node_price: options.NodePrice = "0",
    frontier: options.Frontier = False,
    certificate: options.WithCertificate = False,
) -> None:
    """Show which nodes to launch for waiting pods, at what price, and why a pod must wait.

    Shows also which nodes may go now, what that saves, who moves where and, with -o wide, why each
    of the others stays.

    Reads manifests only; no cluster is needed. A workload stands for its replicas, a pod without
    spec.nodeName waits. Pods that cannot be placed do not change the exit code.

    \b
    Examples:
      dovetail plan -f examples/demo
      dovetail plan -f pools.yaml -f pods.yaml -o wide
      kubectl get pods,nodes,nodepools,nodeclaims -A -o yaml | dovetail plan -f - -o json
      dovetail plan -f cluster/ --catalog my-types.json --now 2026-01-01T00:00:00Z
      dovetail plan -f cluster/ --frontier
      dovetail plan -f cluster/ --node-price 0.025
    """  # noqa: D301  \b keeps the examples' lines apart in the help
    from dovetail.app import PlanRequest
    from dovetail.settings import policies
    from dovetail.settings.scheduler import default_spread

    _mention_gates(feature_gates)
    policy = policies.policy(
        preference_policy=preference_policy,
        min_values_policy=min_values_policy,
        effort=effort,
        spot_robustness=spot_robustness,
        default_spread=default_spread(scheduler_config),
    )
    calm = policies.Calm(
        options.dollars(least_saving_per_eviction),
        most_evictions_per_day,
        options.worth(eviction_cost),
    )
    planned = _plan(
        PlanRequest(
            sources=options.sources(files, more),
            catalogue=catalog,
            now=options.instant(now),
            may_disrupt=not no_disrupt,
            policy=policies.with_node_price(
                policies.with_calm(policy, calm), options.node_price(node_price)
            ),
            with_frontier=frontier,
        )
    )
    for remark in planned.remarks:
        say(remark)
    emit(_output_text(planned, output, with_certificate=certificate))


def _mention_gates(feature_gates: str) -> None:
    from dovetail.settings import readings

    if feature_gates:
        readings.feature_gates(feature_gates)
        say("Feature gates bind 'run' only: offline every kind in the input is honoured.")


def _plan(request: PlanRequest) -> Planned:
    from dovetail.app import plan_from

    with Progress() as progress:
        return plan_from(request, stdin=sys.stdin.buffer, tell=progress.tell)


def _output_text(planned: Planned, output: Output, *, with_certificate: bool) -> str:
    if output in {Output.TABLE, Output.WIDE}:
        from dovetail.cli.render import plan_text
        from dovetail.present.table import plan_table

        is_wide = output is Output.WIDE
        staying = planned.staying if is_wide else planned.plan.blocked
        table = plan_table(planned.plan, planned.snapshot, staying)
        return plan_text(table, is_wide=is_wide, notes=planned.notes) + _frontier(planned)
    from dovetail.present.plan import blocked_json, plan_json

    shown = plan_json(
        planned.plan,
        planned.snapshot,
        planned.timings,
        notes=planned.notes,
        with_certificate=with_certificate,
    )
    shown["staying"] = [blocked_json(verdict) for verdict in planned.staying]
    if planned.frontier:
        from dovetail.present.table import frontier_json

        shown["frontier"] = frontier_json(planned.frontier)
    return json_text(shown) if output is Output.JSON else yaml_text(shown)


def _frontier(planned: Planned) -> str:
    """Price against number of nodes, where that was asked for."""
    if not planned.frontier:
        return ""
    from dovetail.present.table import COLUMNS, frontier_rows

    rows = align(COLUMNS, frontier_rows(planned.frontier), right=COLUMNS)
    return f"\nPrice against nodes\n{rows}"
