"""Tokens that change while the program runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiohttp import web

from dovetail.errors import InputError
from dovetail.kube import errors
from dovetail.kube.http.credentials import Identity, Material, StoredCredentials, StoredIdentity
from dovetail.kube.http.plugin import Access
from dovetail.kube.seam import Ref
from tests.unit.kube.http.servers import NODES, client, pod, served, status
from tests.unit.kube.surroundings import VirtualTimer

NODE = Ref(NODES, "n1")


def stored(path: Path) -> StoredIdentity:
    """A token in a file."""
    return StoredIdentity(Material(path=str(path), field="config: tokenFile"))


async def test_a_token_file_is_read_again_every_minute(tmp_path: Path) -> None:
    """Kubelets rotate them."""
    file, timer = tmp_path / "token", VirtualTimer()
    file.write_text("one\n")
    credentials = StoredCredentials(stored(file), timer)
    file.write_text("two\n")
    assert await credentials.current() == Identity("one")
    timer.seconds = 61
    assert await credentials.current() == Identity("two")


async def test_a_token_file_that_is_away_for_a_moment_does_no_harm(tmp_path: Path) -> None:
    """The last token stays good; a file that was never there is an error."""
    file, timer = tmp_path / "token", VirtualTimer()
    with pytest.raises(InputError, match="config: tokenFile: expected a readable file"):
        StoredCredentials(stored(file), timer)
    file.write_text("one")
    credentials = StoredCredentials(stored(file), timer)
    file.unlink()
    timer.seconds = 61
    assert await credentials.current() == Identity("one")


async def test_a_token_must_fit_in_a_header() -> None:
    """A token with a line break in it would be another header."""
    with pytest.raises(InputError, match="expected a token of printable characters"):
        StoredIdentity(Material(data=b"a\r\nEvil: yes", field="config: token")).read()


async def test_a_refused_token_is_read_again_at_once(tmp_path: Path) -> None:
    """401, then the new token, for a write as well: who is not known cannot have acted."""
    file = tmp_path / "token"
    file.write_text("old")
    shown: list[str] = []

    async def strict(request: web.Request) -> web.Response:
        shown.append(request.headers["Authorization"])
        if shown[-1] != "Bearer new":
            file.write_text("new")
            return status(401, "Unauthorized")
        return web.json_response(pod("n1"))

    async with served(strict) as server, client(Access(server, identity=stored(file))) as kube:
        await kube.create(NODES, pod("n1"))
    assert shown == ["Bearer old", "Bearer new"]


async def test_a_token_that_stays_refused_is_told(tmp_path: Path) -> None:
    """Once, not in a loop."""
    file = tmp_path / "token"
    file.write_text("old")
    n_asked = 0

    async def closed(_: web.Request) -> web.Response:
        nonlocal n_asked
        n_asked += 1
        return status(401, "Unauthorized")

    async with served(closed) as server, client(Access(server, identity=stored(file))) as kube:
        with pytest.raises(errors.UnauthorizedError):
            await kube.get(NODE)
    assert n_asked == 1
