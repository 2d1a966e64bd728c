"""The provider of this folder is installed for the tests in it, and for no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.outside_provider.installing import install


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in install(tmp_path):
        monkeypatch.syspath_prepend(folder)
