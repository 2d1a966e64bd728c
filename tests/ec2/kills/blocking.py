"""Clients of AWS that answer before the loop goes on, for tests in virtual time.

Time that is virtual does not wait for the network. So a call is made at once, by a client that
blocks, and EC2 is told what time it is. A process may die before or after any of its calls.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dovetail.clock import Clock
from dovetail.providers.aws.apis import AwsApis
from tests.doubles.troubled_kube import ApiCall, When
from tests.kills.mortal import Mortal

AWS = "AWS"  # the kind of such calls among those of a process
_TIME_HEADER = "X-Ec2-For-Tests-Time"
_HANDLER = "time-of-the-caller"


class EmptyAnswer(Exception):  # noqa: N818  it becomes an answer
    """The trouble of a call whose answer has nothing in it."""


def blocking_apis(clients: Mapping[str, Any], mortal: Mortal) -> AwsApis:
    """The clients of one process."""
    made: dict[str, Any] = {
        name: BlockingClient(clients[_service(name)], mortal)
        for name in AwsApis.__dataclass_fields__
    }
    return AwsApis(**made)


def _service(name: str) -> str:
    return "arc-zonal-shift" if name == "zonal_shift" else name.removesuffix("_once")


def tell_time(clients: Mapping[str, Any], clock: Clock) -> None:
    """From now on every call says what time it is by this clock."""

    def add_time(params: dict[str, Any], **_others: object) -> None:
        params["headers"][_TIME_HEADER] = clock.now().isoformat()

    for client in clients.values():
        client.meta.events.unregister("before-call", unique_id=_HANDLER)
        client.meta.events.register("before-call", add_time, unique_id=_HANDLER)


def tell_no_time(clients: Mapping[str, Any]) -> None:
    """From now on calls are answered by the server's own clock again."""
    for client in clients.values():
        client.meta.events.unregister("before-call", unique_id=_HANDLER)


class BlockingClient:
    """A client of one service, as far as a process uses it that may die at any call."""

    def __init__(self, client: Any, mortal: Mortal) -> None:
        self._client = client
        self._mortal = mortal

    def __getattr__(self, name: str) -> Any:
        """A method of the client that is awaited."""
        method = getattr(self._client, name)
        if name == "get_paginator":
            return lambda operation: _Paginator(method(operation), operation, self._mortal)

        async def call(**parameters: Any) -> Any:
            try:
                with _dying_at(self._mortal, name):
                    return method(**parameters)
            except EmptyAnswer:
                return {}

        return call


class _Paginator:
    def __init__(self, paginator: Any, operation: str, mortal: Mortal) -> None:
        self._paginator = paginator
        self._operation = operation
        self._mortal = mortal

    async def paginate(self, **parameters: Any) -> AsyncIterator[Any]:
        """One page after the other; the first counts as a call."""
        try:
            with _dying_at(self._mortal, self._operation):
                pages = list(self._paginator.paginate(**parameters))
        except EmptyAnswer:
            pages = [{}]
        for page in pages:
            yield page


@contextmanager
def _dying_at(mortal: Mortal, name: str) -> Iterator[None]:
    """The moments before and after a call, either of which may be the last of the process."""
    trouble = mortal.meet(ApiCall(0, name, AWS))
    if trouble is not None and trouble.when is When.BEFORE:
        raise trouble.error
    try:
        yield
    finally:
        if trouble is not None:
            raise trouble.error
