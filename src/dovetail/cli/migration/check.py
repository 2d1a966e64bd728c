"""dovetail check: reports what would go wrong if Dovetail took over a cluster from Karpenter."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Final

import typer

from dovetail.cli import options
from dovetail.cli.output import Output, Progress, emit, json_text, say, yaml_text

if TYPE_CHECKING:
    from dovetail.api.decoding import Tree
    from dovetail.live.takeover import Takeover
    from dovetail.present.installation.choices import Choices

FINDINGS: Final = 1

Provider = Annotated[
    str, typer.Option("--provider", metavar="NAME", help="Cloud provider that launches the nodes.")
]
Namespace = Annotated[
    str,
    typer.Option(
        "-n",
        "--namespace",
        metavar="NAME",
        help="Namespace that Dovetail will run in; Karpenter's, so that both share its lease.",
    ),
]
Forecast = Annotated[
    bool,
    typer.Option("--forecast/--no-forecast", help="Compute what Dovetail would launch and save."),
]


def check(  # noqa: PLR0913  typer reads one flag from each argument
    *,
    provider: Provider = "aws",
    namespace: Namespace = "kube-system",
    output: options.OutputForm = Output.TABLE,
    forecast: Forecast = True,
    catalog: options.LiveCatalog = "",
    kubeconfig: options.Kubeconfig = "",
    context: options.Context = "",
) -> None:
    """Report what would go wrong, or change, if Dovetail replaced Karpenter on a live cluster.

    Only reads, so it can run at any time. It checks rights, custom resource definitions,
    webhooks, other controllers, NodePools, node classes, NodeClaims, Nodes and objects of
    older versions. An error fails, a warning changes something, a note is for your information.
    Each names the object, the field and the remedy. Then it says what Dovetail would do first, and
    what that saves.

    Exits with 0 if there are at most notes, with 1 if there are errors or warnings, with 2 if the
    cluster cannot be read.

    \b
    Examples:
      dovetail check
      dovetail check --provider aws --namespace karpenter
      dovetail check --context production -o json --no-forecast
    """  # noqa: D301  \b keeps the examples' lines apart in the help
    from dovetail.live.following import Whose
    from dovetail.live.takeover import read_takeover
    from dovetail.migration.check import check as check_objects
    from dovetail.migration.findings import is_clean
    from dovetail.migration.report import report_json, report_text

    choices = _choices(provider, namespace)
    with Progress() as progress:
        progress.tell("reading the cluster")
        takeover = read_takeover(
            Whose(dict(os.environ), kubeconfig, context, catalog), choices, with_forecast=forecast
        )
    if takeover.forecast_problem:
        say(f"No forecast: {takeover.forecast_problem}")
    findings = check_objects(takeover.objects, choices, takeover.now)
    if output in {Output.TABLE, Output.WIDE}:
        emit(report_text(findings) + _forecast_text(takeover))
    else:
        data: dict[str, Tree] = {**report_json(findings), **_forecast_json(takeover)}
        emit(json_text(data) if output is Output.JSON else yaml_text(data))
    if not is_clean(findings):
        raise typer.Exit(FINDINGS)


def _choices(provider: str, namespace: str) -> Choices:
    """The installation that is meant, whatever its image."""
    import msgspec

    from dovetail.cloud.plugin import ProviderPlugin
    from dovetail.cloud.registry import load
    from dovetail.present.installation.choices import Choices

    plugin: ProviderPlugin[None, msgspec.Struct] = load(provider)
    return Choices(
        version="latest",
        image="dovetail",
        namespace=namespace,
        provider=provider,
        extensions=(plugin.extension,),
        access=plugin.access,
    )


def _forecast_text(takeover: Takeover) -> str:
    if takeover.forecast is None:
        return ""
    from dovetail import app
    from dovetail.units import money

    tally, cost = takeover.forecast.tally, takeover.forecast.cost
    for note in app.price_notes(takeover.forecast.catalogues):
        say(note)
    before, target = cost.cluster_before_nanousd, cost.cluster_target_nanousd
    return (
        f"\nFirst decision: {tally.n_launches} nodes launched for pending pods, "
        f"{tally.n_removed} nodes removed or replaced, "
        f"${money.dollars(tally.saving_nanousd):.4f} an hour saved.\n"
        f"Price of the cluster: ${money.dollars(before):.4f} an hour; lower bound if all movable "
        f"pods were moved: ${money.dollars(target):.4f}.\n"
    )


def _forecast_json(takeover: Takeover) -> dict[str, Tree]:
    if takeover.forecast is None:
        return {}
    from dovetail import app
    from dovetail.units import money

    tally, cost = takeover.forecast.tally, takeover.forecast.cost
    return {
        "forecast": {
            "launches": tally.n_launches,
            "disruptions": tally.n_disruptions,
            "nodesRemoved": tally.n_removed,
            "savingPerHour": money.dollars(tally.saving_nanousd),
            "clusterPerHour": money.dollars(cost.cluster_before_nanousd),
            "clusterTargetPerHour": money.dollars(cost.cluster_target_nanousd),
            "notes": list(app.price_notes(takeover.forecast.catalogues)),
        }
    }
