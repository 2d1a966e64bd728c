"""On what was it measured? Facts without which a figure means nothing."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from dovetail.solve.kernel import loading

_ROOT = Path(__file__).parent.parent
_highest_mb = 0.0


def facts() -> dict[str, str]:
    """The machine, the versions and the commit, by name."""
    return {
        "cpu": _cpu_model(),
        "cores": str(os.cpu_count()),
        "memory": _proc_field("/proc/meminfo", "MemTotal"),
        "system": f"{platform.system()} {platform.machine()}",
        "load before": f"{os.getloadavg()[0]:.2f}",
        "python": platform.python_version(),
        "numpy": _version("numpy"),
        "highspy": _version("highspy"),
        "inner loops": "compiled" if loading.is_built() else "plain",
        "commit": _commit(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def peak_mb() -> float:
    """The most memory that this process has held, in megabytes (10^6 bytes)."""
    # Not getrusage: its maximum survives exec, so a child would report its parent's.
    # Recent kernels count memory per core and add up roughly, so even VmHWM can fall a little.
    global _highest_mb  # noqa: PLW0603  (a high-water mark of this process)
    kib = _proc_field("/proc/self/status", "VmHWM").removesuffix(" kB")
    _highest_mb = max(_highest_mb, int(kib) * 1024 / 1e6)
    return _highest_mb


def _cpu_model() -> str:
    return _proc_field("/proc/cpuinfo", "model name") or platform.processor()


def _proc_field(path: str, field: str) -> str:
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == field:
            return value.strip()
    return ""


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def _commit() -> str:
    commit = _git("rev-parse", "--short=12", "HEAD")
    is_dirty = bool(_git("status", "--porcelain", "--untracked-files=no"))
    return f"{commit} with uncommitted changes" if is_dirty else commit


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ("git", "-C", str(_ROOT), *arguments),  # noqa: S607  git is found on PATH
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()
