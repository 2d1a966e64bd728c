"""Credentials for clients of the provider, and one session for all of them."""

from __future__ import annotations

import pytest
from aiobotocore.session import AioSession, get_session


@pytest.fixture(scope="session")
def shared_session() -> AioSession:
    """It keeps the service models, which take seconds to read."""
    return get_session()


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch, shared_session: AioSession) -> None:
    """Any will do."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setattr("dovetail.providers.aws.apis.get_session", lambda: shared_session)
