"""Which seeds are done? Remembered in a file for each part, a line for each seed.

The folder is named after the code that was judged: whoever changes it begins anew. A line that was
cut short, when the run was, is not counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_FINE: Final = "fine"


def code_mark(roots: Iterable[Path]) -> str:
    """A name for the code below these folders, as it is."""
    digest = hashlib.sha256()
    for root in roots:
        for path in sorted(root.rglob("*.py")):
            digest.update(str(path.relative_to(root)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


class Progress:
    """What was found so far, by seed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.found: dict[int, str] = {}
        if path.exists():
            whole, _, _ = path.read_text().rpartition("\n")
            for line in whole.splitlines():
                seed, _, said = line.partition("\t")
                self.found[int(seed)] = "" if said == _FINE else said

    def __enter__(self) -> Self:
        """Write from now on."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lines = (_line(seed, said) for seed, said in self.found.items())
        self._path.write_text("".join(lines))
        self._file = self._path.open("a")
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """Write no more."""
        self._file.close()

    def note(self, seed: int, complaints: list[str]) -> None:
        """This seed is done."""
        self.found[seed] = " ".join("; ".join(complaints[:3]).split())
        self._file.write(_line(seed, self.found[seed]))
        self._file.flush()

    def wrong(self, seeds: range) -> dict[int, str]:
        """What is wrong with which of these."""
        return {seed: said for seed, said in sorted(self.found.items()) if said and seed in seeds}


def _line(seed: int, said: str) -> str:
    return f"{seed}\t{said or _FINE}\n"
