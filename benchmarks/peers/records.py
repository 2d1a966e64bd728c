"""What is kept of a comparison? Figures of both, and what they do not agree on, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from benchmarks.peers.compared import Compared
from benchmarks.peers.judging import Disagreement
from benchmarks.results import Result


class Kept(msgspec.Struct, frozen=True):
    """One row, without the plans themselves."""

    name: str
    go: Mapping[str, float]
    go_error: str
    dovetail: Mapping[str, float]
    times_as_fast: float | None
    of_the_price: float | None
    misses: tuple[str, ...]
    disagreements: tuple[Disagreement, ...]


class Run(msgspec.Struct, frozen=True):
    """All rows, and on what they were measured."""

    machine: Mapping[str, str]
    rows: tuple[Kept, ...]
    from_bytes: Result | None = None


def kept(one: Compared) -> Kept:
    """A row as it is written down."""
    theirs = one.theirs
    return Kept(
        name=one.row.name,
        go={
            **msgspec.structs.asdict(theirs.seconds),
            "nodes": len(theirs.node_claims),
            "$/h": theirs.price_nanousd / 1e9,
            "peak MB": theirs.peak_mb,
            "left out": len(theirs.not_placed),
            "illegal": one.word.n_illegal_of_theirs,
        },
        go_error=theirs.error,
        dovetail=one.ours.figures,
        times_as_fast=one.speed,
        of_the_price=one.price,
        misses=one.misses,
        disagreements=one.word.disagreements,
    )


def write(
    path: Path, machine: Mapping[str, str], found: Sequence[Compared], from_bytes: Result | None
) -> None:
    """Write a run down."""
    run = Run(machine, tuple(map(kept, found)), from_bytes)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(run), indent=2) + b"\n")
