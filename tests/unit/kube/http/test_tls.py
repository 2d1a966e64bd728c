"""A real TLS listener that asks for a client certificate."""

from __future__ import annotations

import ssl

import msgspec
import pytest
from aiohttp import web

from dovetail.errors import InputError
from dovetail.kube import errors
from dovetail.kube.http.credentials import Identity, Material, StoredIdentity
from dovetail.kube.http.plugin import Access
from dovetail.kube.http.tls import Contexts, Trust
from dovetail.kube.seam import Ref
from tests.unit.kube.http.servers import CERTIFICATES, NODES, client, served

AUTHORITY = (CERTIFICATES / "authority.crt").read_bytes()
PAIR = StoredIdentity(
    certificate=Material(data=(CERTIFICATES / "client.crt").read_bytes()),
    key=Material(path=str(CERTIFICATES / "client.key")),
)
NODE = Ref(NODES, "n1")


def listener() -> ssl.SSLContext:
    """TLS that lets in only those whom the authority knows."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "server.crt", CERTIFICATES / "server.key")
    context.load_verify_locations(CERTIFICATES / "authority.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    return context


async def name_of_peer(request: web.Request) -> web.Response:
    """Who the server thinks asks, and under which name it was addressed."""
    peer = request.transport.get_extra_info("peercert") if request.transport else None
    names = dict(pair for part in peer["subject"] for pair in part) if peer else {}
    return web.json_response({"metadata": {"name": names.get("commonName", "")}})


async def asked(access: Access) -> str:
    """Whom the server took us for."""
    async with client(access) as kube:
        found = msgspec.json.decode(await kube.get(NODE))
    return str(found["metadata"]["name"])


async def test_a_client_certificate_proves_who_we_are() -> None:
    """From data or file."""
    async with served(name_of_peer, listener()) as server:
        assert await asked(Access(server, Trust(AUTHORITY), PAIR)) == "client"


async def test_a_server_that_the_authority_does_not_know_is_not_trusted() -> None:
    """And is not asked again and again."""
    async with served(name_of_peer, listener()) as server, client(Access(server)) as kube:
        with pytest.raises(errors.UnavailableError, match="TLS failed"):
            await kube.get(NODE)


async def test_a_server_may_go_by_another_name() -> None:
    """tls-server-name is what its certificate must say."""
    async with served(name_of_peer, listener()) as server:
        named = Trust(AUTHORITY, server_name="kubernetes.test")
        assert await asked(Access(server, named, PAIR)) == "client"
        with pytest.raises(errors.UnavailableError, match="TLS failed"):
            await asked(Access(server, Trust(AUTHORITY, server_name="other.test"), PAIR))


async def test_verification_can_be_turned_off() -> None:
    """insecure-skip-tls-verify trusts anybody."""
    async with served(name_of_peer, listener()) as server:
        assert await asked(Access(server, Trust(is_verified=False), PAIR)) == "client"


def test_bad_certificates_are_told_with_their_place() -> None:
    """The file and field at fault, not a stack of OpenSSL."""
    with pytest.raises(InputError, match="config: certificate-authority: expected PEM"):
        Contexts(Trust(b"not PEM", origin="config"))
    with pytest.raises(InputError, match="config: client-certificate, client-key: expected a PEM"):
        Contexts(Trust(origin="config")).of(Identity(certificate=b"x", key=b"y"))


def test_a_pair_that_does_not_fit_yet_leaves_the_last_one_in_use() -> None:
    """Certificate and key are replaced one after the other."""
    contexts = Contexts(Trust())
    pair = PAIR.read()
    first = contexts.of(pair)
    assert contexts.of(Identity("", pair.certificate, b"half")) is first
    assert contexts.of(pair) is first
    assert contexts.of(Identity("token")) is not first
