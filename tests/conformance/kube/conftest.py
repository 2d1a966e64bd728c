"""Every law is tested on every server."""

from __future__ import annotations

import zlib

import pytest

from tests.conformance.kube.real import RealServer
from tests.conformance.kube.servers import MemoryServer, Names, Server
from tests.controlplane.plane import ControlPlane

REAL = pytest.param("real", marks=pytest.mark.xdist_group("controlplane"))


@pytest.fixture(params=["memory", REAL])
def server(request: pytest.FixtureRequest) -> Server:
    """A server to talk to."""
    if request.param == "memory":
        return MemoryServer()
    plane: ControlPlane = request.getfixturevalue("plane")
    return RealServer(plane)


@pytest.fixture
def names(request: pytest.FixtureRequest) -> Names:
    """Names of this law's own."""
    return Names(f"law-{zlib.crc32(request.node.name.encode()):08x}")
