"""A moment that tests of pictures share."""

from __future__ import annotations

from datetime import UTC, datetime

NOW = datetime(2026, 3, 2, 6, 0, tzinfo=UTC)  # a Monday
