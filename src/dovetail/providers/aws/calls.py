"""Reports failed calls of AWS with the action, the kind of failure and the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Final, TypeVar

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError
from botocore.parsers import ResponseParserError

from dovetail.errors import DovetailError

_DENIED: Final = frozenset(
    {"AccessDenied", "AccessDeniedException", "AuthFailure", "UnauthorizedOperation"}
)
# Who calls is not known: that tells nothing of the call. A clock that is wrong leads to it as well.
_BAD_CREDENTIALS: Final = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_THROTTLED: Final = frozenset(
    {
        "EC2ThrottledException",
        "RequestLimitExceeded",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
_NOT_FOUND: Final = frozenset(
    {
        "InvalidCapacityReservationId.NotFound",
        "InvalidLaunchTemplateId.NotFound",
        "InvalidLaunchTemplateName.NotFoundException",
        "InvalidPlacementGroup.Unknown",
        "InvalidPlacementGroupId.Malformed",
        "NoSuchEntity",
        "ParameterNotFound",
        "ResourceNotFoundException",
    }
)
_N_UNAUTHENTICATED: Final = 401
_N_SERVER_ERROR: Final = 500
T = TypeVar("T")


class Failure(StrEnum):
    """Why a call failed, as far as the caller's reaction differs."""

    DENIED = "AccessDenied"
    CREDENTIALS = "InvalidCredentials"
    THROTTLED = "Throttled"
    NOT_FOUND = "NotFound"
    UNAVAILABLE = "Unavailable"
    REJECTED = "Rejected"


_REMEDIES: Final = {
    Failure.DENIED: "allow {action} in the IAM policy of the controller's role",
    Failure.CREDENTIALS: "check the credentials of the controller, and its clock",
    Failure.THROTTLED: "the call is repeated later",
    Failure.UNAVAILABLE: "the call is repeated later",
    Failure.NOT_FOUND: "",
    Failure.REJECTED: "",
}


class CallFailedError(DovetailError):
    """A call of AWS failed. `action` is written as in an IAM policy: `ec2:DescribeSubnets`."""

    def __init__(self, action: str, code: str, message: str, failure: Failure) -> None:
        remedy = _REMEDIES[failure].format(action=action)
        hint = f"; {remedy}" if remedy else ""
        super().__init__(f"{action} failed: {code}: {message}{hint}")
        self.action = action
        self.code = code
        self.message = message
        self.failure = failure


@contextmanager
def calling(action: str) -> Iterator[None]:
    """Raise what the SDK raises within the block as `CallFailedError`."""
    try:
        yield
    except ClientError as error:
        answer = error.response
        code = str(answer.get("Error", {}).get("Code", ""))
        message = str(answer.get("Error", {}).get("Message", ""))
        status = int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        raise CallFailedError(action, code, message, _failure(code, status)) from error
    except NoCredentialsError as error:
        raise CallFailedError(action, "NoCredentials", str(error), Failure.CREDENTIALS) from error
    except (BotoCoreError, TimeoutError, OSError) as error:
        code = type(error).__name__
        raise CallFailedError(action, code, str(error), Failure.UNAVAILABLE) from error
    except (ResponseParserError, ValueError) as error:
        message = f"the answer cannot be read: {error}"
        raise CallFailedError(action, "MalformedAnswer", message, Failure.UNAVAILABLE) from error


def required(part: T | None, action: str) -> T:
    """A part of an answer that is always there, if only empty. An answer without it was no answer
    of AWS, and must not be taken for an empty one. Raises CallFailedError.
    """
    if part is None:
        message = "the answer is incomplete"
        raise CallFailedError(action, "IncompleteAnswer", message, Failure.UNAVAILABLE)
    return part


def _failure(code: str, status: int) -> Failure:
    if code in _BAD_CREDENTIALS or status == _N_UNAUTHENTICATED:
        return Failure.CREDENTIALS
    if code in _DENIED:
        return Failure.DENIED
    if code in _THROTTLED:
        return Failure.THROTTLED
    if code in _NOT_FOUND:
        return Failure.NOT_FOUND
    return Failure.UNAVAILABLE if status >= _N_SERVER_ERROR else Failure.REJECTED
