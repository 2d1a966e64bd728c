"""dovetail install: prints the manifests by which Dovetail runs in a cluster."""

from __future__ import annotations

import re
from typing import Annotated, Final

import msgspec
import typer

from dovetail.cli.output import emit
from dovetail.errors import InputError

_NAMESPACE: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_WORD: Final = re.compile(r"\S+")

DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Print the manifests. Required: kubectl applies them."),
]
Namespace = Annotated[
    str, typer.Option("-n", "--namespace", metavar="NAME", help="Namespace of the controller.")
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
    int,
    typer.Option(
        "--replicas", metavar="N", min=0, help="Number of controller replicas; one holds the lease."
    ),
]
Provider = Annotated[
    str, typer.Option("--provider", metavar="NAME", help="Cloud provider that launches the nodes.")
]
Kubelets = Annotated[bool, typer.Option("--kubelets", help="Simulate the kubelets of kwok nodes.")]
Shadow = Annotated[
    bool,
    typer.Option(
        "--shadow",
        help="For a dry run beside another autoscaler: one replica that may only read, and says "
        "what it would do.",
    ),
]


def install(  # noqa: PLR0913  each is a flag
    *,
    dry_run: DryRun = False,
    namespace: Namespace = "dovetail",
    image: Image = "",
    replicas: Replicas = 2,
    provider: Provider = "kwok",
    kubelets: Kubelets = False,
    shadow: Shadow = False,
) -> None:
    """Print everything that an installation needs as one YAML stream: namespace, custom resource
    definitions, rights, and the controller. The same as the Helm charts make.

    With --shadow only what a dry run needs, which changes nothing: no definitions, and rights to
    read.

    \b
    Examples:
      dovetail install --dry-run | kubectl apply --server-side -f -
      dovetail install --dry-run --shadow | kubectl apply --server-side -f -
    """  # noqa: D301  \b keeps the examples' lines apart in the help
    if not dry_run:
        msg = (
            "install: expected --dry-run: it prints manifests, and kubectl applies them:\n"
            "  dovetail install --dry-run | kubectl apply --server-side -f -"
        )
        raise InputError(msg)
    _expect(_NAMESPACE, "--namespace", namespace, "the name of a namespace, such as dovetail")
    _expect(_WORD, "--provider", provider, "the name of a provider, such as kwok")
    _expect(_WORD, "--image", image or "dovetail", "an image, such as dovetail:0.1.0")
    if shadow and kubelets:
        msg = "--kubelets: expected without --shadow: a shadow only reads"
        raise InputError(msg)
    from dovetail.api.crds import stream
    from dovetail.cloud.plugin import ProviderPlugin
    from dovetail.cloud.registry import load
    from dovetail.present.installation import manifests
    from dovetail.present.installation.choices import Choices

    plugin: ProviderPlugin[None, msgspec.Struct] = load(provider)
    version = _version()
    choices = Choices(
        version=version,
        image=image or f"dovetail:{version}",
        namespace=namespace,
        replicas=min(replicas, 1) if shadow else replicas,
        provider=provider,
        extensions=(plugin.extension,),
        access=plugin.access,
        kubelets=kubelets,
        is_shadow=shadow,
    )
    emit(stream(manifests(choices)))


def _expect(shape: re.Pattern[str], flag: str, given: str, expected: str) -> None:
    if not shape.fullmatch(given):
        msg = f"{flag}: expected {expected}, not {given!r}"
        raise InputError(msg)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dovetail")
    except PackageNotFoundError:
        return "latest"  # run from its source: whatever was built last
