"""Clients of AWS are shared with other tests, which have a clock of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.ec2.kills.blocking import tell_no_time


@pytest.fixture(autouse=True)
def _own_clock(clients: dict[str, Any]) -> Iterator[None]:
    """Afterwards no call says what time it is in a world that is gone."""
    yield
    tell_no_time(clients)
