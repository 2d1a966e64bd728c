"""Failed calls of AWS."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError
from botocore.parsers import ResponseParserError

from dovetail.providers.aws.calls import CallFailedError, Failure, calling, required


def refused(code: str, status: int = 400) -> ClientError:
    """What botocore raises for an answer with an error."""
    answer: Any = {
        "Error": {"Code": code, "Message": "no"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(answer, "DescribeSubnets")


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (refused("UnauthorizedOperation", 403), Failure.DENIED),
        (refused("AccessDeniedException"), Failure.DENIED),
        (refused("AuthFailure", 403), Failure.DENIED),
        (refused("ExpiredToken"), Failure.CREDENTIALS),
        (refused("RequestExpired"), Failure.CREDENTIALS),
        (refused("SignatureDoesNotMatch", 403), Failure.CREDENTIALS),
        (refused("AuthFailure", 401), Failure.CREDENTIALS),
        (NoCredentialsError(), Failure.CREDENTIALS),
        (refused("RequestLimitExceeded", 503), Failure.THROTTLED),
        (refused("NoSuchEntity", 404), Failure.NOT_FOUND),
        (refused("InternalError", 500), Failure.UNAVAILABLE),
        (EndpointConnectionError(endpoint_url="x"), Failure.UNAVAILABLE),
        (TimeoutError(), Failure.UNAVAILABLE),
        (ResponseParserError("unclosed token"), Failure.UNAVAILABLE),
        (ValueError("Invalid isoformat string: 'x'"), Failure.UNAVAILABLE),
        (refused("InvalidParameterValue"), Failure.REJECTED),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_failed_call_tells_how_to_react(error: Exception, failure: Failure) -> None:
    """Whatever the SDK raises; the message begins with the call."""
    with pytest.raises(CallFailedError) as caught, calling("ec2:DescribeSubnets"):
        raise error
    assert caught.value.failure is failure
    assert str(caught.value).startswith("ec2:DescribeSubnets failed: ")


def test_a_missing_permission_is_named_as_a_policy_writes_it() -> None:
    """So that it can be copied."""
    denied = refused("UnauthorizedOperation")
    with pytest.raises(CallFailedError, match="allow ec2:X in the IAM policy"), calling("ec2:X"):
        raise denied


def test_bad_credentials_are_no_missing_permission() -> None:
    """A wrong clock leads to them as well."""
    skewed, remedy = refused("RequestExpired"), "the credentials of the controller, and its clock"
    with pytest.raises(CallFailedError, match=remedy), calling("ec2:X"):
        raise skewed


def test_an_answer_without_its_part_is_no_answer() -> None:
    """An empty part is one."""
    assert required([], "ec2:X") == []
    with pytest.raises(CallFailedError, match="the answer is incomplete"):
        required(None, "ec2:X")


def test_other_errors_pass() -> None:
    """A bug is no failed call."""
    with pytest.raises(KeyError), calling("ec2:DescribeSubnets"):
        raise KeyError
