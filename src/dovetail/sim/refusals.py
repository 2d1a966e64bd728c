"""What does a stand-in do when the API says no? It tries again; any other failure is a bug."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from dovetail.clock import Timer
from dovetail.controllers.workqueue import QueueSettings
from dovetail.kube.errors import ApiError
from dovetail.model.backoff import Backoff, Chance

_BACKOFF: Final = Backoff(0.1, 10.0)


def patient(timer: Timer, chance: Chance, n_workers: int) -> QueueSettings:
    """How stand-ins work off what there is to do."""
    return QueueSettings(timer, chance, _BACKOFF, n_workers)


def tolerated(_key: Hashable, error: Exception) -> None:
    """What the API refuses is tried again in silence; whatever else goes wrong is raised."""
    if not isinstance(error, ApiError):
        raise error
