"""cli — the command line. One file per command; data on stdout, talk on stderr.

Rule 1: a command reads flags, calls `app`, and hands the answer to `present` and `cli/render.py`.
Rule 2: heavy imports stand inside the functions that need them, so that `--help` answers at once.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence

from typer.main import get_command

from dovetail.cli.commands import app
from dovetail.errors import InputError, PluginWarning

BAD_INPUT = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 2 bad input or usage."""
    # The solver's matrices are small: several threads would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    shown: set[str] = set()

    def show(message: Warning | str, *_where: object) -> None:
        if str(message) not in shown:
            sys.stderr.write(f"warning: {message}\n")
        shown.add(str(message))

    with warnings.catch_warnings(action="always", category=PluginWarning):
        warnings.showwarning = show  # type: ignore[assignment]  # where it came from is not read
        return _exit_code(argv)


def _exit_code(argv: Sequence[str] | None) -> int:
    try:
        get_command(app).main(args=argv, prog_name="dovetail")
    except InputError as error:
        sys.stderr.write(f"error: {error}\n")
        return BAD_INPUT
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else int(done.code is not None)
    return 0
