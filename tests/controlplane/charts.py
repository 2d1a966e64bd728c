"""What do the Helm charts make, and who is the controller that they install?"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.controlplane import binaries
from tests.controlplane.plane import ControlPlane

CHARTS = Path(__file__).parents[2] / "charts"
Tree = dict[str, Any]
_RIGHTS = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")


def helm(*words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """What helm says."""
    command = [str(binaries.helm()), *words]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=False)


def rendered(
    values: Mapping[str, object] | None = None,
    *,
    chart: str = "dovetail",
    release: str = "dovetail",
    namespace: str = "dovetail",
) -> list[Tree]:
    """The objects that a chart makes with these values."""
    words = ("template", release, str(CHARTS / chart), "--namespace", namespace, "--values", "-")
    done = helm(*words, given=json.dumps(values or {}))
    if done.returncode:
        raise AssertionError(done.stderr)
    return [tree for tree in yaml.safe_load_all(done.stdout) if tree]


@contextmanager
def controller_kubeconfig(
    plane: ControlPlane, *, namespace: str = "dovetail", **settings: object
) -> Iterator[Path]:
    """A kubeconfig for the controller as the chart installs it in a namespace, with exactly its
    rights. `settings` are the chart's, such as `kubelets=True`. The lease is in that namespace.
    """
    made = rendered({"settings": settings}, release=namespace, namespace=namespace)
    with account_kubeconfig(plane, made, namespace) as path:
        yield path


@contextmanager
def account_kubeconfig(plane: ControlPlane, made: list[Tree], namespace: str) -> Iterator[Path]:
    """A kubeconfig for the account of an installation, with exactly the rights that it is given."""
    rights = json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": [one for one in made if is_right(one)]}
    )
    plane.kubectl("create", "namespace", namespace)
    try:
        plane.kubectl("apply", "--server-side", "-f", "-", given=rights)
        account = next(one for one in made if one["kind"] == "ServiceAccount")["metadata"]["name"]
        token = plane.kubectl("create", "token", account, "-n", namespace, "--duration=24h")
        path = plane.folder / f"kubeconfig-{namespace}"
        path.write_text(json.dumps(_config(plane, namespace, token.strip())))
        yield path
    finally:
        plane.kubectl("delete", "--ignore-not-found", "--wait=false", "-f", "-", given=rights)
        plane.kubectl("delete", "namespace", namespace, "--wait=false")


def is_right(tree: Tree) -> bool:
    """Whether an object says who may do what."""
    return tree["kind"] in _RIGHTS


def _config(plane: ControlPlane, namespace: str, token: str) -> Tree:
    administrator: Tree = json.loads(plane.kubeconfig.read_text())
    context = {"cluster": "tests", "user": "controller", "namespace": namespace}
    return administrator | {
        "users": [{"name": "controller", "user": {"token": token}}],
        "contexts": [{"name": "tests", "context": context}],
    }
