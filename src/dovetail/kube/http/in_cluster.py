"""Reads the service account that kubelet mounts into a pod."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dovetail.errors import InputError
from dovetail.kube.http.credentials import Material, StoredIdentity
from dovetail.kube.http.plugin import Access
from dovetail.kube.http.tls import Trust

MOUNT: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_HOST: Final = "KUBERNETES_SERVICE_HOST"
_PORT: Final = "KUBERNETES_SERVICE_PORT"


def is_in_cluster(environment: Mapping[str, str], mount: str = MOUNT) -> bool:
    """Whether this process runs in a pod with a service account."""
    return bool(environment.get(_HOST)) and (Path(mount) / "token").exists()


def access(environment: Mapping[str, str], mount: str = MOUNT) -> Access:
    """The pod's own cluster. Raises InputError."""
    host, port = environment.get(_HOST, ""), environment.get(_PORT, "443")
    if not host:
        msg = f"{_HOST} is not set; expected to run in a pod, or a kubeconfig"
        raise InputError(msg)
    origin = f"service account in {mount}"
    authority = Material(path=f"{mount}/ca.crt", field=f"{origin}: ca.crt").read()
    return Access(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        trust=Trust(authority=authority, origin=origin),
        identity=StoredIdentity(Material(path=f"{mount}/token", field=f"{origin}: token")),
        namespace=namespace(mount),
        origin=origin,
    )


def namespace(mount: str = MOUNT) -> str:
    """The namespace of the pod; outside of one `default`."""
    try:
        return (Path(mount) / "namespace").read_text(encoding="utf-8").strip() or "default"
    except (OSError, UnicodeDecodeError):
        return "default"
