"""Reads EC2NodeClasses, and says whether instances can be launched with them now."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Final

from dovetail import api
from dovetail.clock import Clock
from dovetail.cloud.errors import (
    CloudError,
    CreateError,
    InsufficientCapacityError,
    NodeClassNotReadyError,
)
from dovetail.kube.errors import ApiError, NotFoundError
from dovetail.kube.seam import Kube, Ref
from dovetail.model.pool import NodeClassRef
from dovetail.providers.aws.node_class.definition import KIND
from dovetail.providers.aws.node_class.types import EC2NodeClass

_KEPT_FOR: Final = timedelta(seconds=1)  # a thousand launches at once read it once
_READY: Final = "Ready"


class NodeClassReader:
    """The node classes, read at most once a second each."""

    def __init__(self, kube: Kube, clock: Clock) -> None:
        self._kube = kube
        self._clock = clock
        self._reading = asyncio.Lock()
        self._kept: dict[str, tuple[datetime, EC2NodeClass | None]] = {}

    async def read(self, name: str, *, is_fresh: bool = False) -> EC2NodeClass | None:
        """The class; None if there is none. `is_fresh`: as it is now, not as it was a second ago.
        Raises CloudError if the API cannot be asked.
        """
        async with self._reading:
            until, kept = self._kept.get(name, (None, None))
            if not is_fresh and until is not None and self._clock.now() < until:
                return kept
            try:
                raw = await self._kube.get(Ref(KIND, name))
                kept = api.decode(EC2NodeClass, raw)
            except NotFoundError:
                kept = None
            except ApiError as error:
                msg = f"reading node class {name}: {error}"
                raise CloudError(msg) from error
            self._kept[name] = (self._clock.now() + _KEPT_FOR, kept)
            return kept

    async def ready(self, ref: NodeClassRef) -> EC2NodeClass:
        """The class, if instances can be launched with it. Raises CloudError that says why not."""
        is_ours = (ref.group, ref.kind) == (KIND.group, KIND.name)
        node_class = await self.read(ref.name) if is_ours else None
        if node_class is None or node_class.metadata.deletion_timestamp is not None:
            msg = f"node class {ref.name} does not exist, or is being deleted"
            raise InsufficientCapacityError(msg)
        check_ready(node_class)
        return node_class


def check_ready(node_class: EC2NodeClass) -> None:
    """Raise CloudError unless the status says that the class, as it is now, can launch."""
    name = node_class.metadata.name
    ready = next((item for item in node_class.status.conditions if item.type == _READY), None)
    if ready is None or ready.status not in ("True", "False"):
        why = (
            (ready.message or ready.reason) if ready is not None else "its status is not known yet"
        )
        msg = f"node class {name} may not be ready: {why}"
        raise CreateError(msg, condition_reason="NodeClassReadinessUnknown")
    if ready.status == "False":
        msg = f"node class {name} is not ready: {ready.message or ready.reason}"
        raise NodeClassNotReadyError(msg)
    if ready.observed_generation not in (0, node_class.metadata.generation):
        msg = f"node class {name} was changed, and its status does not tell of the change yet"
        raise NodeClassNotReadyError(msg)
