"""dovetail demo: a cluster with a workload, the controller and the page, all in one process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.output import emit, say

if TYPE_CHECKING:
    from dovetail.live.demo import Announced

Port = Annotated[
    int,
    typer.Option(
        "--port", metavar="N", min=0, max=65535, help="Port of the page; 0 takes any free port."
    ),
]
NoBrowser = Annotated[
    bool, typer.Option("--no-browser", help="Print the address of the page; do not open a browser.")
]
Speed = Annotated[
    float,
    typer.Option(
        "--speed",
        metavar="N",
        min=0.0,
        max=2000.0,
        help="Cluster seconds per real second; 480 is a day in three minutes.",
    ),
]
ManifestsDirectory = Annotated[
    str,
    typer.Option(
        "--manifests",
        metavar="DIR",
        help="Start with the manifests of this directory instead of the demo workload.",
        show_default=False,
    ),
]


def demo(
    *,
    port: Port = 8642,
    no_browser: NoBrowser = False,
    speed: Speed = 480.0,
    manifests: ManifestsDirectory = "",
) -> None:
    """Run a cluster in this process: watch it in the browser, and try kubectl on it.

    The API, kube-scheduler, kubelets and workload controllers are stand-ins; the controller is the
    real one. Nothing is bought, and no Kubernetes is needed. A shop follows the day, reports run at
    night, a job asks for GPUs, spot machines are taken back, and a zone runs short.

    Prints where the page is and where a kubeconfig is, and runs until interrupted.

    \b
    Examples:
      dovetail demo
      dovetail demo --port 0 --no-browser --speed 60
      dovetail demo --manifests my-cluster/
      kubectl --kubeconfig PATH get nodes -L karpenter.sh/capacity-type
    """  # noqa: D301  \b keeps the examples' lines apart in the help
    from dovetail.live.demo import DemoSettings, run_demo

    def announce(up: Announced) -> None:
        emit(f"dashboard {up.dashboard}\nkubeconfig {up.kubeconfig}\n")
        if not no_browser:
            _open(up.dashboard)

    run_demo(DemoSettings(port, speed, manifests), announce=announce, say=say)


def _open(address: str) -> None:
    """Show the page, if there is anything to show it with."""
    import webbrowser

    if not webbrowser.open(address):
        say("no browser was found: open the address above")
