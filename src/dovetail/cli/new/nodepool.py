"""dovetail new nodepool: writes a NodePool from a request file, from flags, or from answers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli import options
from dovetail.cli.new import checking
from dovetail.cli.new import request_flags as flags
from dovetail.cli.output import emit, json_text, say

if TYPE_CHECKING:
    from dovetail.api.decoding import FieldProblem, Tree
    from dovetail.generator import Generated
    from dovetail.generator.files import RequestFile

WOULD_CHANGE = 1
BAD_INPUT = 2

RequestPath = Annotated[
    str,
    typer.Option(
        "-f",
        "--filename",
        metavar="REQUEST",
        help="Request file, YAML or JSON, or a file that was generated; '-' is standard input.",
        show_default=False,
    ),
]
Out = Annotated[
    str,
    typer.Option(
        "--out",
        metavar="FILE",
        help="Write the result to this file, if it is new or was generated for the same pool.",
        show_default=False,
    ),
]
Check = Annotated[
    bool,
    typer.Option("--check", help="With --out: write nothing; exit with 1 if it would change."),
]
Schema = Annotated[
    bool, typer.Option("--schema", help="Print the JSON schema of a request, and do nothing else.")
]


def nodepool(  # noqa: PLR0913  typer reads one flag from each argument
    *,
    request: RequestPath = "",
    out: Out = "",
    check: Check = False,
    schema: Schema = False,
    against: checking.Against = [],  # noqa: B006  typer copies it, and wants a list
    live: checking.Live = False,
    workloads: checking.Workloads = [],  # noqa: B006  as above
    catalog: options.Catalog = "",
    kubeconfig: options.Kubeconfig = "",
    context: options.Context = "",
    name: flags.Name = "",
    provider: flags.Provider = "",
    cpu: flags.Cpu = "",
    memory: flags.Memory = "",
    gpus: flags.Gpus = None,
    families: flags.Families = [],  # noqa: B006  as above
    architectures: flags.Architectures = [],  # noqa: B006  as above
    min_node_cpu: flags.LeastCpu = "",
    max_node_cpu: flags.MostCpu = "",
    min_node_memory: flags.LeastMemory = "",
    max_node_memory: flags.MostMemory = "",
    spot: flags.Spot = "",
    zones: flags.Zones = [],  # noqa: B006  as above
    labels: flags.Labels = [],  # noqa: B006  as above
    taints: flags.Taints = [],  # noqa: B006  as above
    quiet_hours: flags.QuietHours = [],  # noqa: B006  as above
    weight: flags.Weight = None,
    node_class: flags.NodeClass = "",
    role: flags.Role = "",
    cluster: flags.ClusterTag = "",
    image: flags.Image = "",
    disk: flags.Disk = "",
) -> None:
    """Write a NodePool for a team and, where the request describes a new one, its node class.

    The request comes from a file, from flags, or from questions on a terminal. The same request
    gives the same bytes. The result goes to stdout, or with --out to a file.

    \b
    Examples:
      dovetail new nodepool
      dovetail new nodepool -f request.yaml --out pools/payments.yaml
      dovetail new nodepool --name payments --cpu 64 --family m7g,c7g --node-class default
      dovetail new nodepool -f request.yaml --against pools/ --workloads payments/
      dovetail new nodepool -f request.yaml --live
      dovetail new nodepool --schema > request.schema.json
    """  # noqa: D301  \b keeps the examples' lines apart in the help
    given = flags.by_field(locals())
    if schema:
        from dovetail.generator import request_schema

        emit(json_text(request_schema()))
        return
    if check and not out:
        msg = "expected --out FILE with it, to compare with"
        raise typer.BadParameter(msg, param_hint="--check")
    checks = checking.Checks(
        tuple(against), tuple(workloads), live, kubeconfig, context, catalog, out
    ).checked()
    generated = _generated(_request(request, flags.tree_of(given)))
    for warning in generated.warnings:
        say(f"warning: {warning}")
    _report_checks(checking.check(generated, checks), is_data=bool(out))
    _finish(generated, out, is_check=check)


def _report_checks(checked: checking.CheckedPool, *, is_data: bool) -> None:
    """Warnings go to stderr; so does the report, unless it is all that there is to print."""
    for warning in checked.warnings:
        say(warning)
    for problem in checked.problems:
        say(f"error: {problem}")
    if checked.problems:
        _say_count(len(checked.problems))
        raise typer.Exit(BAD_INPUT)
    if checked.report:
        emit(checked.report) if is_data else say(checked.report.rstrip())


def _request(path: str, given: dict[str, Tree]) -> RequestFile:
    from dovetail.generator.files import RequestFile, read_request_file

    if path and given:
        msg = "expected a request file or flags of a request, not both"
        raise typer.BadParameter(msg, param_hint="-f")
    if path:
        return read_request_file(path, sys.stdin.buffer)
    if given:
        return RequestFile("", given)
    if sys.stdin.isatty():
        from dovetail.cli.new.conversation import ask

        return RequestFile("", ask(sys.stdin, sys.stderr))
    msg = "expected -f REQUEST, flags such as --name and --cpu, or a terminal to ask on"
    raise typer.BadParameter(msg, param_hint="-f")


def _generated(file: RequestFile) -> Generated:
    """What the request comes to; every problem of it is reported."""
    from dovetail.generator import RequestError
    from dovetail.generator.provider import generate_installed

    try:
        return generate_installed(file.tree)
    except RequestError as error:
        for problem in error.problems:
            say(f"error: {_message(problem, file.name)}")
        _say_count(len(error.problems))
        raise typer.Exit(BAD_INPUT) from None


def _message(problem: FieldProblem, file: str) -> str:
    return f"{file}: {problem}" if file else flags.flag_message(problem)


def _say_count(n_problems: int) -> None:
    from dovetail.present.table import plural

    say(f"{plural(n_problems, 'problem')} found.")


def _finish(generated: Generated, out: str, *, is_check: bool) -> None:
    """Print the result, or write it to its file and say so."""
    from dovetail.generator.files import Writing, write, writing

    if not out:
        emit(generated.text)
        return
    state = writing(out, generated)
    if is_check and state is not Writing.UNCHANGED:
        emit(f"{out}: would be {state}\n")
        raise typer.Exit(WOULD_CHANGE)
    if state is not Writing.UNCHANGED:
        write(out, generated)
    emit(f"{out}: {state}\n")
