"""The record of every call, in order, for tests to read."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime
from threading import Lock

from tests.ec2.extension.wire import Request, Tree


@dataclass
class Call:
    """One call: `number` counts calls as they came, `answered` as they were answered."""

    number: int
    service: str
    action: str
    parameters: Tree
    at: str
    agent: str = ""  # the SDK that calls, and for whom
    tags: Tree = field(default_factory=dict)  # of resources that it names, by id or name
    error_code: str = ""
    answered: int = 0  # 0: not yet


class Record:
    """All calls since the last reset."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._calls: list[Call] = []
        self._n_answered = 0

    def begin(self, request: Request, now: datetime, agent: str, tags: Tree) -> Call:
        """Note that a call came."""
        with self._lock:
            call = Call(
                number=len(self._calls) + 1,
                service=request.service,
                action=request.action,
                parameters=request.parameters,
                at=now.isoformat(),
                agent=agent,
                tags=tags,
            )
            self._calls.append(call)
            return call

    def end(self, call: Call, error_code: str) -> None:
        """Note that a call was answered."""
        with self._lock:
            self._n_answered += 1
            call.answered, call.error_code = self._n_answered, error_code

    def read(self, after: int) -> list[Tree]:
        """Every call after the one with this number."""
        with self._lock:
            return [asdict(call) for call in self._calls[after:]]

    def clear(self) -> None:
        """Forget every call."""
        with self._lock:
            self._calls.clear()
            self._n_answered = 0
