"""live — the composition root of `dovetail run`: which clock, which API, which cloud."""

from __future__ import annotations

from dovetail.live.running import run
