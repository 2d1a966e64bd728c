"""dovetail run: the controller, against a cluster, until it is told to stop.

Its flags are the table of `settings/flags.py`, and that of the provider that runs. They reach this
command as text: what they mean, and what holds when a variable says otherwise, is read in
`settings/sources.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from inspect import Parameter, Signature
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer
from typer.core import TyperCommand
from typer.main import get_command

from dovetail.errors import InputError
from dovetail.settings.flags import TABLE
from dovetail.settings.operator import DEFAULT_PROVIDER
from dovetail.settings.table import Flag, NoSettings, SettingsTable

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter
    from typer._click import Parameter as ClickParameter

_TRUTHS: Final = frozenset({"true", "false"})
_PROVIDER: Final = next(flag for flag in TABLE.flags if flag.name == "provider")
_NO_TABLE: Final = SettingsTable(NoSettings())


class RunCommand(TyperCommand):
    """A command whose switches may stand alone, whose help has its flags in groups, and which has
    the flags of the provider that is chosen.
    """

    _theirs: SettingsTable = _NO_TABLE

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """`--kubelets` means `--kubelets=true`, as for Go's flags."""
        provider = chosen_provider(args, os.environ)
        self._theirs = _table_of(provider)
        _refuse_flags_of_others(provider, self._theirs, args)
        switches = (*TABLE.flags, *self._theirs.flags)
        return super().parse_args(ctx, list(spelled_out(args, switches)))

    def get_params(self, ctx: Context) -> list[ClickParameter]:
        """The flags of the controller, then those of the provider, then help."""
        ours = super().get_params(ctx)
        return [*self.params, *_params(self._theirs), *ours[len(self.params) :]]

    def invoke(self, ctx: Context) -> None:
        """Run with all flags: typer knows only those that the function declares."""
        ctx.invoke(run, **ctx.params)

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Flags under the headings of their groups."""
        flags = (*TABLE.flags, *self._theirs.flags)
        panels = {_parameter_name(flag): flag.panel for flag in flags}
        for panel, members in groupby(
            self.get_params(ctx), lambda parameter: panels.get(parameter.name or "")
        ):
            records = [record for item in members if (record := item.get_help_record(ctx))]
            with formatter.section(panel or "Help"):
                formatter.write_dl(records)


def chosen_provider(args: Sequence[str], environment: Mapping[str, str]) -> str:
    """The provider that flags or environment name, read before all other flags."""
    flag = f"--{_PROVIDER.name}"
    chosen = environment.get(_PROVIDER.environment) or DEFAULT_PROVIDER
    for at, word in enumerate(args):
        if word == "--":
            break
        if word.startswith(f"{flag}="):
            chosen = word.partition("=")[2]
        elif word == flag and at + 1 < len(args):
            chosen = args[at + 1]
    return chosen


def _table_of(provider: str) -> SettingsTable:
    """The flags of a provider. Raises InputError where it is not installed."""
    from dovetail.cloud.plugin import ProviderPlugin
    from dovetail.cloud.registry import load

    plugin: ProviderPlugin[None, msgspec.Struct] = load(provider)
    return plugin.settings


def _refuse_flags_of_others(provider: str, theirs: SettingsTable, args: Sequence[str]) -> None:
    """Raises InputError for a flag that only another provider has."""
    from dovetail.cloud.registry import InstalledPlugins, load_plugins

    known = {flag.name for flag in (*TABLE.flags, *theirs.flags)}
    given = {word[2:].partition("=")[0] for word in args if word.startswith("--")} - known
    if not given:
        return
    others: InstalledPlugins[None] = load_plugins()
    for other in others.plugins:
        for flag in other.settings.flags:
            if other.name != provider and flag.name in given:
                msg = (
                    f"--{flag.name} is a flag of provider {other.name!r}, and --provider is "
                    f"{provider!r}; expected --provider {other.name}, or none of its flags"
                )
                raise InputError(msg)


def spelled_out(words: Sequence[str], flags: Iterable[Flag] = TABLE.flags) -> Iterator[str]:
    """The same words, where every switch has its value."""
    switches = {f"--{flag.name}" for flag in flags if flag.is_switch}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            yield from (word, *rest)
            return
        if word in switches:
            value = rest.pop(0) if rest and rest[0] in _TRUTHS else "true"
            yield f"{word}={value}"
        else:
            yield word


def _parameter_name(flag: Flag) -> str:
    return flag.name.replace("-", "_")


def _option(flag: Flag, default: str) -> Parameter:
    names = ", ".join(filter(None, (flag.environment and f"env: {flag.environment}",
                                    default and f"default: {default}")))  # fmt: skip
    option: object = typer.Option(
        f"--{flag.name}",
        metavar=flag.metavar,
        help=f"{flag.help} [{names}]" if names else flag.help,
        show_default=False,
    )
    return Parameter(
        _parameter_name(flag),
        Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[str | None, option],
    )


def _signature(table: SettingsTable) -> Signature:
    options = [_option(flag, table.default(flag)) for flag in table.flags]
    return Signature(options, return_annotation=None)


def _params(table: SettingsTable) -> Iterator[ClickParameter]:
    """The flags of a provider, as typer would make them of a function's parameters."""

    def with_flags(**_given: str | None) -> None:
        """A function with these flags."""

    with_flags.__signature__ = _signature(table)  # type: ignore[attr-defined]  # the flags are a table, and typer reads this
    app = typer.Typer(add_completion=False)
    app.command()(with_flags)
    yield from get_command(app).params


def _command() -> Callable[..., None]:
    def run(**given: str | None) -> None:
        """Watch a cluster, launch nodes for waiting pods, and take nodes away again.

        Needs the CustomResourceDefinitions ('dovetail crds | kubectl apply -f -'). Takes over from
        Karpenter: flags, variables, lease and metrics have its names. A flag wins over its
        variable; a bare switch means true. Several replicas may run; one works, the others wait.
        Each provider has flags of its own: 'dovetail run --provider NAME --help' shows them.

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

        flags = {name.replace("_", "-"): text for name, text in given.items() if text is not None}
        environment = dict(os.environ)
        settings = sources.read(flags, environment)
        theirs = sources.read_table(_table_of(settings.provider), flags, environment)
        raise typer.Exit(run_live(settings, environment, theirs))

    run.__signature__ = _signature(TABLE)  # type: ignore[attr-defined]  # the flags are a table, and typer reads this
    return run


run = _command()
