"""dovetail install: what must a cluster hold for Dovetail to run in it?"""

from __future__ import annotations

import re
from typing import Annotated, Final

import typer

from dovetail.cli.output import emit

_NAMESPACE: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")

DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Print the manifests. Required: applying them is kubectl's."),
]
Namespace = Annotated[
    str, typer.Option("-n", "--namespace", metavar="NAME", help="Where the controller runs.")
]
Image = Annotated[
    str,
    typer.Option(
        "--image",
        metavar="IMAGE",
        help="The image that you built from the Dockerfile. Default: dovetail, tagged with the "
        "version.",
        show_default=False,
    ),
]
Replicas = Annotated[
    int, typer.Option("--replicas", metavar="N", min=0, help="How many controllers; one leads.")
]
Provider = Annotated[
    str, typer.Option("--provider", metavar="NAME", help="Which cloud launches the nodes.")
]
Kubelets = Annotated[
    bool, typer.Option("--kubelets", help="Let stand-ins act as kubelets of kwok nodes.")
]


def install(
    *,
    dry_run: DryRun = False,
    namespace: Namespace = "dovetail",
    image: Image = "",
    replicas: Replicas = 2,
    provider: Provider = "kwok",
    kubelets: Kubelets = False,
) -> None:
    """Print everything that an installation needs as one YAML stream: namespace, custom resource
    definitions, rights, and the controller. The same as the Helm charts make.

    \b
    Example:
      dovetail install --dry-run | kubectl apply --server-side -f -
    """  # noqa: D301  \b keeps the example's line apart in the help
    if not dry_run:
        msg = (
            "expected --dry-run: manifests are printed, and applying them is left to kubectl:\n"
            "  dovetail install --dry-run | kubectl apply --server-side -f -"
        )
        raise typer.BadParameter(msg, param_hint="install")
    if not _NAMESPACE.fullmatch(namespace):
        msg = f"expected the name of a namespace, such as dovetail, not {namespace!r}"
        raise typer.BadParameter(msg, param_hint="--namespace")
    from dovetail import app

    emit(
        app.installation_text(
            namespace=namespace,
            image=image,
            replicas=replicas,
            provider=provider,
            kubelets=kubelets,
        )
    )
