"""Writes findings as text for people, and as data for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dovetail.api.decoding import Tree
from dovetail.migration.findings import MigrationFinding, Severity, is_clean

_WIDTH: Final = 8


def report_text(findings: Sequence[MigrationFinding]) -> str:
    """A paragraph for each finding, then how many there are."""
    if not findings:
        return "Nothing would go wrong.\n"
    paragraphs = [
        f"{finding.severity:<{_WIDTH}}{finding}\n{'':<{_WIDTH}}remedy: {finding.remedy}\n"
        for finding in findings
    ]
    return "".join([*paragraphs, f"\n{_counts(findings)}\n"])


def _counts(findings: Sequence[MigrationFinding]) -> str:
    counts = [
        f"{n} {severity}{'' if n == 1 else 's'}"
        for severity in Severity
        if (n := _number(findings, severity))
    ]
    return f"{', '.join(counts)}."


def _number(findings: Sequence[MigrationFinding], severity: Severity) -> int:
    return sum(finding.severity is severity for finding in findings)


def report_json(findings: Sequence[MigrationFinding]) -> dict[str, Tree]:
    """The same as fields."""
    return {
        "clean": is_clean(findings),
        "counts": {str(severity): _number(findings, severity) for severity in Severity},
        "findings": [
            {
                "severity": str(finding.severity),
                "object": finding.object,
                "field": finding.field,
                "message": finding.message,
                "remedy": finding.remedy,
            }
            for finding in findings
        ],
    }
