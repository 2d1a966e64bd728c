"""Finds the proxy for a server in the environment."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from dovetail.errors import InputError


def checked(proxy: str, field: str) -> str:
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
    return checked(proxy if "://" in proxy else f"http://{proxy}", name.upper())


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
