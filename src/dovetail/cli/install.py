"""dovetail install: prints the manifests by which Dovetail runs in a cluster."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from dovetail.cli.output import emit
from dovetail.errors import InputError

if TYPE_CHECKING:
    from dovetail.cloud.prerequisites import CloudTemplates
    from dovetail.settings.table import SettingsTable

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
Values = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of the provider by the name of its flag, such as cluster-name=prod; with "
        "--cloud, a parameter of the template. May be repeated.",
        default_factory=list,
        show_default=False,
    ),
]
Cloud = Annotated[
    str,
    typer.Option(
        "--cloud",
        metavar="FORMAT",
        help="Print what the provider needs in its cloud instead, in one of its formats.",
        show_default=False,
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
    values: Values,
    cloud: Cloud = "",
) -> None:
    """Print everything that an installation needs as one YAML stream: namespace, custom resource
    definitions, rights, and the controller. The same as the Helm charts make.

    With --shadow only what a dry run needs, which changes nothing: no definitions, and rights to
    read. With --cloud what must be there in the cloud first: roles, policies and queues.

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
    if cloud:
        emit(_template(plugin.prerequisites, cloud, _pairs(values), namespace))
        return
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
        environment=_environment(plugin.settings, _pairs(values)),
    )
    emit(stream(manifests(choices)))


def _expect(shape: re.Pattern[str], flag: str, given: str, expected: str) -> None:
    if not shape.fullmatch(given):
        msg = f"{flag}: expected {expected}, not {given!r}"
        raise InputError(msg)


def _pairs(values: list[str]) -> dict[str, str]:
    malformed = [given for given in values if not given.partition("=")[0] or "=" not in given]
    if malformed:
        msg = f"--set: expected NAME=VALUE, such as cluster-name=prod, not {malformed[0]!r}"
        raise InputError(msg)
    return {name: value for name, _, value in (given.partition("=") for given in values)}


def _environment(table: SettingsTable, values: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """The settings of the provider as variables. Raises InputError for what it does not have."""
    from dovetail.settings.sources import read_table

    variables = {flag.name: flag.environment for flag in table.flags if flag.environment}
    _refuse_unknown(values, variables)
    read_table(table, values, {})
    return tuple((variables[name], value) for name, value in values.items())


def _template(
    templates: CloudTemplates, template_format: str, values: dict[str, str], namespace: str
) -> str:
    """What the provider needs in its cloud. Raises InputError."""
    from dovetail.cloud.prerequisites import TemplateRequest
    from dovetail.present.installation.choices import NAME

    if template_format in templates.formats:
        _refuse_unknown(values, [parameter.name for parameter in templates.parameters])
    elif templates.formats:
        formats = ", ".join(templates.formats)
        msg = f"--cloud: expected one of {formats}, not {template_format!r}"
        raise InputError(msg)
    request = TemplateRequest(
        format=template_format, values=values, namespace=namespace, service_account=NAME
    )
    return templates.render(request)


def _refuse_unknown(values: Iterable[str], names: Iterable[str]) -> None:
    known = sorted(names)
    for name in values:
        if name not in known:
            msg = f"--set {name}: expected one of {', '.join(known) or 'none: there are none'}"
            raise InputError(msg)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dovetail")
    except PackageNotFoundError:
        return "latest"  # run from its source: whatever was built last
