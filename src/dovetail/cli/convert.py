"""dovetail convert: converts manifests of older versions of Karpenter's API to v1."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli import options
from dovetail.cli.output import emit, say

if TYPE_CHECKING:
    from dovetail.kube.rewriting.files import ConvertedFile

WOULD_CHANGE = 1
BAD_INPUT = 2

Check = Annotated[
    bool,
    typer.Option(
        "--check",
        help="Write nothing; print which objects would change, and exit with 1 if any would.",
    ),
]
InPlace = Annotated[
    bool, typer.Option("--in-place", "-i", help="Write each file that changes back to where it is.")
]
IgnoreDefaults = Annotated[
    bool,
    typer.Option(
        "--ignore-defaults",
        help="Do not write out the requirements that were defaults of v1alpha5: linux, amd64, "
        "on-demand, and instance categories c, m and r from generation 3.",
    ),
]
Role = Annotated[
    str,
    typer.Option(
        "--role",
        metavar="NAME",
        help="The IAM role of nodes, for node classes that name neither a role nor a profile.",
        show_default=False,
    ),
]
InstanceProfile = Annotated[
    str,
    typer.Option(
        "--instance-profile",
        metavar="NAME",
        help="The instance profile, for node classes that name neither a role nor a profile.",
        show_default=False,
    ),
]


def convert(  # noqa: PLR0913  one argument for each flag
    *,
    files: options.Files = [],  # noqa: B006  typer copies it, and wants a list
    more: options.MorePaths = None,
    check: Check = False,
    in_place: InPlace = False,
    ignore_defaults: IgnoreDefaults = False,
    role: Role = "",
    instance_profile: InstanceProfile = "",
) -> None:
    """Convert Provisioners, AWSNodeTemplates and objects of v1beta1 to v1. Comments, other objects
    and whole files of v1 stay as they are; a warning names each field that has no equal.

    Give manifests that belong together at once: settings of the kubelet move from pools to node
    classes. Exits with 2 if a file or an object cannot be converted; all others still are.

    \b
    Examples:
      dovetail convert -f provisioners.yaml > pools.yaml
      dovetail convert -f manifests/ --check
      dovetail convert -f manifests/ --in-place --role KarpenterNodeRole-web
      kubectl get provisioners,awsnodetemplates -o yaml | dovetail convert -f -
    """  # noqa: D301  \b keeps the examples' lines apart in the help
    from dovetail import app
    from dovetail.api.older.door import ConversionOptions

    paths = options.sources(files, more)
    _check_usage(paths, is_in_place=in_place, has_two=bool(role and instance_profile))
    chosen = ConversionOptions(role, instance_profile, writes_defaults=not ignore_defaults)
    converted = app.converted_from(paths, chosen, stdin=sys.stdin.buffer)
    for message in (
        *(f"warning: {warning}" for warning in converted.warnings),
        *(f"error: {error}" for error in converted.errors),
    ):
        say(message)
    if check:
        emit("".join(f"{line}\n" for file in converted.files for line in _changes(file)))
    elif in_place:
        for file in converted.files:
            _write_back(file)
    else:
        emit(_join([file.text for file in converted.files]))
    code = BAD_INPUT if converted.errors else WOULD_CHANGE if check and converted.changes else 0
    raise typer.Exit(code)


def _check_usage(paths: Sequence[str], *, is_in_place: bool, has_two: bool) -> None:
    if has_two:
        msg = "expected --role or --instance-profile, not both"
        raise typer.BadParameter(msg, param_hint="--role")
    if is_in_place and "-" in paths:
        msg = "standard input cannot be written back; expected files"
        raise typer.BadParameter(msg, param_hint="--in-place")


def _changes(file: ConvertedFile) -> list[str]:
    return [
        f"{change.origin}: {change.before} -> {', '.join(change.after)}" for change in file.changes
    ]


def _write_back(file: ConvertedFile) -> None:
    if not file.changes or file.path is None:
        return
    target = Path(os.path.realpath(file.path))
    temporary = target.with_name(f".{target.name}.converted")
    try:
        temporary.write_text(file.text, encoding="utf-8", newline="")
        temporary.chmod(target.stat().st_mode & 0o7777)
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        say(f"error: {file.name}: cannot be written: {error.strerror}")
        raise typer.Exit(BAD_INPUT) from None
    for line in _changes(file):
        emit(f"{line}\n")


def _join(texts: list[str]) -> str:
    """One stream; a single text stays as it is, to the byte."""
    joined = ""
    for text in texts:
        if joined and not joined.endswith("\n"):
            joined += "\n"
        joined += text if not joined or text.startswith("---") else f"---\n{text}"
    return joined
