"""dovetail crds: prints the CustomResourceDefinitions."""

from __future__ import annotations

from typing import Annotated

import typer

from dovetail.cli.output import emit

Provider = Annotated[
    str,
    typer.Option(
        "--provider",
        metavar="NAME",
        help="Only what this provider needs. Default: all providers that are installed.",
        show_default=False,
    ),
]


def crds(*, provider: Provider = "") -> None:
    """Print the CustomResourceDefinitions as one YAML stream: ours, and the node classes of the
    providers that are installed.

    \b
    Examples:
      dovetail crds | kubectl apply -f -
      dovetail crds --provider kwok
    """  # noqa: D301  \b keeps the examples' lines apart in the help
    from dovetail import app

    emit(app.crds_text(provider))
