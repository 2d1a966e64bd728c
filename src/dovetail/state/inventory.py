"""What kinds of objects are there? Sorted out by type, each kind by namespace and name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar

from dovetail import api

T = TypeVar("T", bound=api.Object)
DEFAULT_NAMESPACE: Final = "default"


def namespace_of(found: api.Object) -> str:
    """The namespace an object is in; manifests may leave it out."""
    return found.metadata.namespace or DEFAULT_NAMESPACE


class Inventory:
    """Every object by its type. Asking for a type that did not occur gives nothing."""

    def __init__(self, objects: Iterable[api.Object]) -> None:
        self._by_type: dict[type[api.Object], list[api.Object]] = {}
        for one in objects:
            self._by_type.setdefault(type(one), []).append(one)
        for held in self._by_type.values():
            held.sort(key=lambda one: (namespace_of(one), one.metadata.name))

    def all(self, wanted: type[T]) -> tuple[T, ...]:
        """All objects of this type, by namespace and name."""
        return tuple(one for one in self._by_type.get(wanted, ()) if isinstance(one, wanted))

    def by_namespace(self, wanted: type[T]) -> dict[str, list[T]]:
        """The same, apart by namespace."""
        result: dict[str, list[T]] = {}
        for one in self.all(wanted):
            result.setdefault(namespace_of(one), []).append(one)
        return result

    def namespaces(self, *, is_live: bool = False) -> dict[str, dict[str, str]]:
        """Every namespace that is declared, with the labels that it has or would get; and, unless
        an API has said all there is, every one that is used.
        """
        used = [] if is_live else [kind for kind in api.KINDS.values() if kind.is_namespaced]
        names = {
            namespace_of(one) for kind in used for one in self._by_type.get(kind.wire_type, ())
        }
        result = {name: {_NAME_LABEL: name} for name in names}
        for one in self.all(api.Namespace):
            result[one.metadata.name] = namespace_labels(one)
        return dict(sorted(result.items()))


def namespace_labels(wire: api.Namespace) -> dict[str, str]:
    """The labels of a namespace, its name among them."""
    return {**wire.metadata.labels, _NAME_LABEL: wire.metadata.name}


_NAME_LABEL: Final = "kubernetes.io/metadata.name"
