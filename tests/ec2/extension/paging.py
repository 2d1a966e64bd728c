"""Pages: a part of a list, and a token for the rest."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TypeVar

from tests.ec2.extension.wire import AwsError, Tree

Item = TypeVar("Item")


def page(
    items: list[Item], parameters: Tree, *, least: int = 5, most: int = 1000, usual: int = 0
) -> tuple[list[Item], str | None]:
    """The page that is asked for, and the token of the next one.

    `usual` is the size of a page that nobody gave a size; 0 means everything.
    """
    size = parameters.get("MaxResults")
    if size is not None and not least <= size <= most:
        msg = f"Value ({size}) for parameter maxResults is invalid. Expecting {least} to {most}."
        raise AwsError("InvalidParameterValue", msg)
    start = _read_token(parameters.get("NextToken"))
    size = size or usual or len(items)
    end = start + size
    return items[start:end], write_token(end) if end < len(items) else None


def write_token(position: int) -> str:
    """An opaque token for a position."""
    return urlsafe_b64encode(f"after:{position}".encode()).decode()


def _read_token(token: str | None) -> int:
    if not token:
        return 0
    try:
        word, _, position = urlsafe_b64decode(token).decode().partition(":")
        if word == "after":
            return int(position)
    except ValueError:
        pass
    msg = f"The token '{token}' is invalid"
    raise AwsError("InvalidNextToken", msg)
