"""What does every controller work with? The same few things, made once at start-up."""

from __future__ import annotations

import msgspec

from dovetail.clock import Clock, Timer
from dovetail.cloud.provider import CloudProvider
from dovetail.controllers.workqueue import Manner
from dovetail.kube.seam import Kube
from dovetail.model.backoff import Backoff, Chance
from dovetail.observe.events import Recorder
from dovetail.observe.logs import Log
from dovetail.observe.meters import Meters


class Means(msgspec.Struct, frozen=True):
    """The API, the cloud, time, chance, and where to tell what happened. `breadth` says how many
    times as much is done at once as on one core.
    """

    kube: Kube
    cloud: CloudProvider
    clock: Clock
    timer: Timer
    chance: Chance
    recorder: Recorder
    meters: Meters
    log: Log
    breadth: float = 1.0

    def manner(self, backoff: Backoff, n_workers: int) -> Manner:
        """How a queue is worked off with these."""
        return Manner(self.timer, self.chance, backoff, round(n_workers * self.breadth))
