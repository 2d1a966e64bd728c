"""Which commands are there? The list, and the help that introduces them."""

from __future__ import annotations

from typing import Annotated

import typer

from dovetail.cli.budgets import budgets
from dovetail.cli.catalog import catalog
from dovetail.cli.cost import cost
from dovetail.cli.crds import crds
from dovetail.cli.demo import demo
from dovetail.cli.explain import explain
from dovetail.cli.install import install
from dovetail.cli.nodes import nodes
from dovetail.cli.plan import plan
from dovetail.cli.replay import replay
from dovetail.cli.run import RunCommand, run
from dovetail.cli.simulate import simulate
from dovetail.cli.validate import validate

_EPILOG = """\
\b
First steps:
  dovetail demo                                a cluster to watch in the browser, and for kubectl
  dovetail plan -f examples/demo               what would be launched, and why not
  dovetail plan -f examples/demo -o json       the same for scripts
  dovetail explain node/n1 -f cluster.yaml     why it stays or goes, and what without it
  dovetail explain node/n1 --journal journal/  why it was made, what became of it
  dovetail nodes                               nodes of a live cluster, at the terminal
  dovetail cost                                what it costs, by pool, namespace and team
  dovetail validate -f manifests/              every problem, with file and field
  dovetail budgets -f manifests/ --next 7d     when how many nodes may be disrupted
  dovetail simulate --compare day.yaml         a day, beside the reference's policy
  dovetail catalog --catalog aws --family m7g  instance types and prices
  kubectl get pods,nodes,nodepools -A -o yaml | dovetail plan -f -
  dovetail run --provider kwok --kubelets      the controller, on the cluster of your kubeconfig

Every command explains itself with --help. Data goes to stdout, talk to stderr; exit code 2
means bad input or usage. NO_COLOR switches colours off.
"""

app = typer.Typer(
    name="dovetail",
    help="Plan Kubernetes nodes: the cheapest set that holds the waiting pods, with proof.",
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
    (demo, "A whole cluster in this process, to watch and to try."),
    (plan, "What would be launched for these manifests, and why."),
    (explain, "Why one pod waits, or one node came, stays or went."),
    (replay, "Whether recorded decisions come out the same again."),
    (nodes, "Nodes at a terminal: how full, what they cost."),
    (cost, "What is paid for what, and what others would have paid."),
    (validate, "Every problem in these manifests."),
    (budgets, "When how many nodes may be disrupted, and for which reason."),
    (simulate, "How a day would go: cost, evictions, waiting, utilisation."),
    (catalog, "Instance types and their prices."),
    (crds, "The CustomResourceDefinitions, as YAML."),
    (install, "Everything that an installation needs, as YAML."),
):
    app.command(short_help=_summary)(_command)

app.command("run", cls=RunCommand, short_help="The controller, against a cluster.")(run)
