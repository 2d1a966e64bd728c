"""What the page's server answers, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import aiohttp
import pytest

from dovetail.errors import InputError
from dovetail.present.explanation import Explanation
from dovetail.testing import node, pod, snapshot
from dovetail.web.dashboard.lookout import Lookout
from dovetail.web.dashboard.server import DashboardContent, ListenAddress, serving
from dovetail.web.dashboard.stream import Stream

NOW = datetime(2026, 3, 2, 6, 0, tzinfo=UTC)
EVIL = "<script>alert(1)</script>"
_ANYWHERE = ListenAddress(0)


async def _explained(what: str) -> Explanation:
    if what == "bug":
        raise RuntimeError(EVIL)
    if what != "node/n1":
        msg = f"no {what}"
        raise InputError(msg)
    return Explanation("node/n1", (), f"It stays. {EVIL}", (), {})


class Asker:
    """A client of the page's server."""

    def __init__(self, session: aiohttp.ClientSession, port: int, host: str) -> None:
        self.session = session
        self.url = f"http://{host}:{port}"
        self.port = port

    async def get(self, path: str, **headers: str) -> tuple[int, str, dict[str, str]]:
        """Status, text and headers."""
        async with self.session.get(self.url + path, headers=headers) as answer:
            return answer.status, await answer.text(), dict(answer.headers)


@asynccontextmanager
async def asking(
    rates: list[float] | None = None, place: ListenAddress = _ANYWHERE
) -> AsyncIterator[Asker]:
    """A server that has looked once."""
    cluster = snapshot(pods=[pod("p", node="n1")], nodes=[node("n1")])
    lookout = Lookout()
    lookout.look(cluster, NOW)
    stream = Stream(lookout, lambda: (cluster, NOW))
    content = DashboardContent(stream, _explained, None if rates is None else rates.append)
    async with serving(content, place) as port, aiohttp.ClientSession() as session:
        yield Asker(session, port, place.host)


@pytest.mark.parametrize("path", ["/", "/style.css", "/app.js", "/picture.js", "/mark.svg"])
async def test_every_file_comes_with_strict_headers(path: str) -> None:
    """No script but its own, no framing, no guessing of types, nothing kept."""
    async with asking() as asker:
        status, text, headers = await asker.get(path)
    assert status == 200
    assert text
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/nothing.js", "/../server.py", "/etc/passwd", "/index.html"])
async def test_what_is_not_a_page_is_not_found(path: str) -> None:
    """With the same headers."""
    async with asking() as asker:
        status, _, headers = await asker.get(path)
    assert status == 404
    assert "Content-Security-Policy" in headers


@pytest.mark.parametrize("listens_on", ["127.0.0.1", "127.0.0.2", "localhost"])
@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("localhost:8642", 200),
        ("LocalHost", 200),
        ("127.0.0.1:8642", 200),
        ("[::1]:8642", 200),
        ("[::1]", 200),
        ("evil.example:8642", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost:evil.example", 403),
        ("evil.example:127.0.0.1", 403),
        ("", 403),
    ],
)
async def test_another_name_for_this_machine_is_refused(
    listens_on: str, name: str, want: int
) -> None:
    """A page of another site could have such a name resolve to this machine."""
    async with asking(place=ListenAddress(0, listens_on)) as asker:
        status, _, headers = await asker.get("/", Host=name)
    assert status == want
    assert "Content-Security-Policy" in headers


async def test_whoever_lets_others_in_may_be_called_by_any_name() -> None:
    """A service of the cluster has names that nobody knows here."""
    async with asking(place=ListenAddress(0, "0.0.0.0")) as asker:  # noqa: S104  what is tested
        assert (await asker.get("/", Host="dovetail.kube-system.svc"))[0] == 200


async def test_a_bug_is_answered_with_strict_headers() -> None:
    """And without a word about what went wrong inside."""
    async with asking() as asker:
        status, text, headers = await asker.get("/explain?what=bug")
    assert status == 500
    assert EVIL not in text
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "Content-Security-Policy" in headers


async def test_the_stream_has_strict_headers_and_no_head_that_never_ends() -> None:
    """Nobody learns what it is served with, either."""
    async with asking() as asker:
        async with asker.session.get(f"{asker.url}/stream") as answer:
            assert "Content-Security-Policy" in answer.headers
            assert answer.headers["X-Frame-Options"] == "DENY"
            assert answer.headers["Cache-Control"] == "no-store"
            assert "aiohttp" not in answer.headers["Server"]
        async with asker.session.head(f"{asker.url}/stream") as answer:
            assert answer.status == 405


async def test_answers_are_json_and_never_markup() -> None:
    """Whatever a name or a message says, the browser is told that it is data."""
    async with asking() as asker:
        status, text, headers = await asker.get("/explain?what=node/n1")
        assert (status, json.loads(text)["verdict"]) == (200, f"It stays. {EVIL}")
        assert headers["Content-Type"].startswith("application/json")
        status, text, _ = await asker.get("/explain?what=node/other")
        assert (status, json.loads(text)["problem"]) == (404, "no node/other")
        assert (await asker.get("/decisions/7/0"))[0] == 404
        pools = json.loads((await asker.get("/pools"))[1])
        assert [one["name"] for one in pools] == ["default"]


async def test_a_stream_begins_with_everything() -> None:
    """As a server-sent event."""
    async with asking() as asker, asker.session.get(f"{asker.url}/stream") as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        line = await answer.content.readline()
        told = json.loads(line.removeprefix(b"data: "))
        assert told["isWhole"] is True
        assert [one["name"] for one in told["nodes"]] == ["n1"]


async def test_nothing_can_be_written_but_the_tempo_and_that_only_by_the_page() -> None:
    """Where time is the real one, not even that."""
    rates: list[float] = []
    async with asking(rates) as asker:
        address, body = f"{asker.url}/tempo", {"rate": 60}
        async with asker.session.post(address, json=body) as answer:
            assert answer.status == 403
        theirs = {"Origin": "http://evil.example"}
        async with asker.session.post(address, json=body, headers=theirs) as answer:
            assert answer.status == 403
        own = {"Origin": asker.url}
        async with asker.session.post(address, json={"rate": "x"}, headers=own) as answer:
            assert answer.status == 400
        async with asker.session.post(address, json=body, headers=own) as answer:
            assert answer.status == 200
    assert rates == [60.0]
    async with asking() as asker, asker.session.post(f"{asker.url}/tempo", json=body) as answer:
        assert answer.status in {404, 405}


async def test_a_port_that_is_taken_is_told_with_the_flag_and_a_remedy() -> None:
    """Not as a traceback."""
    async with asking() as asker:
        stream = Stream(Lookout(), lambda: (snapshot(), NOW))
        with pytest.raises(InputError, match=r"--port: cannot listen on .*name another port"):
            async with serving(DashboardContent(stream, _explained), ListenAddress(asker.port)):
                pass
