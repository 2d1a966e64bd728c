"""Holds what is needed to reach a server, from a kubeconfig or a service account."""

from __future__ import annotations

import msgspec

from dovetail.kube.http.credentials import StoredIdentity
from dovetail.kube.http.plugin import Plugin
from dovetail.kube.http.tls import Trust


class Access(msgspec.Struct, frozen=True):
    """One server and who we are to it. `origin` says where that is written, for messages."""

    server: str
    trust: Trust = Trust()
    identity: StoredIdentity | Plugin = StoredIdentity()
    proxy: str = ""
    headers: tuple[tuple[str, str], ...] = ()  # whom we act for
    namespace: str = "default"
    origin: str = ""
