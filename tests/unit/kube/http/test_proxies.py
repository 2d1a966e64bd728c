"""Proxies from the environment."""

from __future__ import annotations

import pytest
from aiohttp import web

from dovetail.errors import InputError
from dovetail.kube.http import kubeconfig
from dovetail.kube.http.plugin import Access
from dovetail.kube.seam import Ref
from tests.unit.kube.http.servers import NODES, client, pod, served


@pytest.mark.parametrize(
    ("server", "exceptions", "want"),
    [
        ("https://api.test:6443", "", "http://proxy.test:3128"),
        ("http://api.test", "", ""),
        ("https://localhost:6443", "", ""),
        ("https://127.0.0.9:6443", "", ""),
        ("https://[::1]:6443", "", ""),
        ("https://api.test", "other,.test", ""),
        ("https://api.test", "*.test", ""),
        ("https://api.test", "api.test:6443", ""),
        ("https://api.test", "est", "http://proxy.test:3128"),
        ("https://10.1.2.3", "10.0.0.0/8", ""),
        ("https://10.1.2.3", "10.1.2.3", ""),
        ("https://10.1.2.3", "192.168.0.0/16", "http://proxy.test:3128"),
        ("https://api.test", "*", ""),
    ],
)
def test_the_environment_names_a_proxy_and_its_exceptions(
    server: str, exceptions: str, want: str
) -> None:
    """By domain, address and network; never for this machine."""
    environment = {"HTTPS_PROXY": "proxy.test:3128", "no_proxy": exceptions}
    assert kubeconfig.from_environment(server, environment) == want


def test_a_proxy_of_another_kind_is_refused() -> None:
    """With the field that names it."""
    with pytest.raises(InputError, match="HTTPS_PROXY: expected an http or https proxy"):
        kubeconfig.from_environment("https://api.test", {"https_proxy": "socks5://proxy.test"})


async def test_requests_go_through_the_proxy() -> None:
    """The proxy is asked for the server's whole address."""
    seen: list[str] = []

    async def proxy(request: web.Request) -> web.Response:
        seen.append(str(request.url))
        return web.json_response(pod("n1"))

    async with served(proxy) as at, client(Access("http://api.test", proxy=at)) as kube:
        await kube.get(Ref(NODES, "n1"))
    assert seen == ["http://api.test/api/v1/nodes/n1"]
