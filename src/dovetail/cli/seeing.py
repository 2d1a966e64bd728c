"""Chooses the cluster to show: that of the manifests if there are any, else the live one."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import msgspec
import typer

from dovetail.cli import options
from dovetail.cli.output import Progress, say

if TYPE_CHECKING:
    from dovetail.app import Seen
    from dovetail.live.following import Whose


class ClusterSource(msgspec.Struct, frozen=True):
    """Where to look, as the flags say it."""

    files: tuple[str, ...] = ()
    catalog: str = ""
    now: str = ""
    kubeconfig: str = ""
    context: str = ""

    @property
    def is_live(self) -> bool:
        """Whether a cluster is asked, and not files."""
        return not self.files

    def check(self) -> ClusterSource:
        """The same, unless its flags contradict each other."""
        if self.is_live and self.now:
            msg = "expected -f PATH with it: a live cluster is shown as it is now"
            raise typer.BadParameter(msg, param_hint="--now")
        if not self.is_live and (self.kubeconfig or self.context):
            msg = "expected either a cluster or -f PATH, not both"
            raise typer.BadParameter(msg, param_hint="--kubeconfig, --context")
        return self


def live_cluster(source: ClusterSource) -> Whose:
    """The live cluster that is meant."""
    from dovetail.live.following import Whose

    return Whose(dict(os.environ), source.kubeconfig, source.context, source.catalog)


def see(source: ClusterSource) -> Seen:
    """The cluster as it is at one moment; remarks are said. Raises InputError."""
    from dovetail import app

    with Progress() as progress:
        if source.is_live:
            progress.tell("reading the cluster")
            result = read_live(live_cluster(source))
        else:
            progress.tell("reading manifests")
            request = app.PlanRequest(
                sources=source.files, catalogue=source.catalog, now=options.instant(source.now)
            )
            result = app.seen_from(request, stdin=sys.stdin.buffer)
    for remark in result.remarks:
        say(remark)
    return result


def read_live(cluster: Whose) -> Seen:
    """A live cluster as it is now. Raises InputError."""
    from dovetail import app
    from dovetail.live.following import sight

    sighting = sight(cluster)
    unseen = ", ".join(sighting.hidden)
    remarks = (f"Not allowed to read {unseen}: treated as empty.",) if unseen else ()
    return app.Seen(sighting.snapshot, sighting.now, app.price_notes(sighting.catalogues), remarks)
