"""Clients of these tests are those of kubelets, whose calls no policy of ours allows."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def agent(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not taken for calls of the provider."""
    monkeypatch.setattr("dovetail.providers.aws.apis.USER_AGENT", "kubelet")
