"""Compiles the solver's inner loops while the package is built, where a C compiler is at hand.

Without one the package is complete all the same: `dovetail.solve.kernel` then
uses its plain twins.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).parent / "src" / "dovetail" / "solve" / "kernel"
# No contraction of a * b + c: the plain twins round twice, and answers agree to the last bit.
FLAGS = ("-std=c11", "-O3", "-ffp-contract=off", "-fPIC", "-shared", "-fvisibility=hidden")


def compile_kernel() -> bool:
    """Compile the kernel beside its source; says whether that worked."""
    finished, unfinished = HERE / "_kernel.so", HERE / "_kernel.so.part"
    finished.unlink(missing_ok=True)  # one of another time must not pass for this one
    flags = (*FLAGS, f'-DSOURCE="{_mark()}"')
    command = [*shlex.split(os.environ.get("CC", "cc")), *flags, "-o", str(unfinished)]
    try:
        subprocess.run(  # noqa: S603  # the compiler that whoever builds has chosen
            [*command, str(HERE / "kernel.c")], check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"dovetail: no compiled kernel ({error}); the plain one is used\n")
        return False
    unfinished.replace(finished)
    return True


def _mark() -> str:
    """What tells one state of the sources from another; as in `dovetail.solve.kernel.loading`."""
    sources = sorted(HERE.glob("*.c"))
    return hashlib.sha256(b"".join(one.read_bytes() for one in sources)).hexdigest()


class Kernel(BuildHookInterface[Any]):
    """Runs before a wheel (or an editable install) is put together."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Put the compiled kernel into the wheel, which then fits one platform only."""
        del version
        if compile_kernel():
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{_platform()}"
            build_data["artifacts"].append("src/dovetail/solve/kernel/_kernel.so")


def _platform() -> str:
    from packaging.tags import platform_tags  # only a build has it

    return next(iter(platform_tags()))
