"""What is a scenario? One law of planning in one file: why, given what, wanted what.

    because: Two replicas that avoid each other need two nodes.
    given:
      pods: [{name: web, replicas: 2, anti_affinity: [{topology_key: hostname}]}]
    want:
      nodes: 2

The same file is a test, an input of `dovetail plan -f`, and an example in the documentation.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
import yaml

from dovetail.decide.disrupt.why import staying
from dovetail.errors import InputError
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot
from dovetail.testing.border import snapshot_of
from dovetail.testing.departures import staying_differences
from dovetail.testing.given import Given
from dovetail.testing.want import Want

DEFAULT_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
_KEYS: Final = frozenset({"because", "given", "now", "want"})


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A scenario file, word for word."""

    because: str
    given: Given
    want: Want
    now: datetime = DEFAULT_NOW


class Scenario(msgspec.Struct, frozen=True):
    """A cluster, a moment, and what a plan for it must hold, with the law behind it."""

    name: str
    because: str
    snapshot: Snapshot
    now: datetime
    want: Want

    def differences(self, plan: Plan) -> list[str]:
        """Every way in which the plan is not what was wanted; empty if it is."""
        found = self.want.differences(self.snapshot, plan)
        told = staying(self.snapshot, plan, self.now)
        return [*found, *staying_differences(self.want.stays, told)]


def is_scenario(tree: object) -> bool:
    """Whether a parsed document is a scenario rather than a Kubernetes object."""
    return isinstance(tree, dict) and "given" in tree and set(tree) <= _KEYS


def load(path: str | Path) -> Scenario:
    """The scenario in a file. Raises InputError that names file, field and what was expected."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        tree = yaml.load(text, Loader=yaml.CSafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        msg = f"{path}: reading the scenario: {error}"
        raise InputError(msg) from error
    return parse(tree, str(path))


def parse(tree: object, name: str) -> Scenario:
    """The scenario of a parsed document; `name` is for messages."""
    try:
        file = msgspec.convert(tree, _File)
        _require_substance(file)
        return Scenario(
            name, file.because.strip(), snapshot_of(file.given, name), file.now, file.want
        )
    except (msgspec.ValidationError, ValueError) as error:
        msg = f"{name}: reading the scenario: {error}"
        raise InputError(msg) from error


def _require_substance(file: _File) -> None:
    """A scenario that could not fail, or that gives no reason, proves nothing."""
    if file.want == Want():
        msg = "`want` is empty; say at least how many `nodes` are wanted"
        raise ValueError(msg)
    if not file.because.strip():
        msg = "`because` is empty; say which law this shows"
        raise ValueError(msg)
    if file.now.tzinfo is None:
        msg = "`now` needs a time zone, as in 2026-01-01T00:00:00Z"
        raise ValueError(msg)
