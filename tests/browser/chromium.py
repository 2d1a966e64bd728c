"""Where is a browser? Debian's chromium, installed where it is missing: CI's machines are new."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, expect, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_PATIENCE_MS = 30_000  # a busy machine is slow
_APT = ("apt-get", "-qq", "-o", "Dpkg::Use-Pty=0")


def executable() -> str:
    """The browser's path. Where there is none, root installs Debian's."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is not None:
        return found
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        msg = "these tests need chromium: install it (on Debian: apt-get install chromium)"
        raise RuntimeError(msg)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (("update",), ("install", "-y", "--no-install-recommends", "chromium")):
        subprocess.run([*_APT, *words], check=True, env=environment, stdout=subprocess.DEVNULL)
    installed = shutil.which("chromium")
    assert installed is not None
    return installed


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser without a window, for as long as the block lasts."""
    expect.set_options(timeout=_PATIENCE_MS)
    with sync_playwright() as playwright:
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        opened = playwright.chromium.launch(executable_path=executable(), args=flags)
        try:
            yield opened
        finally:
            opened.close()
