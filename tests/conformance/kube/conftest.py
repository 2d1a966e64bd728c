"""Every law is tested on every server."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import pytest

from tests.conformance.kube.real import HttpServer, control_plane
from tests.conformance.kube.served import ServedServer
from tests.conformance.kube.servers import MemoryServer, Names, Server
from tests.controlplane.plane import ControlPlane


@pytest.fixture(scope="session")
def real_plane() -> Iterator[ControlPlane]:
    """One real API server for all laws of a run."""
    with control_plane() as plane:
        yield plane


@pytest.fixture(
    params=[
        pytest.param("memory", id="memory"),
        pytest.param("served", id="served"),
        pytest.param("http", id="http", marks=pytest.mark.xdist_group("conformance-http")),
    ]
)
def server(request: pytest.FixtureRequest) -> Server:
    """A server to talk to."""
    if request.param == "memory":
        return MemoryServer()
    if request.param == "served":
        return ServedServer()
    return HttpServer(request.getfixturevalue("real_plane"))


@pytest.fixture
def names(request: pytest.FixtureRequest) -> Names:
    """Names of this law's own."""
    return Names(f"law-{zlib.crc32(request.node.name.encode()):08x}")
