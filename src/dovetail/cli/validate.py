"""dovetail validate: prints what is wrong with these manifests."""

from __future__ import annotations

import sys

import typer

from dovetail.cli import options
from dovetail.cli.output import Progress, emit, say

BAD_INPUT = 2


def validate(
    *,
    files: options.Files = [],  # noqa: B006  typer copies it, and wants a list
    more: options.MorePaths = None,
) -> None:
    """Check manifests and report every problem: file, document, field, and what was expected.

    Exits with 2 if there is any problem.

    \b
    Examples:
      dovetail validate -f manifests/
      dovetail validate -f pools.yaml -f pods.yaml
      kubectl get nodepools -o yaml | dovetail validate -f -
    """  # noqa: D301  \b keeps the examples' lines apart in the help
    from dovetail import app
    from dovetail.present.table import plural

    paths = options.sources(files, more)
    with Progress() as progress:
        progress.tell("reading manifests")
        checked = app.problems_of(paths, stdin=sys.stdin.buffer)
    for remark in checked.remarks:
        say(remark)
    for problem in checked.problems:
        say(f"error: {problem}")
    if checked.problems:
        say(f"{plural(len(checked.problems), 'problem')} found.")
        raise typer.Exit(BAD_INPUT)
    n_objects = checked.n_objects
    emit(f"{plural(n_objects, 'object')} {'is' if n_objects == 1 else 'are'} fine.\n")
