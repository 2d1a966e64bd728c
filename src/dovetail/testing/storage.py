"""What does a scenario say of storage? Claims, the volumes they are bound to, and classes."""

from __future__ import annotations

import msgspec

from dovetail.model.topology import NodeTerm
from dovetail.model.volumes import StorageClass, Volume, VolumeClaim
from dovetail.testing import shorthand

DRIVER = "test.csi.example.com"


def _terms(zones: list[str], alternatives: list[list[str]]) -> tuple[NodeTerm, ...]:
    written = [[f"zone In {zone}"] for zone in zones] + alternatives
    return tuple(shorthand.term(term) for term in written)


class GivenVolume(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A PersistentVolume that is reachable from any of `zones`, or of `node_affinity`'s terms."""

    zones: list[str] = []
    node_affinity: list[list[str]] = []
    driver: str = DRIVER

    def volume(self, name: str) -> Volume:
        """The volume of that name."""
        return Volume(name, self.driver, _terms(self.zones, self.node_affinity))


class GivenClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A PersistentVolumeClaim: bound to `volume`, or waiting for its first pod."""

    volume: str = ""
    storage_class: str | None = None
    namespace: str = "default"
    is_lost: bool = False

    def claim(self, name: str) -> VolumeClaim:
        """The claim of that name."""
        return VolumeClaim(
            name, self.namespace, self.storage_class, self.volume, is_lost=self.is_lost
        )


class GivenStorageClass(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A StorageClass that makes volumes in any of `zones`; without them, anywhere."""

    zones: list[str] = []
    allowed_topologies: list[list[str]] = []
    driver: str = DRIVER
    is_immediate: bool = False

    def storage_class(self, name: str) -> StorageClass:
        """The class of that name."""
        terms = _terms(self.zones, self.allowed_topologies)
        return StorageClass(name, self.driver, is_immediate=self.is_immediate, terms=terms)
