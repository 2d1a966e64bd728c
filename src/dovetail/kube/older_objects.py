"""Sets objects of older versions aside while manifests are read, and converts them at the end.

At the end, because settings move between objects. NodePools and node classes of v1 are set aside
too: an older NodePool may change them. So are workloads that name labels by their older names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

import msgspec

from dovetail import api
from dovetail.api.older.door import ConversionOptions
from dovetail.api.older.draft import Fields, as_fields
from dovetail.api.older.engine import Engine, Outcome
from dovetail.api.older.renames import MARKS, WORKLOADS
from dovetail.errors import InputError

OriginT = TypeVar("OriginT")


class OlderObjects(Generic[OriginT]):
    """What was set aside. `n_by_kind` and `warnings` say what was converted."""

    def __init__(self, extensions: Sequence[api.Extension]) -> None:
        older = [extension.older for extension in extensions if extension.older is not None]
        self._engine = Engine(older, ConversionOptions(is_for_reading=True))
        self._aside: list[tuple[OriginT, Fields, bytes]] = []
        self._has_older_names = True
        self._may_take: dict[tuple[str, str], bool] = {}  # by apiVersion and kind, of this text
        self.n_by_kind: dict[str, int] = {}
        self.warnings: list[str] = []

    def begin(self, text: bytearray) -> None:
        """Take note of the text of which objects come next."""
        self._has_older_names = any(mark in text for mark in MARKS)
        self._may_take.clear()

    def may_take(self, api_version: str, kind: str) -> bool:
        """Whether an object may have to be set aside, as far as its kind says."""
        key = (api_version, kind)
        may = self._may_take.get(key)
        if may is None:
            may = self._has_older_names or self._engine.concerns(api_version, kind)
            self._may_take[key] = may
        return may

    def takes(self, origin: OriginT, api_version: str, kind: str, data: bytes) -> bool:
        """Set an object aside, if it must be."""
        if not self._engine.concerns(api_version, kind):
            is_workload = (api_version.rpartition("/")[0], kind) in WORKLOADS
            if not is_workload or not any(mark in data for mark in MARKS):
                return False
        typed: Fields = {"apiVersion": api_version, "kind": kind}
        self._aside.append((origin, as_fields(msgspec.json.decode(data)) | typed, data))
        return True

    def convert(
        self, report: Callable[[InputError], None]
    ) -> Iterator[tuple[OriginT, Fields, bytes]]:
        """Every object that was set aside as one of v1, and its JSON, without those of errors."""
        outcomes = self._engine.convert([tree for _, tree, _ in self._aside])
        for (origin, tree, data), outcome in zip(self._aside, outcomes, strict=True):
            is_sound = self._tell(origin, tree, outcome, report)
            if is_sound and not outcome.is_changed:
                yield origin, tree, data
            elif is_sound:
                kind = str(tree["kind"])
                self.n_by_kind[kind] = self.n_by_kind.get(kind, 0) + 1
                for part in (outcome.object, *outcome.added):
                    yield origin, part.tree, api.encode(part.tree)
        self._aside.clear()

    def _tell(
        self, origin: OriginT, tree: Fields, outcome: Outcome, report: Callable[[InputError], None]
    ) -> bool:
        """Report errors and keep warnings; whether there is no error."""
        title = f"{origin}: {tree['kind']} {as_fields(tree.get('metadata')).get('name', '')}"
        for notice in outcome.notices:
            message = f"{title}: {api.FieldProblem(notice.field, notice.message)}"
            if notice.is_error:
                report(InputError(message))
            else:
                self.warnings.append(message)
        return not any(notice.is_error for notice in outcome.notices)
