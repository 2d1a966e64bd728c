"""Defines the flags that several commands share, one definition per flag."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from dovetail.cli.output import Output
from dovetail.model.policy import MinValuesPolicy, PreferencePolicy

Files = Annotated[
    list[str],
    typer.Option(
        "-f",
        "--filename",
        metavar="PATH",
        help="File or directory of manifests, YAML or JSON; '-' is standard input. "
        "May be given several times.",
        show_default=False,
    ),
]
MorePaths = Annotated[
    list[str] | None,
    typer.Argument(metavar="PATH", help="More files and directories.", show_default=False),
]
Catalog = Annotated[
    str,
    typer.Option(
        "--catalog",
        metavar="NAME",
        envvar="INSTANCE_TYPES_FILE_PATH",
        help="Instance types: a provider's by name, such as 'generic' or 'aws', or a file in kwok "
        "format. Default: those of the provider of the pool's node class, else 'generic'.",
        show_default=False,
    ),
]
OutputForm = Annotated[
    Output, typer.Option("-o", "--output", help="How to print: a table, more columns, or data.")
]
Now = Annotated[
    str,
    typer.Option(
        "--now",
        metavar="TIME",
        help="Plan as if it were this time, such as 2026-01-01T00:00:00Z. Default: the clock's.",
        show_default=False,
    ),
]
NoDisrupt = Annotated[
    bool, typer.Option("--no-disrupt", help="Plan only for pending pods; do not disrupt nodes.")
]
Preferences = Annotated[
    PreferencePolicy,
    typer.Option(
        "--preference-policy",
        envvar="PREFERENCE_POLICY",
        help="Whether preferences choose among plans of equal price.",
    ),
]
MinValues = Annotated[
    MinValuesPolicy,
    typer.Option(
        "--min-values-policy",
        envvar="MIN_VALUES_POLICY",
        help="Whether minValues of a NodePool may be relaxed when they cannot be met.",
    ),
]
FeatureGates = Annotated[
    str,
    typer.Option(
        "--feature-gates",
        metavar="GATES",
        envvar="FEATURE_GATES",
        help="Accepted as for 'run', such as NodeOverlay=true; gates bind 'run' only, "
        "offline every kind is honoured.",
        show_default=False,
    ),
]
SchedulerConfigFile = Annotated[
    str,
    typer.Option(
        "--scheduler-config",
        metavar="FILE",
        envvar="SCHEDULER_CONFIG",
        help="Default spread constraints: podTopologySpread.defaultConstraints, YAML or JSON.",
        show_default=False,
    ),
]
SpotRobustness = Annotated[
    float,
    typer.Option(
        "--spot-robustness",
        metavar="SHARE",
        envvar="DOVETAIL_SPOT_ROBUSTNESS",
        min=0.0,
        max=1.0,
        help="Plan spot at a price between the cheapest (0) and the fifth cheapest type (1).",
    ),
]
Effort = Annotated[
    int,
    typer.Option(
        "--effort",
        metavar="N",
        envvar="DOVETAIL_EFFORT",
        min=0,
        help="Number of attempts to improve the plan; more is slower and never more expensive.",
    ),
]
LeastSaving = Annotated[
    str,
    typer.Option(
        "--least-saving-per-eviction",
        metavar="DOLLARS",
        envvar="DOVETAIL_LEAST_SAVING_PER_EVICTION",
        help="What a move must save for each pod that it evicts, in dollars an hour.",
    ),
]
MostEvictions = Annotated[
    int,
    typer.Option(
        "--most-evictions-per-day",
        metavar="N",
        envvar="DOVETAIL_MOST_EVICTIONS_PER_DAY",
        min=-1,
        max=1_000_000,
        help="How often a pod may be evicted a day to save money; -1 for no limit. "
        "Manifests do not contain earlier evictions, so only 0 has an effect here.",
    ),
]
EvictionCost = Annotated[
    str,
    typer.Option(
        "--eviction-cost",
        metavar="DURATION",
        envvar="DOVETAIL_EVICTION_COST",
        help="Cost of evicting a pod, as the time for which the resources that it requests are "
        "paid. A move must save this cost within the time that its pods have run; 0s for none.",
        show_default="2h",
    ),
]
NodePrice = Annotated[
    str,
    typer.Option(
        "--node-price",
        metavar="DOLLARS",
        envvar="DOVETAIL_NODE_PRICE",
        help="Cost of a node in addition to the provider's price, in dollars an hour: a licence, "
        "an address, load on the control plane. A higher value favours fewer, larger nodes. "
        "Displayed prices do not include it.",
    ),
]
Frontier = Annotated[
    bool,
    typer.Option(
        "--frontier",
        help="Show price against number of nodes for the pending pods, and the lowest --node-price "
        "at which each choice is best. Solves several times.",
    ),
]
WithCertificate = Annotated[
    bool,
    typer.Option("--certificate", help="Add the proof of the lower bound to json and yaml output."),
]

Kubeconfig = Annotated[
    str,
    typer.Option(
        "--kubeconfig",
        metavar="PATH",
        help="Which cluster, where no -f is given. Default: the files of KUBECONFIG, the service "
        "account of the pod, ~/.kube/config.",
        show_default=False,
    ),
]
Context = Annotated[
    str,
    typer.Option(
        "--context",
        metavar="NAME",
        help="The context of the kubeconfig. Default: its current-context.",
        show_default=False,
    ),
]
LiveCatalog = Annotated[
    str,
    typer.Option(
        "--catalog",
        metavar="NAME",
        envvar="INSTANCE_TYPES_FILE_PATH",
        help="Where prices come from: a provider's catalogue by name, such as 'generic' or 'aws', "
        "or a file in kwok format. Default: that of the provider of the pool's node class, else "
        "'generic'; of a live cluster, the one that knows the types of a pool's nodes.",
        show_default=False,
    ),
]


def instant(text: str, flag: str = "--now") -> datetime | None:
    """The moment that a flag names, None without one; no offset means UTC."""
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        msg = f"expected a time such as 2026-01-01T00:00:00Z, not {text!r}"
        raise typer.BadParameter(msg, param_hint=flag) from None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def dollars(text: str) -> str:
    """What `--least-saving-per-eviction` says, if that is an amount."""
    from dovetail.units import knobs

    try:
        knobs.least_saving(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--least-saving-per-eviction") from None
    return text.strip()


def node_price(text: str) -> str:
    """What `--node-price` says, if that is a price per node."""
    from dovetail.units import knobs

    try:
        knobs.node_price(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--node-price") from None
    return text.strip()


def worth(text: str) -> timedelta:
    """What `--eviction-cost` says, if that is a duration; the default if it says nothing."""
    from dovetail.settings import policies
    from dovetail.units import knobs

    if not text:
        return policies.DEFAULT.eviction_cost
    try:
        return knobs.eviction_cost(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--eviction-cost") from None


def sources(files: list[str], more: list[str] | None) -> tuple[str, ...]:
    """All paths given, with -f or without; none at all is a usage error."""
    paths = (*files, *(more or ()))
    if not paths:
        msg = "expected at least one -f PATH ('-' reads standard input)"
        raise typer.BadParameter(msg, param_hint="-f")
    return paths
