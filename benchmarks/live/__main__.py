"""What does the controller do on a real control plane? `python -m benchmarks.live` says it.

A surge of pods for Dovetail and for the Go program, one after the other on the same control plane;
whether pods end up where they were planned; what a big cluster costs at rest. Exit code 1 when a
row misses its limit.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.live import cleaning, programs, scale, steering, surge
from benchmarks.live.tables import Row, table
from benchmarks.machine import facts
from dovetail.api.crds import render
from tests.controlplane.plane import ControlPlane, running

_LATEST: Final = Path(__file__).parent.parent / "results" / "live.json"
_WINDOW_SECONDS: Final = 1.0  # nothing new for so long closes the batch window
_POOL: Final = """
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      requirements:
        - {key: kubernetes.io/os, operator: In, values: [linux]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
  disruption: {consolidateAfter: Never}
"""
_SURGES: Final = ((1000, 3.0), (5000, 10.0))
_SCALES: Final = ((1000, 30_000, 300.0), (5000, 150_000, 700.0))
_N_STEERED: Final = 1000


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write as JSON."""
    chosen = _parser().parse_args(arguments)
    wanted = chosen.only or ("surge", "steering", "scale")
    rows: list[Row] = []
    machine = facts()
    with tempfile.TemporaryDirectory(prefix="dovetail-live-") as name:
        folder = Path(name)
        if "surge" in wanted or "steering" in wanted:
            with _plane() as plane:
                rows += _on_plane(plane, folder, wanted)
        if "scale" in wanted:
            for n_nodes, n_pods, limit_mb in _SCALES:
                rows += _scale_rows(scale.measure(n_nodes, n_pods, folder), limit_mb)
    print("\n".join(f"{key + ':':13}{value}" for key, value in machine.items()))
    print()
    print(table(rows))
    _write(chosen.json, machine, rows)
    return int(any(row.is_missed for row in rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live", description=__doc__)
    parser.add_argument(
        "--only", action="append", choices=("surge", "steering", "scale"), help="one part"
    )
    parser.add_argument("--json", type=Path, default=_LATEST, metavar="FILE")
    return parser


@contextmanager
def _plane() -> Iterator[ControlPlane]:
    with running() as plane:
        plane.kubectl("apply", "--server-side", "-f", "-", given=render())
        plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        plane.kubectl("apply", "-f", "-", given=_POOL)
        plane.kubectl("create", "namespace", surge.NAMESPACE)
        yield plane


def _on_plane(plane: ControlPlane, folder: Path, wanted: Sequence[str]) -> list[Row]:
    rows: list[Row] = []
    if "surge" in wanted:
        for n_pods, limit in _SURGES:
            rows += _surge_rows(plane, folder, n_pods, limit)
    if "steering" in wanted:
        for is_steered in (True, False):
            _say(f"steering {_N_STEERED} pods: {is_steered}")
            found = steering.measure(plane.kubeconfig, folder, _N_STEERED, is_steered=is_steered)
            rows += _steering_rows(found)
            asyncio.run(cleaning.emptied(plane.kubeconfig))
    return rows


def _surge_rows(plane: ControlPlane, folder: Path, n_pods: int, limit: float) -> list[Row]:
    rows = []
    for start in (programs.dovetail, programs.reference):
        with start(plane.kubeconfig, folder) as program:
            _say(f"{program.name}: {n_pods} pods")
            time.sleep(5.0)  # let it come to rest
            found = asyncio.run(surge.surge(plane.kubeconfig, n_pods))
            peak = program.peak_mb()
        asyncio.run(cleaning.emptied(plane.kubeconfig))
        is_ours = program.name == "Dovetail"
        beyond = found.seconds - _WINDOW_SECONDS
        name = f"{n_pods} pods, {program.name}"
        rows += [
            Row(name, "s from last pod marked to last claim, beyond the window", beyond,
                limit if is_ours else None),
            Row(name, "s from first pod marked to last claim", found.seconds_from_first),
            Row(name, "claims", found.n_claims),
            Row(name, "USD an hour", found.usd_per_hour),
            Row(name, "MB at the most", peak),
        ]  # fmt: skip
    return rows


def _steering_rows(found: steering.Steered) -> list[Row]:
    name = f"{found.n_pods} pods, {'nominated' if found.is_steered else 'not nominated'}"
    return [
        Row(name, "share bound where planned", found.share),
        Row(name, "paper price over bound", found.paper_usd / found.bound_usd),
        Row(name, "realised price over paper price", found.realised_usd / found.paper_usd),
        Row(name, "claims planned", found.n_claims_planned),
        Row(name, "claims in the end", found.n_claims),
    ]


def _scale_rows(found: scale.Scale, limit_mb: float) -> list[Row]:
    name = f"{found.n_nodes} nodes, {found.n_pods} pods"
    is_small = found.n_nodes <= 1000
    return [
        Row(name, "s from start to ready", found.ready_seconds, 15.0 if is_small else None),
        Row(name, "MB at rest", found.rss_mb, limit_mb),
        Row(name, "MB at the most", found.peak_mb, limit_mb),
        Row(name, "% of a core at rest", 100 * found.idle_cpu_share, 2.0 if is_small else None),
    ]


def _write(path: Path, machine: dict[str, str], rows: Sequence[Row]) -> None:
    path.parent.mkdir(exist_ok=True)
    body = {"machine": machine, "rows": [msgspec.to_builtins(row) for row in rows]}
    path.write_bytes(msgspec.json.format(msgspec.json.encode(body), indent=2) + b"\n")


def _say(what: str) -> None:
    print(f"measuring {what} ...", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
