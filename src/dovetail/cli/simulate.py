"""dovetail simulate: prints what a simulated day costs, and how many pods it evicts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.output import Output, Progress, align, emit, json_text, say, yaml_text
from dovetail.errors import InputError

if TYPE_CHECKING:
    from dovetail.sim.rehearsal import Rehearsed
    from dovetail.sim.report.sides import Side
    from dovetail.sim.scenario.case import Decider

_MOST_SEEDS = 10_000
_POLICIES = ("dovetail", "reference")

Scenarios = Annotated[
    list[str], typer.Argument(metavar="SCENARIO", help="Scenario file; with --compare up to two.")
]
Dumps = Annotated[
    list[str],
    typer.Option(
        "-f",
        "--filename",
        metavar="PATH",
        help="Manifests or a dump of a cluster beside what the scenario names; '-' is standard "
        "input. May be given several times.",
        show_default=False,
    ),
]
PolicyName = Annotated[
    str,
    typer.Option("--policy", metavar="NAME", help="Policy that decides: dovetail or reference."),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed", metavar="N", help="Seed of the random numbers.", show_default="the scenario's"
    ),
]
Seeds = Annotated[
    str,
    typer.Option(
        "--seeds", metavar="A-B", help="Once for each of these seeds.", show_default=False
    ),
]
Settings = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        help="Change the scenario, such as policy.evictionCost=0s. May be given several times.",
        show_default=False,
    ),
]
NodePrice = Annotated[
    str,
    typer.Option(
        "--node-price",
        metavar="DOLLARS",
        help="What a node costs an hour beside its provider's price; the same as "
        "--set policy.nodePrice=DOLLARS.",
        show_default="the scenario's",
    ),
]
Variations = Annotated[
    list[str],
    typer.Option(
        "--vary",
        metavar="FIELD=V1,V2",
        help="Once for each of these values, in every combination. May be given several times.",
        show_default=False,
    ),
]
Compare = Annotated[
    bool,
    typer.Option(
        "--compare",
        help="Two scenarios side by side; with one, Dovetail against the reference policy.",
    ),
]
Html = Annotated[
    str,
    typer.Option(
        "--html", metavar="FILE", help="Also write one page with plots.", show_default=False
    ),
]
Workers = Annotated[
    int,
    typer.Option(
        "--workers",
        metavar="N",
        min=0,
        help="Number of parallel processes.",
        show_default="all cores",
    ),
]
Ray = Annotated[
    str,
    typer.Option(
        "--ray",
        metavar="ADDRESS",
        help="Run on this Ray cluster; 'local' starts one here. Needs pip install 'dovetail[ray]'.",
        show_default=False,
    ),
]
Form = Annotated[Output, typer.Option("-o", "--output", help="How to print.")]


def simulate(  # noqa: PLR0913  typer reads one flag from each argument
    *,
    scenarios: Scenarios,
    dumps: Dumps = [],  # noqa: B006  typer copies it, and wants a list
    policy: PolicyName = "dovetail",
    compare: Compare = False,
    seed: Seed = None,
    seeds: Seeds = "",
    settings: Settings = [],  # noqa: B006  as above
    node_price: NodePrice = "",
    vary: Variations = [],  # noqa: B006  as above
    output: Form = Output.TABLE,
    html: Html = "",
    workers: Workers = 0,
    ray: Ray = "",
) -> None:
    """Let the time of a scenario pass in seconds, decided upon by the same code as a live cluster.

    Shows what it costs, how many pods are evicted and why, how long pods wait, how full nodes are.
    The scenario names pools, workloads with curves or a recorded trace, prices that move and what
    fails; see docs/simulate.md.

    \b
    Examples:
      dovetail simulate simulations/web-day.yaml
      dovetail simulate --compare simulations/web-day.yaml --html day.html
      dovetail simulate --compare today.yaml tomorrow.yaml --seeds 1-20
      kubectl get nodes,nodepools,pods,deployments -A -o yaml | dovetail simulate day.yaml -f -
      dovetail simulate day.yaml --vary policy.evictionCost=0s,2h,8h -o json
    """  # noqa: D301  \b keeps the examples' lines apart in the help
    from dovetail import app
    from dovetail.sim.rehearsal import Rehearsal

    if html:
        _check_writable(html)
    rehearsal = Rehearsal(
        files=_files(scenarios, compare=compare),
        more=tuple(dumps),
        deciders=_deciders(policy, scenarios, compare=compare),
        seeds=_seeds(seed, seeds),
        settings=(
            *_price_settings(node_price),
            *(_setting(setting, "--set") for setting in settings),
        ),
        variations=tuple(_variation(item) for item in vary),
        n_workers=workers,
        ray=ray,
    )
    if compare and rehearsal.variations:
        msg = "expected either two sides or values to vary"
        raise typer.BadParameter(msg, param_hint="--vary")
    with Progress() as progress:
        done = app.rehearsed_from(rehearsal, stdin=sys.stdin.buffer, tell=progress.tell)
    for remark in done.remarks:
        say(remark)
    _show(done, output, html, is_compared=compare)


def _show(done: Rehearsed, output: Output, html: str, *, is_compared: bool) -> None:
    from dovetail.sim.report.sides import sides

    all_sides = sides(done.outcomes)
    if html:
        from dovetail.sim.report.page import page

        _write(html, page(all_sides, notes=done.notes, is_compared=is_compared))
        say(f"Wrote {html}")
    emit(_output_text(all_sides, done.notes, output, is_compared=is_compared))


def _output_text(
    sides: tuple[Side, ...], notes: tuple[str, ...], output: Output, *, is_compared: bool
) -> str:
    if output in {Output.TABLE, Output.WIDE}:
        from dovetail.sim.report.data import grids

        texts = [
            f"{grid.title}\n\n{align(grid.columns, grid.rows, right=grid.columns[1:])}"
            for grid in grids(sides, is_compared=is_compared)
        ]
        return "\n".join((*texts, *(f"Note: {note}\n" for note in notes)))
    from dovetail.sim.report.data import rehearsed_json

    shown = rehearsed_json(sides, notes=notes, is_compared=is_compared)
    return json_text(shown) if output is Output.JSON else yaml_text(shown)


def _files(scenarios: list[str], *, compare: bool) -> tuple[str, ...]:
    most = 2 if compare else 1
    if len(scenarios) > most:
        hint = "" if compare else "; --compare runs two side by side"
        msg = f"expected at most {most}, not {len(scenarios)}{hint}"
        raise typer.BadParameter(msg, param_hint="SCENARIO")
    if len(set(scenarios)) < len(scenarios):
        msg = "expected two different files; with one, --compare takes both policies"
        raise typer.BadParameter(msg, param_hint="SCENARIO")
    return tuple(scenarios)


def _deciders(policy: str, scenarios: list[str], *, compare: bool) -> tuple[Decider, ...]:
    from dovetail.sim.scenario.case import Decider

    if policy not in _POLICIES:
        msg = f"expected {' or '.join(_POLICIES)}, not {policy!r}"
        raise typer.BadParameter(msg, param_hint="--policy")
    if compare and len(scenarios) == 1:
        return (Decider.REFERENCE, Decider.DOVETAIL)
    return (Decider(policy),)


def _seeds(seed: int | None, text: str) -> tuple[int, ...]:
    if not text:
        return () if seed is None else (seed,)
    if seed is not None:
        msg = "expected either --seed or --seeds"
        raise typer.BadParameter(msg, param_hint="--seeds")
    first, dash, last = text.partition("-")
    is_range = dash and all(
        item.isascii() and item.isdecimal() and len(item) < 10 for item in (first, last)
    )
    if not is_range or not 0 <= int(last) - int(first) < _MOST_SEEDS:
        msg = f"expected a range such as 1-20, of up to {_MOST_SEEDS}, not {text!r}"
        raise typer.BadParameter(msg, param_hint="--seeds")
    return tuple(range(int(first), int(last) + 1))


def _setting(text: str, flag: str) -> tuple[str, str]:
    path, equals, value = text.partition("=")
    if not equals or not path or not all(path.split(".")):
        msg = f"expected FIELD=VALUE such as policy.evictionCost=0s, not {text!r}"
        raise typer.BadParameter(msg, param_hint=flag)
    return path, value


def _price_settings(node_price: str) -> tuple[tuple[str, str], ...]:
    """What `--node-price` changes of the scenario."""
    from dovetail.cli import options

    return (("policy.nodePrice", options.node_price(node_price)),) if node_price else ()


def _variation(text: str) -> tuple[str, tuple[str, ...]]:
    path, values = _setting(text, "--vary")
    return path, tuple(dict.fromkeys(values.split(",")))


def _check_writable(file: str) -> None:
    """A page that nobody can keep is not worth a long simulation."""
    parent = Path(file).parent
    if not parent.is_dir() or Path(file).is_dir():
        msg = f"{file}: cannot be written; expected a file in a directory that exists"
        raise InputError(msg)


def _write(file: str, text: str) -> None:
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        msg = f"{file}: cannot be written ({error.strerror}); expected a file to write the page to"
        raise InputError(msg) from None
