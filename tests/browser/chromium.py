"""Where is a browser? Debian's chromium, installed where it is missing: CI's machines are new."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, expect, sync_playwright

from tests.controlplane.binaries import cache

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_PATIENCE_MS = 30_000  # a busy machine is slow
_OPTIONS = ("Dpkg::Use-Pty=0", "DPkg::Lock::Timeout=600", "Acquire::Retries=3")
_APT = ("apt-get", "-qq", *(word for one in _OPTIONS for word in ("-o", one)))


def executable() -> str:
    """The browser's path. Where there is none, root installs Debian's."""
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / "chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # not even to be found before it is there as a whole
        return next(filter(None, map(shutil.which, _NAMES)), None) or _installed()


def _installed() -> str:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        msg = "these tests need chromium: install it (on Debian: apt-get install chromium)"
        raise RuntimeError(msg)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (("update",), ("install", "-y", "--no-install-recommends", "chromium")):
        subprocess.run([*_APT, *words], check=True, env=environment, stdout=subprocess.DEVNULL)
    found = shutil.which("chromium")
    assert found is not None
    return found


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
