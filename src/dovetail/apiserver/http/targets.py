"""Parses request paths: a kind, one namespace or all, one object or many, a subresource."""

from __future__ import annotations

from urllib.parse import unquote

import msgspec

from dovetail import api
from dovetail.apiserver.http.kinds import BY_PATH, Offered
from dovetail.kube.seam import Ref

_NAMESPACES = "namespaces"


class Target(msgspec.Struct, frozen=True):
    """What is asked about. No `name`: all objects of the kind."""

    offered: Offered
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def kind(self) -> api.Kind:
        """Its kind."""
        return self.offered.kind

    @property
    def ref(self) -> Ref:
        """The one object."""
        return Ref(self.kind, self.name, self.namespace)


def target(raw_path: str) -> Target | None:
    """What a path means, still quoted; None if it means nothing."""
    steps = [unquote(step) for step in raw_path.strip("/").split("/")]
    match steps:
        case ["api", version, *rest]:
            return _within("", version, rest)
        case ["apis", group, version, *rest]:
            return _within(group, version, rest)
        case _:
            return None


def _within(group: str, version: str, steps: list[str]) -> Target | None:
    namespace = ""
    # A namespace has parts of its own, which are no kinds.
    if len(steps) > 2 and steps[0] == _NAMESPACES and (group, version, steps[2]) in BY_PATH:
        namespace, steps = steps[1], steps[2:]
    if not 1 <= len(steps) <= 3:
        return None
    offered = BY_PATH.get((group, version, steps[0]))
    if offered is None or (namespace and not offered.kind.is_namespaced):
        return None
    name, subresource = [*steps[1:], "", ""][:2]
    return Target(offered, namespace, name, subresource)
