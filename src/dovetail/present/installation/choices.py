"""What may whoever installs choose? Little; the Helm chart has the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from dovetail.api.decoding import Tree
from dovetail.api.extension import Extension
from dovetail.api.rbac import ProviderAccess

NAME: Final = "dovetail"


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """What is installed, where. `kubelets`: stand-ins act for the kubelets of nodes that have none.
    `is_shadow`: it only looks, beside another autoscaler, and says what it would do.

    What the provider adds to the API and the rights that it needs come from its plugin.
    """

    version: str
    image: str
    namespace: str = NAME
    replicas: int = 2
    provider: str
    extensions: tuple[Extension, ...] = ()
    access: ProviderAccess = ProviderAccess()
    kubelets: bool = False
    is_shadow: bool = False
    environment: tuple[tuple[str, str], ...] = ()  # settings of the provider, as variables

    def metadata(
        self, name: str, namespace: str = "", labels: Mapping[str, str] | None = None
    ) -> Tree:
        """Of one of our objects."""
        place: dict[str, Tree] = {"namespace": namespace} if namespace else {}
        own_labels: dict[str, Tree] = {
            **selector(),
            "app.kubernetes.io/version": self.version,
            "app.kubernetes.io/managed-by": NAME,
            **(labels or {}),
        }
        return {"name": name, **place, "labels": own_labels}


def selector() -> dict[str, Tree]:
    """The labels by which our pods are found."""
    return {"app.kubernetes.io/name": NAME, "app.kubernetes.io/instance": NAME}
