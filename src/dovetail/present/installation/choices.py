"""What may whoever installs choose? Little; the Helm chart has the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from dovetail.api.decoding import Tree

NAME: Final = "dovetail"
KWOK: Final = "kwok"


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """What is installed, where. `kubelets`: stand-ins act for the kubelets of kwok nodes.
    `is_shadow`: it only looks, beside another autoscaler, and says what it would do.
    """

    version: str
    image: str
    namespace: str = NAME
    replicas: int = 2
    provider: str = KWOK
    kubelets: bool = False
    is_shadow: bool = False

    @property
    def is_kwok(self) -> bool:
        """Whether nodes are only pretended."""
        return self.provider == KWOK

    def metadata(
        self, name: str, namespace: str = "", labels: Mapping[str, str] | None = None
    ) -> Tree:
        """Of one of our objects."""
        place: dict[str, Tree] = {"namespace": namespace} if namespace else {}
        said: dict[str, Tree] = {
            **selector(),
            "app.kubernetes.io/version": self.version,
            "app.kubernetes.io/managed-by": NAME,
            **(labels or {}),
        }
        return {"name": name, **place, "labels": said}


def selector() -> dict[str, Tree]:
    """The labels by which our pods are found."""
    return {"app.kubernetes.io/name": NAME, "app.kubernetes.io/instance": NAME}
