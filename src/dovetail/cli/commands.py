"""Lists the commands, with the help that introduces them."""

from __future__ import annotations

from typing import Annotated

import typer

from dovetail.cli.budgets import budgets
from dovetail.cli.catalog import catalog
from dovetail.cli.convert import convert
from dovetail.cli.cost import cost
from dovetail.cli.crds import crds
from dovetail.cli.demo import demo
from dovetail.cli.explain import explain
from dovetail.cli.install import install
from dovetail.cli.migration.check import check
from dovetail.cli.new.nodepool import nodepool
from dovetail.cli.nodes import nodes
from dovetail.cli.plan import plan
from dovetail.cli.replay import replay
from dovetail.cli.run import RunCommand, run
from dovetail.cli.simulate import simulate
from dovetail.cli.validate import validate

_EPILOG = """\
\b
First steps:
  dovetail demo                                a demo cluster, in the browser and for kubectl
  dovetail plan -f examples/demo               what would be launched, and why not
  dovetail plan -f examples/demo -o json       the same for scripts
  dovetail explain node/n1 -f cluster.yaml     why it stays, and what its removal would do
  dovetail explain node/n1 --journal journal/  why it was created and removed
  dovetail nodes                               nodes of a live cluster, at the terminal
  dovetail cost                                cost by pool, namespace and team
  dovetail validate -f manifests/              every problem, with file and field
  dovetail convert -f provisioners.yaml        older manifests as v1, with comments
  dovetail new nodepool                        a NodePool for a team, from answers or a file
  dovetail check                               before Dovetail replaces Karpenter: what breaks
  dovetail budgets -f manifests/ --next 7d     when how many nodes may be disrupted
  dovetail simulate --compare day.yaml         a day, beside the reference's policy
  dovetail catalog --catalog aws --family m7g  instance types and prices
  kubectl get pods,nodes,nodepools -A -o yaml | dovetail plan -f -
  dovetail run --provider kwok --kubelets      the controller, on the cluster of your kubeconfig

Every command has --help. Results go to stdout; progress and warnings go to stderr. Exit code 2
means bad input or usage. NO_COLOR switches colours off.
"""

app = typer.Typer(
    name="dovetail",
    help="Plan Kubernetes nodes: the cheapest set for the pending pods, with a proof.",
    epilog=_EPILOG,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=True,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:  # noqa: FBT001  typer calls back with the flag's value
    if not wanted:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        typer.echo(f"dovetail {version('dovetail')}")
    except PackageNotFoundError:
        typer.echo("dovetail (run from its source, not installed)")
    raise typer.Exit


@app.callback()
def _global_flags(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    # Only here so that --version stands before any command.
    del version


for _command, _summary in (
    (demo, "Run a demo cluster in this process."),
    (plan, "Plan the nodes for these manifests, and say why."),
    (explain, "Explain why a pod is pending, or why a node was created, stays or was removed."),
    (replay, "Recompute recorded decisions and compare."),
    (nodes, "Show nodes: utilisation, price, age, state."),
    (cost, "Show cost by pool, namespace, workload and label."),
    (validate, "List every problem in these manifests."),
    (convert, "Convert manifests of older versions of Karpenter to v1."),
    (check, "Report what would go wrong if Dovetail replaced Karpenter on a cluster."),
    (budgets, "Show how many nodes may be disrupted, when, and for which reason."),
    (simulate, "Simulate a day: cost, evictions, pending time, utilisation."),
    (catalog, "List instance types and their prices."),
    (crds, "Print the CustomResourceDefinitions as YAML."),
    (install, "Print the manifests of an installation as YAML."),
):
    app.command(short_help=_summary)(_command)

_new = typer.Typer(
    name="new", help="Write manifests from what a team requests.", no_args_is_help=True
)


@_new.callback()
def _new_group() -> None:
    # Only here so that `new` stays a group while it has a single command.
    """Write manifests from what a team requests."""


_new.command(short_help="Write a NodePool from a request, flags or answers.")(nodepool)
app.add_typer(_new, short_help="Write a NodePool for a team.")
app.command("run", cls=RunCommand, short_help="Run the controller on a cluster.")(run)
