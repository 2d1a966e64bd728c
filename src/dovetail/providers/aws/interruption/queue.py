"""Reads the interruption queue, and deletes what is acted upon.

A message is deleted once the claims that it is about are being deleted, or once its end is written
on them. Until then it stays in the queue, invisible for a while: if this process dies, it is read
again. What is read twice changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final

import msgspec

from dovetail.cloud.context import ProviderContext
from dovetail.kube.errors import ApiError
from dovetail.kube.seam import Kube
from dovetail.providers.aws.calls import CallFailedError, calling, required
from dovetail.providers.aws.interruption.claims import InstanceClaim
from dovetail.providers.aws.interruption.fault_log import FaultLog
from dovetail.providers.aws.interruption.handler import InterruptionHandler
from dovetail.providers.aws.interruption.messages import (
    Interruption,
    InterruptionKind,
    MalformedMessageError,
    read_message,
)
from dovetail.providers.aws.interruption.metrics import (
    DELETED_MESSAGES,
    MESSAGE_DURATION,
    RECEIVED_MESSAGES,
)

if TYPE_CHECKING:
    from types_aiobotocore_sqs import SQSClient
    from types_aiobotocore_sqs.type_defs import MessageTypeDef

WAIT_SECONDS: Final = 20
_VISIBILITY_SECONDS: Final = 20
_BATCH: Final = 10
_AT_ONCE: Final = 10
_SETTLE_SECONDS: Final = 1.0
_AGAIN_SECONDS: Final = 10.0  # after a call that failed
_GET_URL: Final = "sqs:GetQueueUrl"


class _Held(msgspec.Struct, frozen=True):
    """A message that was acted upon, the claims that must be going before it is deleted, and until
    when it is ours (in seconds of the timer).
    """

    receipt: str
    sent_at: datetime | None
    awaited: tuple[str, ...]
    until: float


class InterruptionQueue:
    """The reader of one queue."""

    def __init__(
        self,
        context: ProviderContext[Kube],
        sqs: SQSClient,
        name: str,
        handler: InterruptionHandler,
        *,
        wait_seconds: int = WAIT_SECONDS,
    ) -> None:
        self._context = context
        self._sqs = sqs
        self._name = name
        self._handler = handler
        self._wait_seconds = wait_seconds
        self._faults = FaultLog(context.log, context.timer)
        self._url = ""
        self._held: dict[str, _Held] = {}  # by message id
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def run(self) -> None:
        """Read until cancelled, and delete beside that."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._settle_again_and_again())
            while True:
                if not await self._attempt():
                    await self._context.timer.sleep(_AGAIN_SECONDS)

    async def _attempt(self) -> bool:
        try:
            await self.receive()
        except CallFailedError as error:
            self._url = ""  # it may have been made anew
            self._faults.warn("cannot read the interruption queue", queue=self._name, error=error)
            return False
        except ApiError as error:
            self._faults.warn("cannot act on interruptions", queue=self._name, error=error)
            return False
        return True

    async def receive(self) -> int:
        """Read a batch and act on it; how many messages there were.

        Raises CallFailedError, ApiError.
        """
        url = await self._queue_url()
        with calling("sqs:ReceiveMessage"):
            answer = await self._sqs.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=_BATCH,
                WaitTimeSeconds=self._wait_seconds,
                VisibilityTimeout=_VISIBILITY_SECONDS,
            )
        messages = answer.get("Messages", [])
        if messages:
            await self._act(messages)
        return len(messages)

    async def _act(self, messages: Iterable[MessageTypeDef]) -> None:
        until = self._context.timer.elapsed_seconds() + _VISIBILITY_SECONDS - _SETTLE_SECONDS
        claims = await self._handler.claims.by_instance()
        async with asyncio.TaskGroup() as group:
            for message in messages:
                group.create_task(self._act_on(message, claims, until))

    async def _act_on(
        self, message: MessageTypeDef, claims: Mapping[str, InstanceClaim], until: float
    ) -> None:
        """One message. If that fails it stays in the queue."""
        interruption = self._read(message.get("Body", ""))
        async with self._slots:
            try:
                awaited = await self._handler.act(interruption, claims)
            except ApiError as error:
                self._faults.warn("cannot act on an interruption", error=error)
                return
        entry = _Held(message.get("ReceiptHandle", ""), interruption.sent_at, awaited, until)
        self._held[message.get("MessageId", "")] = entry

    def _read(self, body: str) -> Interruption:
        """What a message says; nothing if that cannot be told, which is reported."""
        try:
            interruption = read_message(body)
        except MalformedMessageError as error:
            self._faults.warn("a message of the interruption queue cannot be read", error=error)
            interruption = Interruption(InterruptionKind.NOTHING)
        self._context.meters.count(RECEIVED_MESSAGES, message_type=interruption.kind.value)
        return interruption

    # ------------------------------------------------------------ deleting

    async def _settle_again_and_again(self) -> None:
        while True:
            await self._context.timer.sleep(_SETTLE_SECONDS)
            try:
                await self.settle()
            except (CallFailedError, ApiError) as error:
                self._faults.warn("cannot delete messages", queue=self._name, error=error)

    async def settle(self) -> None:
        """Delete the messages whose claims are being deleted or are gone. Others are read again
        once they are visible. Raises CallFailedError, ApiError.
        """
        standing: frozenset[str] = frozenset()
        if any(entry.awaited for entry in self._held.values()):
            claims = await self._handler.claims.by_instance()
            standing = frozenset(claim.uid for claim in claims.values() if not claim.is_deleting)
        now = self._context.timer.elapsed_seconds()
        self._held = {key: entry for key, entry in self._held.items() if entry.until > now}
        done = [key for key, entry in self._held.items() if standing.isdisjoint(entry.awaited)]
        for start in range(0, len(done), _BATCH):
            await self._delete(done[start : start + _BATCH])

    async def _delete(self, keys: list[str]) -> None:
        with calling("sqs:DeleteMessage"):
            answer = await self._sqs.delete_message_batch(
                QueueUrl=await self._queue_url(),
                Entries=[
                    {"Id": str(number), "ReceiptHandle": self._held[key].receipt}
                    for number, key in enumerate(keys)
                ],
            )
        failed = {entry.get("Id", "") for entry in answer.get("Failed", [])}
        now = self._context.clock.now()
        for number, key in enumerate(keys):
            entry = self._held.pop(key)
            if str(number) in failed:
                continue  # it is read again
            self._context.meters.count(DELETED_MESSAGES)
            if entry.sent_at is not None:
                spent = max((now - entry.sent_at).total_seconds(), 0.0)
                self._context.meters.observe(MESSAGE_DURATION, spent)

    async def _queue_url(self) -> str:
        if not self._url:
            with calling(_GET_URL):
                answer = await self._sqs.get_queue_url(QueueName=self._name)
            self._url = required(answer.get("QueueUrl"), _GET_URL)
        return self._url
