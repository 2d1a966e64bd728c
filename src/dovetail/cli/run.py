"""dovetail run: the controller, against a cluster, until it is told to stop.

Its flags are the table of `settings/flags.py`. They reach this command as text: what they mean, and
what holds when a variable says otherwise, is read in `settings/sources.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from inspect import Parameter, Signature
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperCommand

from dovetail.settings.flags import FLAGS, Flag

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter

_SWITCHES = frozenset(f"--{flag.name}" for flag in FLAGS if flag.is_switch)
_PANELS = {flag.field: flag.panel for flag in FLAGS}
_TRUTHS = frozenset({"true", "false"})


class RunCommand(TyperCommand):
    """A command whose switches may stand alone, and whose help has its flags in groups."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """`--kubelets` means `--kubelets=true`, as for Go's flags."""
        return super().parse_args(ctx, list(spelled_out(args)))

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Flags under the headings of their groups."""
        for panel, members in groupby(self.get_params(ctx), lambda one: _PANELS.get(one.name)):
            records = [record for one in members if (record := one.get_help_record(ctx))]
            with formatter.section(panel or "Help"):
                formatter.write_dl(records)


def spelled_out(words: Sequence[str]) -> Iterator[str]:
    """The same words, where every switch has its value."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            yield from (word, *rest)
            return
        if word in _SWITCHES:
            value = rest.pop(0) if rest and rest[0] in _TRUTHS else "true"
            yield f"{word}={value}"
        else:
            yield word


def _option(flag: Flag) -> Parameter:
    names = ", ".join(filter(None, (flag.environment and f"env: {flag.environment}",
                                    flag.default and f"default: {flag.default}")))  # fmt: skip
    option: object = typer.Option(
        f"--{flag.name}",
        metavar=flag.metavar,
        help=f"{flag.help} [{names}]" if names else flag.help,
        show_default=False,
    )
    return Parameter(
        flag.field,
        Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[str | None, option],
    )


def _command() -> Callable[..., None]:
    def run(**given: str | None) -> None:
        """Watch a cluster, launch nodes for waiting pods, and take nodes away again.

        Needs the CustomResourceDefinitions ('dovetail crds | kubectl apply -f -'). Takes over from
        Karpenter: flags, variables, lease and metrics have its names. A flag wins over its
        variable; a bare switch means true. Several replicas may run; one works, the others wait.

        SIGTERM or SIGINT ends it once what it began is finished; a second one ends it at once.
        Exit code: 0 after a signal, 1 when the lease was lost, 2 for bad settings.

        \b
        Examples:
          dovetail run --kubeconfig ~/.kube/config --provider kwok --kubelets
          dovetail run --batch-idle-duration 500ms --feature-gates NodeOverlay=true
          BATCH_MAX_DURATION=5s LOG_LEVEL=debug dovetail run
        """  # noqa: D301  \b keeps the examples' lines apart in the help
        from dovetail.live import run as run_live
        from dovetail.settings import sources

        flags = {flag.name: said for flag in FLAGS if (said := given[flag.field]) is not None}
        environment = dict(os.environ)
        raise typer.Exit(run_live(sources.read(flags, environment), environment))

    flags = Signature([_option(flag) for flag in FLAGS], return_annotation=None)
    run.__signature__ = flags  # type: ignore[attr-defined]  # the flags are a table, and typer reads this
    return run


run = _command()
