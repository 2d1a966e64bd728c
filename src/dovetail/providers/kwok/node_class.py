"""May a KWOKNodeClass be launched with, and when do its nodes appear?"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Final

from dovetail import api, labels
from dovetail.clock import Clock
from dovetail.cloud.errors import CreateError, InsufficientCapacityError, NodeClassNotReadyError
from dovetail.kube.errors import NotFoundError
from dovetail.kube.seam import Kube, Ref
from dovetail.model.pool import NodeClassRef
from dovetail.units import duration

_KIND: Final = api.KINDS[labels.KWOK_GROUP, "KWOKNodeClass"]
_BELIEVED_FOR: Final = timedelta(seconds=1)  # a thousand launches at once ask once


class NodeClasses:
    """The node classes, read at most once a second each."""

    def __init__(self, kube: Kube, clock: Clock) -> None:
        self._kube = kube
        self._clock = clock
        self._reading = asyncio.Lock()
        self._held: dict[str, tuple[datetime, api.KWOKNodeClass | None]] = {}

    async def registration_delay(self, ref: NodeClassRef) -> timedelta:
        """How long after its launch a node appears. Raises CloudError if there must be none."""
        found = await self._read(ref.name) if _is_ours(ref) else None
        if found is None or found.metadata.deletion_timestamp is not None:
            msg = f"node class {ref.name} does not exist"
            raise InsufficientCapacityError(msg)
        _check_ready(found)
        return _delay(found)

    async def _read(self, name: str) -> api.KWOKNodeClass | None:
        async with self._reading:
            until, held = self._held.get(name, (None, None))
            if until is not None and self._clock.now() < until:
                return held
            try:
                held = api.decode(api.KWOKNodeClass, await self._kube.get(Ref(_KIND, name)))
            except NotFoundError:
                held = None
            self._held[name] = (self._clock.now() + _BELIEVED_FOR, held)
            return held


def _is_ours(ref: NodeClassRef) -> bool:
    return (ref.group, ref.kind) == (_KIND.group, _KIND.name)


def _check_ready(found: api.KWOKNodeClass) -> None:
    for one in found.status.conditions:
        if one.type != "Ready" or one.status == "True":
            continue
        msg = f"node class {found.metadata.name} is not ready: {one.message or one.reason}"
        if one.status == "False":
            raise NodeClassNotReadyError(msg)
        raise CreateError(msg, condition_reason="NodeClassReadinessUnknown")


def _delay(found: api.KWOKNodeClass) -> timedelta:
    text = found.spec.node_registration_delay
    try:
        return max(duration.parse(text), timedelta(0)) if text else timedelta(0)
    except ValueError as error:
        msg = f"node class {found.metadata.name}: spec.nodeRegistrationDelay: {error}"
        raise CreateError(msg, condition_reason="NodeClassInvalid") from None
