"""What goes wrong with the calls of a controller to AWS, for a while."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError
from botocore.parsers import ResponseParserError

from tests.doubles.troubled_kube import ApiCall, Trouble, When, no_trouble
from tests.ec2.kills.blocking import AWS, EmptyAnswer
from tests.kills.storms import LASTS_SECONDS, Storm, Strikes
from tests.kills.world import Process, World

_OFTEN = 0.7


def refused(code: str, message: str, status: int) -> Callable[[], Exception]:
    """AWS answers with an error, and does nothing."""
    answer: Any = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return lambda: ClientError(answer, "Call")


throttled = refused("RequestLimitExceeded", "Request limit exceeded.", 503)
server_error = refused("InternalError", "An internal error has occurred", 500)
expired = refused("ExpiredToken", "The security token included in the request is expired", 400)
skewed = refused("RequestExpired", "Request has expired.", 400)
forged = refused("AuthFailure", "AWS was not able to validate the provided access credentials", 401)


def unreachable() -> Exception:
    """There is no connection."""
    return EndpointConnectionError(endpoint_url="https://ec2.us-west-2.amazonaws.com")


def slow() -> Exception:
    """The answer comes too late."""
    return ReadTimeoutError(endpoint_url="https://ec2.us-west-2.amazonaws.com")


def unreadable() -> Exception:
    """The answer breaks off."""
    return ResponseParserError("unclosed token: line 7, column 12")


def failing(error: Callable[[], Exception], *moments: When, share: float = _OFTEN) -> Strikes:
    """Most calls to AWS fail, before they are carried out or after it."""

    async def storm(world: World, process: Process, chance: Random) -> None:
        def trouble(call: ApiCall) -> Trouble | None:
            if call.kind != AWS or chance.random() >= share:
                return None
            return Trouble(error(), chance.choice(moments))

        process.mortal.trouble = trouble
        await world.pass_(LASTS_SECONDS)
        process.mortal.trouble = no_trouble

    return storm


OUTAGES = {"throttled": throttled, "expired credentials": expired, "unreachable": unreachable}
_STORMS = (
    ("throttled", throttled, When.BEFORE),
    ("server errors", server_error, When.BEFORE),
    ("expired credentials", expired, When.BEFORE),
    ("clock skew", skewed, When.BEFORE),
    ("credentials that are not accepted", forged, When.BEFORE),
    ("cut connections", unreachable, When.BEFORE),
    ("lost answers", unreachable, When.AFTER),
    ("slow", slow, When.AFTER),
    ("answers that break off", unreadable, When.AFTER),
    ("empty answers", EmptyAnswer, When.AFTER),
)
STORMS = tuple(
    Storm(name, failing(error, moment), lets_steer=False) for name, error, moment in _STORMS
)
