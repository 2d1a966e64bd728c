"""Defines what every controller works with: the API, the cloud, time, and where to report."""

from __future__ import annotations

import msgspec

from dovetail import api
from dovetail.clock import Clock, Timer
from dovetail.cloud.provider import CloudProvider
from dovetail.controllers.workqueue import QueueSettings
from dovetail.kube.seam import Kube
from dovetail.model.backoff import Backoff, Chance
from dovetail.model.pool import NodeClassRef
from dovetail.observe.events import Recorder
from dovetail.observe.logs import Log
from dovetail.observe.meters import Meters


class Dependencies(msgspec.Struct, frozen=True):
    """The API, the cloud, time, chance, and where to tell what happened. `breadth` says how many
    times as much is done at once as on one core, `extensions` what providers add to the API.
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
    extensions: tuple[api.Extension, ...] = ()

    @property
    def node_classes(self) -> tuple[NodeClassRef, ...]:
        """The kinds of node classes that our cloud launches with."""
        return tuple(
            NodeClassRef(kind.group, kind.kind) for kind in self.cloud.supported_node_classes
        )

    def queue_settings(self, backoff: Backoff, n_workers: int) -> QueueSettings:
        """How a queue is worked off with these."""
        return QueueSettings(self.timer, self.chance, backoff, round(n_workers * self.breadth))
