"""Defines a finding: what would go wrong with one object, and the remedy."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec


class Severity(StrEnum):
    """How bad a finding is. An error fails, a warning changes something, a note is information."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class MigrationFinding(msgspec.Struct, frozen=True):
    """What would go wrong. `object` is kind and name; `field` is empty if it is about all of it."""

    severity: Severity
    object: str
    field: str
    message: str
    remedy: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.object, self.field, self.message) if part)


_RANKS = {severity: rank for rank, severity in enumerate(Severity)}


def in_order(findings: Iterable[MigrationFinding]) -> tuple[MigrationFinding, ...]:
    """The worst first, then by object and field; each once."""
    distinct = set(findings)
    return tuple(
        sorted(
            distinct,
            key=lambda item: (_RANKS[item.severity], item.object, item.field, item.message),
        )
    )


def is_clean(findings: Iterable[MigrationFinding]) -> bool:
    """Whether nothing would go wrong or change; notes do not count."""
    return all(finding.severity is Severity.NOTE for finding in findings)
