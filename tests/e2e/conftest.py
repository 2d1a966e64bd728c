"""One real control plane for all end-to-end tests of a run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.controlplane.plane import ControlPlane, running


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane]:
    """A real etcd, kube-apiserver, kube-scheduler and kube-controller-manager."""
    with running() as started:
        yield started
