"""Shows a line on stderr for work that takes over a second, only on a terminal."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.status import Status

PATIENCE_SECONDS = 1.0


class Progress:
    """Shows what is being done once it has taken a while; shows nothing in pipes and logs."""

    def __init__(self) -> None:
        self._stage = ""
        self._is_over = False
        self._status: Status | None = None
        self._lock = threading.Lock()
        self._timer = threading.Timer(PATIENCE_SECONDS, self.show)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._is_over = True
            if self._status is not None:
                self._status.stop()

    def tell(self, stage: str) -> None:
        """Say what is being done from now on."""
        with self._lock:
            self._stage = stage
            if self._status is not None:
                self._status.update(stage)

    def show(self) -> None:
        """Stop being patient; nothing happens when the work is over or shown already."""
        from rich.console import Console

        with self._lock:
            if self._is_over or self._status is not None:
                return
            self._status = Console(stderr=True).status(self._stage)
            self._status.start()
