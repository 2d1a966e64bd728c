"""A cluster is read once, all of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dovetail import api
from dovetail.apiserver import MemoryKube
from dovetail.apiserver.http.server import serve
from dovetail.cli import main
from dovetail.clock import LoopTimer, SystemClock
from dovetail.errors import InputError
from dovetail.kube.errors import ForbiddenError, NotFoundError
from dovetail.kube.listing import cluster
from dovetail.kube.seam import Json
from dovetail.testing.troubled_kube import ApiCall, Trouble, TroubledKube
from tests.conformance.kube.objects import NODE, POD, named


async def furnished() -> MemoryKube:
    """A node and two pods."""
    kube = MemoryKube(SystemClock())
    await kube.create(NODE, {**named("n1"), "spec": {}})
    for name in ("a", "b"):
        container: Json = {"name": "main", "image": "registry.example/main:1"}
        await kube.create(POD, {**named(name), "spec": {"containers": [container]}}, "default")
    return kube


async def test_every_object_that_matters_is_there() -> None:
    """By kind and name, with nothing to tell."""
    found = await cluster(await furnished(), "here", pytest.fail)
    names = {(one.kind.name, one.object.metadata.name) for one in found.manifests}
    assert {("Node", "n1"), ("Pod", "a"), ("Pod", "b")} <= names


async def test_kinds_that_nobody_installed_are_passed_over() -> None:
    """As for one without NodeOverlays."""

    def refuse(call: ApiCall) -> Trouble | None:
        is_ours = call.kind in {"NodeOverlay", "EC2NodeClass"}
        return Trouble(NotFoundError(404, "NotFound", "no such kind")) if is_ours else None

    found = await cluster(TroubledKube(await furnished(), refuse), "here", pytest.fail)
    assert [one for one in found.manifests if isinstance(one.object, api.Node)]


async def test_what_one_may_not_read_is_told_with_the_kind() -> None:
    """Half a cluster would be the wrong answer."""

    def refuse(call: ApiCall) -> Trouble | None:
        is_pod = call.kind == "Pod"
        return Trouble(ForbiddenError(403, "Forbidden", "not for you")) if is_pod else None

    with pytest.raises(InputError, match="here: listing pods: not for you"):
        await cluster(TroubledKube(await furnished(), refuse), "here", pytest.fail)


async def test_explain_answers_from_a_live_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it is now, without a file."""
    kube = await furnished()
    async with serve(kube, clock=SystemClock(), timer=LoopTimer()) as served:
        config = tmp_path / "kubeconfig"
        config.write_text(served.kubeconfig())
        words = ["explain", "node/n1", "--kubeconfig", str(config)]
        assert await asyncio.to_thread(main, words) == 0
    assert "It has no NodeClaim, so Dovetail does not manage it." in capsys.readouterr().out
