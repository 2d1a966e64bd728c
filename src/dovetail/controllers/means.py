"""What does every controller work with? The same few things, made once at start-up."""

from __future__ import annotations

from typing import Protocol

import msgspec

from dovetail.clock import Clock, Timer
from dovetail.cloud.provider import CloudProvider
from dovetail.controllers.workqueue import Manner
from dovetail.decide.lifecycle.step import Event
from dovetail.kube.backoff import Backoff, Chance
from dovetail.kube.seam import Kube


class Recorder(Protocol):
    """Tells users what happened to their objects."""

    def tell(self, event: Event) -> None:
        """Tell it soon; never waits, never fails."""
        ...


class Log(Protocol):
    """Writes down what was done and why."""

    def debug(self, message: str, **fields: object) -> None:
        """For whoever looks for a bug."""
        ...

    def info(self, message: str, **fields: object) -> None:
        """For whoever wants to know what happened."""
        ...

    def warning(self, message: str, **fields: object) -> None:
        """Something that may need somebody's hand."""
        ...

    def error(self, message: str, **fields: object) -> None:
        """Something that did not work."""
        ...

    def named(self, name: str) -> Log:
        """The same log, for a part of the program."""
        ...


class Means(msgspec.Struct, frozen=True):
    """The API, the cloud, time, chance, and where to tell what happened."""

    kube: Kube
    cloud: CloudProvider
    clock: Clock
    timer: Timer
    chance: Chance
    recorder: Recorder
    log: Log

    def manner(self, backoff: Backoff, n_workers: int) -> Manner:
        """How a queue is worked off with these."""
        return Manner(self.timer, self.chance, backoff, n_workers)
