"""Lines from chunks, wherever the chunks are cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.kube.errors import UnavailableError
from dovetail.kube.http import client


async def sent(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    """Chunks as a connection brings them."""
    for chunk in chunks:
        yield chunk


async def read(*chunks: bytes, longest_bytes: int = 1 << 20) -> list[bytes]:
    """All lines of these chunks."""
    return [line async for line in client.lines(sent(chunks), longest_bytes)]


@given(st.lists(st.binary(max_size=20)), st.lists(st.integers(0, 200)))
def test_lines_do_not_depend_on_where_chunks_end(written: list[bytes], cuts: list[int]) -> None:
    """Any cutting of the same bytes yields the same lines."""
    data = b"".join(line.replace(b"\n", b"") + b"\n" for line in written)
    at = sorted(cut % (len(data) + 1) for cut in cuts)
    chunks = [data[start:end] for start, end in zip([0, *at], [*at, len(data)], strict=True)]
    want = [line for line in data.split(b"\n") if line.strip()]
    assert asyncio.run(read(*chunks)) == want


async def test_a_stream_that_ends_within_an_event_is_cut() -> None:
    """Half an event is not handed out, and its loss is not silent."""
    lines = client.lines(sent([b"whole\nha", b"lf"]))
    assert await anext(lines) == b"whole"
    with pytest.raises(UnavailableError, match="cut within an event"):
        await anext(lines)


async def test_an_endless_event_is_refused() -> None:
    """Memory is bounded even against a server that never ends its line."""
    with pytest.raises(UnavailableError, match="longer than 10 bytes"):
        await read(b"123456", b"78901", longest_bytes=10)
