"""Failed calls of AWS."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError

from dovetail.providers.aws.calls import CallFailedError, Failure, calling


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
        (refused("ExpiredToken"), Failure.DENIED),
        (NoCredentialsError(), Failure.DENIED),
        (refused("RequestLimitExceeded", 503), Failure.THROTTLED),
        (refused("NoSuchEntity", 404), Failure.NOT_FOUND),
        (refused("InternalError", 500), Failure.UNAVAILABLE),
        (EndpointConnectionError(endpoint_url="x"), Failure.UNAVAILABLE),
        (TimeoutError(), Failure.UNAVAILABLE),
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


def test_other_errors_pass() -> None:
    """A bug is no failed call."""
    with pytest.raises(KeyError), calling("ec2:DescribeSubnets"):
        raise KeyError
