"""Exec plugins: programs that are asked who we are."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from dovetail.kube import errors
from dovetail.kube.http.credentials import Identity
from dovetail.kube.http.plugin import VERSIONS, Access, Plugin, PluginCredentials
from dovetail.kube.seam import Body, Ref
from tests.unit.kube.http.servers import NODES, client, pod, served, status
from tests.unit.kube.surroundings import VirtualClock

# Counts its runs in a file, prints a credential numbered so, and what it was told on the way.
PROGRAM = """
import json, os, sys
with open(sys.argv[1], "a+") as file:
    file.seek(0)
    count = len(file.read()) + 1
    file.write("x")
told = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
json.dump(told | {"env": os.environ.get("REGION", "")}, open(sys.argv[1] + ".told", "w"))
status = {"token": f"token-{count}", **json.loads(sys.argv[2])}
print(json.dumps({"kind": "ExecCredential", "apiVersion": told["apiVersion"], "status": status}))
"""


def plugin(
    tmp_path: Path,
    status: Mapping[str, str] | None = None,
    *,
    version: str = VERSIONS[0],
    cluster: Body | None = None,
) -> Plugin:
    """A plugin that gives a new token each time."""
    return Plugin(
        sys.executable,
        ("-I", "-c", PROGRAM, str(tmp_path / "runs"), msgspec.json.encode(status or {}).decode()),
        {"REGION": "here"},
        version,
        cluster or {},
        origin="config: users[0].user.exec",
    )


def failing(program: str, timeout_seconds: float = 10) -> PluginCredentials:
    """A plugin that does something else."""
    bad = Plugin(
        sys.executable,
        ("-I", "-c", program),
        origin="config: users[0].user.exec",
        timeout_seconds=timeout_seconds,
    )
    return PluginCredentials(bad, {}, VirtualClock())


async def test_a_plugin_is_run_once_for_many_requests(tmp_path: Path) -> None:
    """Without an expiry its answer stays good."""
    credentials = PluginCredentials(plugin(tmp_path), {}, VirtualClock())
    found = await asyncio.gather(*(credentials.current() for _ in range(5)))
    assert found == [Identity("token-1")] * 5


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_plugin_is_told_what_it_needs(tmp_path: Path, version: str) -> None:
    """The version it must speak, that nobody answers questions, and the cluster if it asks."""
    asking = plugin(tmp_path, version=version, cluster={"server": "https://api.test"})
    await PluginCredentials(asking, {}, VirtualClock()).current()
    assert msgspec.json.decode((tmp_path / "runs.told").read_bytes()) == {
        "kind": "ExecCredential",
        "apiVersion": version,
        "spec": {"interactive": False, "cluster": {"server": "https://api.test"}},
        "env": "here",
    }


async def test_an_expired_credential_is_replaced_in_time(tmp_path: Path) -> None:
    """A little before it expires, so that no request goes out with a dead one."""
    clock = VirtualClock()
    expiring = plugin(tmp_path, {"expirationTimestamp": "2026-01-01T00:15:00Z"})
    credentials = PluginCredentials(expiring, {}, clock)
    assert await credentials.current() == Identity("token-1")
    clock.advance(timedelta(minutes=14))
    assert await credentials.current() == Identity("token-1")
    clock.advance(timedelta(seconds=55))
    assert await credentials.current() == Identity("token-2")


async def test_many_who_are_refused_at_once_cause_one_run(tmp_path: Path) -> None:
    """Whoever comes second finds the new credential."""
    credentials = PluginCredentials(plugin(tmp_path), {}, VirtualClock())
    refused = await credentials.current()
    found = await asyncio.gather(*(credentials.renew(refused) for _ in range(5)))
    assert found == [Identity("token-2")] * 5


async def test_a_certificate_will_do_instead_of_a_token(tmp_path: Path) -> None:
    """Some plugins give only that."""
    pair = {"token": "", "clientCertificateData": "CERT", "clientKeyData": "KEY"}
    credentials = PluginCredentials(plugin(tmp_path, pair), {}, VirtualClock())
    assert await credentials.current() == Identity("", b"CERT", b"KEY")


async def test_a_refused_credential_is_renewed_and_the_request_repeated(tmp_path: Path) -> None:
    """401 from the server runs the plugin again."""
    shown: list[str] = []

    async def strict(request: web.Request) -> web.Response:
        shown.append(request.headers["Authorization"])
        if len(shown) == 1:
            return status(401, "Unauthorized")
        return web.json_response(pod("n1"))

    asking = plugin(tmp_path)
    async with served(strict) as server, client(Access(server, identity=asking)) as kube:
        await kube.get(Ref(NODES, "n1"))
    assert shown == ["Bearer token-1", "Bearer token-2"]


@pytest.mark.parametrize(
    ("program", "want"),
    [
        pytest.param("import sys; sys.exit('not logged in')", "ended with 1: not log", id="fails"),
        pytest.param("print('hello')", "what it printed is wrong: not JSON", id="no JSON"),
        pytest.param("print('{}')", "expected it to print an ExecCredential", id="empty"),
        pytest.param(
            'print(\'{"kind": "ExecCredential", "apiVersion": "v9", "status": {}}\')',
            "expected apiVersion client.authentication.k8s.io/v1, not 'v9'",
            id="another version",
        ),
        pytest.param(
            'print(\'{"kind": "ExecCredential", "status": {}, '
            '"apiVersion": "client.authentication.k8s.io/v1"}\')',
            "expected a token in one line, or a client",
            id="nothing in it",
        ),
    ],
)
async def test_a_plugin_that_fails_is_told_with_its_place(program: str, want: str) -> None:
    """Whose kubeconfig names it, and what it said itself."""
    with pytest.raises(errors.UnauthorizedError, match=want) as raised:
        await failing(program).current()
    assert str(raised.value).startswith("config: users[0].user.exec: running ")


async def test_a_plugin_that_hangs_is_stopped() -> None:
    """After its time is up."""
    with pytest.raises(errors.UnauthorizedError, match=r"did not end within 0\.1 s"):
        await failing("import time; time.sleep(60)", 0.1).current()


async def test_a_plugin_that_is_not_installed_says_how_to_get_it() -> None:
    """The hint of the kubeconfig."""
    absent = Plugin("no-such-program", install_hint="get it at example.test", origin="config")
    with pytest.raises(errors.UnauthorizedError, match=r"cannot be run: No such file.*get it at"):
        await PluginCredentials(absent, {}, VirtualClock()).current()
