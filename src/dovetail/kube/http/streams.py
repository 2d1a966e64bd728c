"""Splits the chunks of a watch into lines, one for each event.

A line may come in many chunks and a chunk may hold many lines; every byte is looked at once and
copied at most twice, however they fall.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from dovetail.kube.errors import UnavailableError

LONGEST_LINE_BYTES: Final = 64 << 20  # objects are a few MB at most


async def lines(
    chunks: AsyncIterator[bytes], longest_bytes: int = LONGEST_LINE_BYTES
) -> AsyncIterator[bytes]:
    """Every line that is not blank. Raises UnavailableError if the stream ends within one."""
    result: list[bytes] = []
    n_held = 0
    async for chunk in chunks:
        head, *ends = chunk.split(b"\n")
        result.append(head)
        n_held += len(head)
        if n_held > longest_bytes:
            msg = f"watching: an event is longer than {longest_bytes} bytes"
            raise UnavailableError(0, "", msg)
        for tail in ends:
            line = b"".join(result)
            result, n_held = [tail], len(tail)
            if line.strip():
                yield line
    if b"".join(result).strip():
        msg = "watching: the stream was cut within an event"
        raise UnavailableError(0, "", msg)
