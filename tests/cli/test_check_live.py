"""`dovetail check` on a real API server: its definitions, and its answers about rights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dovetail.cli import main
from dovetail.present.installation import manifests
from dovetail.present.installation.choices import Choices
from tests.controlplane.charts import account_kubeconfig
from tests.controlplane.plane import ControlPlane
from tests.installing import KWOK


def findings(capsys: pytest.CaptureFixture[str], kubeconfig: Path) -> dict[str, dict[str, str]]:
    """The findings on a real API server, by object."""
    words = ["--provider", "kwok", "--no-forecast", "-o", "json"]
    assert main(["check", *words, "--kubeconfig", str(kubeconfig)]) in (0, 1)
    data = json.loads(capsys.readouterr().out)
    return {finding["object"]: finding for finding in data["findings"]}


@pytest.mark.xdist_group("controlplane")
def test_our_own_definitions_are_in_order_on_a_real_api_server(
    plane: ControlPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the server stores them, and an administrator lacks no right."""
    objects = findings(capsys, plane.kubeconfig)
    others = ("NodePool ", "NodeClaim ", "Node ", "Deployment ", "Lease ", "KWOKNodeClass ")
    assert [name for name in objects if not name.startswith(others)] == []


@pytest.mark.xdist_group("controlplane")
def test_rights_are_reviewed_by_a_real_api_server(
    plane: ControlPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    """An account that may only read decisions' objects can install nothing."""
    choices = Choices(version="1", image="d", namespace="checked", is_shadow=True, **KWOK)
    trees: list[Any] = list(manifests(choices))
    with account_kubeconfig(plane, trees, "checked") as kubeconfig:
        objects = findings(capsys, kubeconfig)
    assert "you may not create, delete, patch nodes;" in objects["nodes"]["message"]
    assert "create, patch" in objects["deployments.apps"]["message"]
    assert "you may not create pods/eviction;" in objects["pods/eviction"]["message"]
    assert "pods" in objects  # only their deletion is missing
    assert "you may not delete pods;" in objects["pods"]["message"]
    assert objects["CustomResourceDefinition"]["severity"] == "warning"
    assert "Node" not in objects
