"""Reports faults of node classes by events and log lines, each at most once a minute."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from dovetail.clock import Clock
from dovetail.cloud.context import ProviderLog
from dovetail.decide.lifecycle.step import Event, EventType
from dovetail.providers.aws.expiring_cache import ExpiringCache
from dovetail.providers.aws.node_class.types import EC2NodeClass

_QUIET_FOR: Final = timedelta(minutes=1)


class StatusReports:
    """Events and log lines about node classes. Never raises."""

    def __init__(self, tell: Callable[[Event], None], log: ProviderLog, clock: Clock) -> None:
        self._tell = tell
        self._log = log
        self._recent: ExpiringCache[tuple[str, str, str], bool] = ExpiringCache(clock)

    def warn(self, node_class: EC2NodeClass, reason: str, message: str) -> None:
        """Report a fault of a class, which its users can mend."""
        meta = node_class.metadata
        if self._is_new(meta.uid, reason, message):
            self._log.warning(
                "node class has a problem", node_class=meta.name, reason=reason, problem=message
            )
            self._tell(_event(node_class, reason, message, EventType.WARNING))

    def note(self, node_class: EC2NodeClass, reason: str, message: str) -> None:
        """Report what a class waits for."""
        if self._is_new(node_class.metadata.uid, reason, message):
            self._tell(_event(node_class, reason, message, EventType.NORMAL))

    def trouble(self, message: str) -> None:
        """Log a fault that belongs to no class, or that users of it cannot mend."""
        if self._is_new("", "", message):
            self._log.warning("cannot look after node classes", problem=message)

    def log_done(self, deed: str, names: tuple[str, ...]) -> None:
        """Log what was done, unless it was done to nothing."""
        if names:
            self._log.info(deed, names=list(names))

    def _is_new(self, uid: str, reason: str, message: str) -> bool:
        key = (uid, reason, message)
        if self._recent.get(key):
            return False
        self._recent.put(key, True, keep_for=_QUIET_FOR)
        return True


def _event(node_class: EC2NodeClass, reason: str, message: str, kind: EventType) -> Event:
    meta = node_class.metadata
    return Event(
        kind="EC2NodeClass",
        name=meta.name,
        uid=meta.uid,
        reason=reason,
        message=message,
        type=kind,
        dedupe=(message,),
        dedupe_for=_QUIET_FOR,
    )
