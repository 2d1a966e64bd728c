"""Judges requests by policies, as IAM does with the operators that the policies use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

Policy = Mapping[str, Any]
Context = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Access:
    """An action on a resource, with the keys that conditions are about."""

    action: str
    resource: str = "*"
    context: Context = field(default_factory=dict)


def is_allowed(access: Access, policies: Iterable[Policy]) -> bool:
    """Whether a statement allows it, and none denies it."""
    effects = {
        statement["Effect"]
        for policy in policies
        for statement in policy["Statement"]
        if _applies(statement, access)
    }
    return effects == {"Allow"}


def _applies(statement: Policy, access: Access) -> bool:
    return (
        access.action in statement["Action"]
        and any(_is_like(access.resource, pattern) for pattern in statement["Resource"])
        and all(
            _holds(operator, access.context.get(key), values)
            for operator, keys in statement.get("Condition", {}).items()
            for key, values in keys.items()
        )
    )


def _holds(operator: str, given: Sequence[str] | None, values: Sequence[str]) -> bool:
    """Whether a condition holds; a key that the request does not have fails it."""
    match operator:
        case "StringEquals":
            return bool(given) and any(value in values for value in given or ())
        case "StringEqualsIfExists":
            return given is None or any(value in values for value in given)
        case "ForAllValues:StringEquals":
            return all(value in values for value in given or ())
        case "StringLike":
            return any(_is_like(value, pattern) for value in given or () for pattern in values)
        case _:
            msg = f"the judge does not know the operator {operator}"
            raise AssertionError(msg)


def _is_like(value: str, pattern: str) -> bool:
    assert "[" not in pattern
    return fnmatchcase(value, pattern)
