"""Every law is tested on every server."""

from __future__ import annotations

import zlib

import pytest

from tests.conformance.kube.servers import MemoryServer, Names, Server

SERVERS = {"memory": MemoryServer}


@pytest.fixture(params=sorted(SERVERS))
def server(request: pytest.FixtureRequest) -> Server:
    """A server to talk to."""
    return SERVERS[request.param]()


@pytest.fixture
def names(request: pytest.FixtureRequest) -> Names:
    """Names of this law's own."""
    return Names(f"law-{zlib.crc32(request.node.name.encode()):08x}")
