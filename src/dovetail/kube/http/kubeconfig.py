"""Reads one context of the kubeconfig, and validates it.

Looked for in this order: the file that was asked for, the files of KUBECONFIG, the service account
of the pod we run in, ~/.kube/config. The proxy for its server is the kubeconfig's or the
environment's.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterator, Mapping
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote, urlsplit

import msgspec

from dovetail.errors import InputError
from dovetail.kube.http import in_cluster, kubeconfig_files
from dovetail.kube.http.credentials import Material, StoredIdentity, is_header_value
from dovetail.kube.http.kubeconfig_files import (
    Kubeconfig,
    KubeconfigCluster,
    KubeconfigContext,
    KubeconfigEntry,
    User,
)
from dovetail.kube.http.plugin import VERSIONS, Access, Plugin
from dovetail.kube.http.tls import Trust
from dovetail.kube.seam import Body, Json

T = TypeVar("T")

_KUBECONFIG: Final = "KUBECONFIG"
_PLUGIN_EXTENSION: Final = "client.authentication.k8s.io/exec"
_MODES: Final = ("", "Never", "IfAvailable")


def load(environment: Mapping[str, str], *, path: str = "", context: str = "") -> Access:
    """How to reach the cluster. Raises InputError."""
    if path:
        return _choose(kubeconfig_files.read((path,)), context, environment)
    listed = tuple(part for part in environment.get(_KUBECONFIG, "").split(os.pathsep) if part)
    if listed:
        kubeconfig = kubeconfig_files.read(listed, may_lack=True)
        if kubeconfig is None:
            msg = f"{_KUBECONFIG}: expected a kubeconfig at {' or '.join(listed)}: none is there"
            raise InputError(msg)
        return _choose(kubeconfig, context, environment)
    if in_cluster.is_in_cluster(environment):
        found_inside = in_cluster.access(environment)
        proxy = from_environment(found_inside.server, environment)
        return msgspec.structs.replace(found_inside, proxy=proxy)
    home = str(Path(environment.get("HOME", "~")).expanduser() / ".kube" / "config")
    return _choose(kubeconfig_files.read((home,), may_lack=True), context, environment)


def _choose(kubeconfig: Kubeconfig | None, asked: str, environment: Mapping[str, str]) -> Access:
    if kubeconfig is None:
        msg = f"no cluster is named; expected --kubeconfig, {_KUBECONFIG} or ~/.kube/config"
        raise InputError(msg)
    files = ", ".join(kubeconfig.files)
    name = asked or kubeconfig.current_context
    if not name:
        msg = f"{files}: current-context: expected the name of a context"
        raise InputError(msg)
    context = _find_entry(
        kubeconfig.contexts, name, f"{files}: {'context' if asked else 'current-context'}"
    )
    cluster = _find_entry(kubeconfig.clusters, context.value.cluster, context.at("cluster"))
    user = KubeconfigEntry(User(), context.file, context.field)
    if context.value.user:
        user = _find_entry(kubeconfig.users, context.value.user, context.at("user"))
    return _access(context, cluster, user, environment)


def _find_entry(
    entries: Mapping[str, KubeconfigEntry[T]], name: str, field: str
) -> KubeconfigEntry[T]:
    entry = entries.get(name)
    if entry is None:
        known = ", ".join(sorted(entries)) or "any"
        msg = f"{field}: {name!r} is not there; expected one of: {known}"
        raise InputError(msg)
    return entry


def _access(
    context: KubeconfigEntry[KubeconfigContext],
    cluster: KubeconfigEntry[KubeconfigCluster],
    user: KubeconfigEntry[User],
    environment: Mapping[str, str],
) -> Access:
    server = cluster.value.server
    if not is_address(server):
        msg = f"{cluster.at('server')}: expected a URL such as https://host:6443, not {server!r}"
        raise InputError(msg)
    proxy = check_proxy(cluster.value.proxy_url, cluster.at("proxy-url"))
    trust = _trust(cluster)
    return Access(
        server=server.rstrip("/"),
        trust=trust,
        identity=_identity(user, cluster, trust),
        proxy=proxy or from_environment(server, environment),
        headers=_impersonation(user),
        namespace=context.value.namespace or "default",
        origin=f"{context.file}: {context.field}",
    )


def _trust(cluster: KubeconfigEntry[KubeconfigCluster]) -> Trust:
    value = cluster.value
    authority = _material(
        cluster, "certificate-authority", value.certificate_authority_data,
        value.certificate_authority,
    )  # fmt: skip
    if value.insecure_skip_tls_verify and authority.is_given:
        field = cluster.at("insecure-skip-tls-verify")
        msg = f"{field}: expected either this or a certificate authority, not both"
        raise InputError(msg)
    return Trust(
        authority=authority.read(),
        server_name=value.tls_server_name,
        is_verified=not value.insecure_skip_tls_verify,
        origin=f"{cluster.file}: {cluster.field}",
    )


def _material(entry: KubeconfigEntry[T], name: str, data: str, path: str) -> Material:
    """Of the two ways to write it, inline data comes first, as for kubectl."""
    if not data:
        return Material(path=entry.path(path) if path else "", field=entry.at(name))
    field = entry.at(f"{name}-data")
    try:
        return Material(data=base64.b64decode(data, validate=True), field=field)
    except (binascii.Error, ValueError):
        msg = f"{field}: expected base64"
        raise InputError(msg) from None


def _identity(
    user: KubeconfigEntry[User], cluster: KubeconfigEntry[KubeconfigCluster], trust: Trust
) -> StoredIdentity | Plugin:
    value = user.value
    _refuse_removed(user)
    if value.exec is not None and not value.token and not value.token_file:
        return _plugin(user, value.exec, _cluster_info(cluster, trust))
    stored = StoredIdentity(
        token=_token(user),
        certificate=_material(
            user, "client-certificate", value.client_certificate_data, value.client_certificate
        ),
        key=_material(user, "client-key", value.client_key_data, value.client_key),
    )
    if stored.certificate.is_given != stored.key.is_given:
        field = stored.certificate.field if stored.certificate.is_given else stored.key.field
        msg = f"{field}: expected client-certificate and client-key together"
        raise InputError(msg)
    return stored


def _token(user: KubeconfigEntry[User]) -> Material:
    if user.value.token_file:
        return Material(path=user.path(user.value.token_file), field=user.at("tokenFile"))
    return Material(data=user.value.token.encode(), field=user.at("token"))


def _refuse_removed(user: KubeconfigEntry[User]) -> None:
    if user.value.username or user.value.password:
        msg = f"{user.at('username')}: expected a token, a certificate or exec: Kubernetes no \
longer knows passwords"
        raise InputError(msg)
    if bytes(user.value.auth_provider) != b"null":
        msg = f"{user.at('auth-provider')}: expected exec, which has taken its place"
        raise InputError(msg)


def _plugin(user: KubeconfigEntry[User], plugin: kubeconfig_files.Exec, cluster: Body) -> Plugin:
    if not plugin.command:
        msg = f"{user.at('exec.command')}: expected a program"
        raise InputError(msg)
    if plugin.api_version not in VERSIONS:
        expected = " or ".join(VERSIONS)
        msg = f"{user.at('exec.apiVersion')}: expected {expected}, not {plugin.api_version!r}"
        raise InputError(msg)
    if plugin.interactive_mode not in _MODES:
        msg = f"{user.at('exec.interactiveMode')}: expected Never or IfAvailable, since nobody is \
there to answer, not {plugin.interactive_mode!r}"
        raise InputError(msg)
    has_folder = "/" in plugin.command
    return Plugin(
        command=user.path(plugin.command) if has_folder else plugin.command,
        arguments=plugin.args,
        environment={variable.name: variable.value for variable in plugin.env},
        api_version=plugin.api_version,
        cluster=cluster if plugin.provide_cluster_info else {},
        install_hint=plugin.install_hint.strip(),
        origin=user.at("exec"),
    )


def _cluster_info(cluster: KubeconfigEntry[KubeconfigCluster], trust: Trust) -> Body:
    """What a plugin that asks for it learns of the cluster."""
    value = cluster.value
    told: dict[str, Json] = {
        "server": value.server,
        "tls-server-name": value.tls_server_name,
        "insecure-skip-tls-verify": value.insecure_skip_tls_verify,
        "certificate-authority-data": base64.b64encode(trust.authority).decode(),
        "proxy-url": value.proxy_url,
        "config": next(
            (
                msgspec.json.decode(extension.extension)
                for extension in value.extensions
                if extension.name == _PLUGIN_EXTENSION
            ),
            None,
        ),
    }
    return {key: value for key, value in told.items() if value}


def _impersonation(user: KubeconfigEntry[User]) -> tuple[tuple[str, str], ...]:
    headers = tuple(_user_headers(user.value))
    if headers and not user.value.act_as:
        msg = f"{user.at('as')}: expected a user to act as, since other parts of one are given"
        raise InputError(msg)
    if not all(is_header_value(value) for _, value in headers):
        msg = f"{user.at('as')}: expected users and groups in one line each"
        raise InputError(msg)
    return headers


def _user_headers(value: User) -> Iterator[tuple[str, str]]:
    yield from (
        *((("Impersonate-User", value.act_as),) if value.act_as else ()),
        *((("Impersonate-Uid", value.as_uid),) if value.as_uid else ()),
        *(("Impersonate-Group", group) for group in value.as_groups),
        *(
            (f"Impersonate-Extra-{quote(key, safe='')}", item)
            for key, values in value.as_user_extra.items()
            for item in values
        ),
    )


def check_proxy(proxy: str, field: str) -> str:
    """The proxy, if it is of a kind that can be used. Raises InputError."""
    if proxy and not is_address(proxy):
        msg = f"{field}: expected an http or https proxy, not {proxy!r}"
        raise InputError(msg)
    return proxy


def is_address(url: str) -> bool:
    """Whether this names a host to reach by HTTP."""
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, or half an IPv6 address
        return False


def from_environment(server: str, environment: Mapping[str, str]) -> str:
    """The proxy for this server; none for this machine itself and for what NO_PROXY lists."""
    parts = urlsplit(server)
    name = f"{parts.scheme}_proxy"
    proxy = _variable(environment, name)
    if not proxy or _is_direct(parts.hostname or "", _variable(environment, "no_proxy")):
        return ""
    return check_proxy(proxy if "://" in proxy else f"http://{proxy}", name.upper())


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name.upper()) or environment.get(name) or ""


def _is_direct(host: str, exceptions: str) -> bool:
    if host == "localhost" or _lies_in(host, "127.0.0.0/8") or host == "::1":
        return True
    listed = (part.strip() for part in exceptions.split(","))
    return any(_matches(host, item.partition(":")[0] or item) for item in listed if item)


def _matches(host: str, exception: str) -> bool:
    if exception in {"*", host} or _lies_in(host, exception):
        return True
    return host.endswith("." + exception.lstrip("*").lstrip("."))


def _lies_in(host: str, network: str) -> bool:
    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False
