"""What do pods have in common? Equal parts of many pods are kept once.

Pods of one workload carry the same labels and the same owner. A table entry that no pod uses any
more is swept out: `sweep` is told what is still in use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from dovetail import api
from dovetail.model.pod import Owner, Pod

_NOTHING: Final[Mapping[str, str]] = {}


class Shared:
    """Labels and owners met so far."""

    def __init__(self) -> None:
        self._labels: dict[bytes, Mapping[str, str]] = {}
        self._owners: dict[api.OwnerReference, Owner] = {}

    def labels(self, held: Mapping[str, str]) -> Mapping[str, str]:
        """The same labels, and the same object for all who have them."""
        return self._labels.setdefault(msgspec.json.encode(held), held) if held else _NOTHING

    def owner(self, reference: api.OwnerReference) -> Owner:
        """The same owner for all who have it."""
        found = self._owners.get(reference)
        if found is None:
            found = Owner(reference.kind, reference.name, reference.uid, reference.api_version)
            self._owners[reference] = found
        return found

    def sweep(self, pods: Iterable[Pod]) -> None:
        """Forget what none of these pods uses."""
        used = {id(part) for pod in pods for part in (pod.labels, pod.annotations, pod.owner)}
        self._labels = {key: one for key, one in self._labels.items() if id(one) in used}
        self._owners = {key: one for key, one in self._owners.items() if id(one) in used}

    @property
    def n_held(self) -> int:
        """How many distinct labels and owners are remembered."""
        return len(self._labels) + len(self._owners)
