"""Makes TLS contexts, one for each identity.

Strict X.509 checks stay off: authorities that clusters made for themselves often lack the
extensions that those ask for.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from dovetail.errors import InputError
from dovetail.kube.http.credentials import Identity


class Trust(msgspec.Struct, frozen=True, gc=False):
    """How the server proves itself: no authority means those of the machine."""

    authority: bytes = b""
    server_name: str = ""
    is_verified: bool = True
    origin: str = ""


class Contexts:
    """The TLS context of the identity in use."""

    def __init__(self, trust: Trust) -> None:
        self._trust = trust
        self._shown: tuple[bytes, bytes] | None = None
        self._context = _context(trust)

    def of(self, identity: Identity) -> ssl.SSLContext:
        """The context that shows this identity. Raises InputError if its certificate is bad.

        While certificate and key do not fit together, the last pair that did is shown: somebody
        replaces two files one after the other.
        """
        shown = (identity.certificate, identity.key)
        if self._shown == shown:
            return self._context
        context = _context(self._trust)
        try:
            if identity.certificate:
                _show(context, identity, self._trust.origin)
        except InputError:
            if self._shown is None:
                raise
            return self._context
        self._context, self._shown = context, shown
        return context


def _context(trust: Trust) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not trust.is_verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    if not trust.authority:
        context.load_default_certs()
        return context
    try:
        context.load_verify_locations(cadata=trust.authority.decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        msg = f"{trust.origin}: certificate-authority: expected PEM certificates: {error}"
        raise InputError(msg) from None
    return context


def _show(context: ssl.SSLContext, identity: Identity, origin: str) -> None:
    try:
        with _as_file(identity.certificate + b"\n" + identity.key) as path:
            context.load_cert_chain(path)
    except (ssl.SSLError, ValueError) as error:
        msg = f"{origin}: client-certificate, client-key: expected a PEM pair: {error}"
        raise InputError(msg) from None


@contextmanager
def _as_file(secret: bytes) -> Iterator[str]:
    """A path to read the secret from: OpenSSL takes it no other way. It stays in memory if it can.

    The program may run on a read-only root, where not even a temporary file can be written.
    """
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("identity", os.MFD_CLOEXEC)
        try:
            os.write(descriptor, secret)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
        return
    with tempfile.NamedTemporaryFile() as file:
        file.write(secret)
        file.flush()
        yield file.name
