"""The interruption queue in the world of kills: it is read now and then, and forgets nothing."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from dovetail.clock import Timer
from dovetail.cloud.context import ProviderContext
from dovetail.kube.errors import ApiError
from dovetail.kube.seam import Kube
from dovetail.providers.aws.apis import AwsApis
from dovetail.providers.aws.calls import CallFailedError
from dovetail.providers.aws.interruption.handler import InterruptionHandler
from dovetail.providers.aws.interruption.queue import InterruptionQueue
from dovetail.providers.aws.provider import AwsProvider

QUEUE = "kills"
_PERIOD_SECONDS = 15.0


class _Visible:
    """SQS, whose messages stay visible: whoever reads next reads them again, in any time."""

    def __init__(self, sqs: Any) -> None:
        self._sqs = sqs

    def __getattr__(self, name: str) -> Any:
        """A method of SQS."""
        return getattr(self._sqs, name)

    async def receive_message(self, **parameters: Any) -> Any:
        """Read messages and leave them where they are."""
        return await self._sqs.receive_message(**{**parameters, "VisibilityTimeout": 0})


class QueueReader:
    """Reads the queue every few seconds for as long as there are messages in it."""

    def __init__(
        self, context: ProviderContext[Kube], apis: AwsApis, provider: AwsProvider, sqs: Any
    ) -> None:
        catalogue = provider.catalogue
        handler = InterruptionHandler(context, catalogue.unavailable, catalogue.reservations)
        visible: Any = _Visible(apis.sqs)
        self._queue = InterruptionQueue(context, visible, QUEUE, handler, wait_seconds=0)
        self._timer: Timer = context.timer
        self._sqs = sqs

    async def run(self) -> None:
        """Work until cancelled. What fails is tried again."""
        while True:
            await self._timer.sleep(_PERIOD_SECONDS)
            if n_messages(self._sqs):
                with suppress(CallFailedError, ApiError):
                    await self._queue.receive()
                    await self._queue.settle()


def n_messages(sqs: Any) -> int:
    """How many messages are in the queue."""
    url = sqs.create_queue(QueueName=QUEUE)["QueueUrl"]
    name = "ApproximateNumberOfMessages"
    answer = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])
    return int(answer["Attributes"][name])
