"""Keeps objects of one kind as nouns, each converted again only when its object has changed.

A shelf keeps them in order of namespace and name. Reading costs what was touched since the last
time; if nothing was, the very same tuple comes back. An inventory sorts objects of many kinds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Generic, Protocol, TypeVar

from dovetail import api

T = TypeVar("T", bound=api.Object)
V = TypeVar("V")

Key = tuple[str, str]  # namespace and name
_FEW: Final = 64  # one in so many keys may be set right in place, more are sorted anew
ObjectT = TypeVar("ObjectT", bound=api.Object)
DEFAULT_NAMESPACE: Final = "default"


class Keeper(Protocol):
    """Takes in objects of one kind."""

    @property
    def wire_type(self) -> type[api.Object]:
        """Of which kind."""
        ...

    @property
    def revision(self) -> int:
        """How often something has changed."""
        ...

    @property
    def problems(self) -> Mapping[Key, str]:
        """Objects that make no sense, and why; they are left out."""
        ...

    def put(self, wire: api.Object) -> bool:
        """Take in an object; whether anything that is read has changed."""
        ...

    def drop(self, key: Key) -> bool:
        """Forget an object; whether it was there."""
        ...

    def keys(self) -> frozenset[Key]:
        """All that are there."""
        ...


class Shelf(Generic[T, V]):
    """Nouns of one kind. `convert` makes one, or nothing for an object that does not matter."""

    def __init__(self, wire_type: type[T], convert: Callable[[T], V | None]) -> None:
        self.wire_type = wire_type
        self._convert = convert
        self._held: dict[Key, tuple[str, V]] = {}  # with the resource version it was made from
        self._keys: list[Key] = []
        self._nouns: list[V] = []
        self._touched: set[Key] = set()
        self._all: tuple[V, ...] = ()
        self.problems: dict[Key, str] = {}
        self.revision = 0
        self.n_converted = 0

    def put(self, wire: api.Object) -> bool:
        """Take in an object; whether anything that is read has changed."""
        if not isinstance(wire, self.wire_type):
            msg = f"expected {self.wire_type.__name__}, not {type(wire).__name__}"
            raise TypeError(msg)
        key, version = key_of(wire), wire.metadata.resource_version
        entry = self._held.get(key)
        if entry is not None and version and entry[0] == version:
            return False
        self.n_converted += 1
        noun = self._try_convert(key, wire)
        if noun is None:
            return self._forget(key)
        if entry is not None and entry[1] == noun:
            self._held[key] = (version, entry[1])
            return False
        self._held[key] = (version, noun)
        self._touch(key)
        return True

    def _try_convert(self, key: Key, wire: T) -> V | None:
        self.problems.pop(key, None)
        try:
            return self._convert(wire)
        except (ValueError, api.DecodeError) as error:  # one strange object must not stop the rest
            self.problems[key] = str(error)
            return None

    def drop(self, key: Key) -> bool:
        """Forget an object; whether it was there."""
        self.problems.pop(key, None)
        return self._forget(key)

    def _forget(self, key: Key) -> bool:
        if self._held.pop(key, None) is None:
            return False
        self._touch(key)
        return True

    def replace(self, key: Key, noun: V) -> None:
        """Another noun for an object that is there."""
        version, _ = self._held[key]
        self._held[key] = (version, noun)
        self._touch(key)

    def _touch(self, key: Key) -> None:
        """Remember to set it right, unless it has come and gone since anybody looked."""
        self.revision += 1
        if key in self._held or self._was_there(bisect_left(self._keys, key), key):
            self._touched.add(key)
        else:
            self._touched.discard(key)

    def get(self, key: Key) -> V | None:
        """One noun, if it is there."""
        entry = self._held.get(key)
        return None if entry is None else entry[1]

    def keys(self) -> frozenset[Key]:
        """All that are there."""
        return frozenset(self._held)

    def all(self) -> tuple[V, ...]:
        """Every noun, in order."""
        if self._touched:
            self._settle()
            self._all = tuple(self._nouns)
        return self._all

    def items(self) -> Iterator[tuple[Key, V]]:
        """Every noun with its key, in order."""
        nouns = self.all()
        return zip(self._keys, nouns, strict=True)

    def _settle(self) -> None:
        if len(self._touched) * _FEW > len(self._keys):
            self._keys = sorted(self._held)
            self._nouns = [self._held[key][1] for key in self._keys]
        else:
            for key in sorted(self._touched):
                self._set_right(key)
        self._touched.clear()

    def _was_there(self, at: int, key: Key) -> bool:
        return at < len(self._keys) and self._keys[at] == key

    def _set_right(self, key: Key) -> None:
        at = bisect_left(self._keys, key)
        was_there = self._was_there(at, key)
        entry = self._held.get(key)
        if entry is None:
            del self._keys[at : at + was_there], self._nouns[at : at + was_there]
        else:
            self._keys[at : at + was_there] = [key]
            self._nouns[at : at + was_there] = [entry[1]]


class Derived(Generic[V]):
    """Something worked out from shelves: again only when one of them has changed, and the very
    same object as long as the answer is the same.
    """

    def __init__(self, work_out: Callable[[], V], *on: Keeper) -> None:
        self._work_out = work_out
        self._on = on
        self._seen: tuple[int, ...] = ()
        self._held: V | None = None

    def __call__(self) -> V:
        """The answer."""
        seen = tuple(keeper.revision for keeper in self._on)
        if self._held is None or seen != self._seen:
            fresh = self._work_out()
            self._held = self._held if self._held is not None and fresh == self._held else fresh
            self._seen = seen
        return self._held


def key_of(wire: api.Object) -> Key:
    """Where an object stands on its shelf."""
    return namespace_of(wire), wire.metadata.name


def namespace_of(item: api.Object) -> str:
    """The namespace an object is in; manifests may leave it out."""
    return item.metadata.namespace or DEFAULT_NAMESPACE


class Inventory:
    """Every object by its type. Asking for a type that did not occur gives nothing."""

    def __init__(self, objects: Iterable[api.Object]) -> None:
        self._by_type: dict[type[api.Object], list[api.Object]] = {}
        for item in objects:
            self._by_type.setdefault(type(item), []).append(item)
        for items in self._by_type.values():
            items.sort(key=lambda item: (namespace_of(item), item.metadata.name))

    def all(self, wanted: type[ObjectT]) -> tuple[ObjectT, ...]:
        """All objects of this type, by namespace and name."""
        return tuple(item for item in self._by_type.get(wanted, ()) if isinstance(item, wanted))

    def by_namespace(self, wanted: type[ObjectT]) -> dict[str, list[ObjectT]]:
        """The same, apart by namespace."""
        result: dict[str, list[ObjectT]] = {}
        for item in self.all(wanted):
            result.setdefault(namespace_of(item), []).append(item)
        return result

    def namespaces(self, *, is_live: bool = False) -> dict[str, dict[str, str]]:
        """Every namespace that is declared, with the labels that it has or would get; and, unless
        an API has said all there is, every one that is used.
        """
        used = [] if is_live else [kind for kind in api.KINDS.values() if kind.is_namespaced]
        names = {
            namespace_of(item) for kind in used for item in self._by_type.get(kind.wire_type, ())
        }
        result = {name: {_NAME_LABEL: name} for name in names}
        for namespace in self.all(api.Namespace):
            result[namespace.metadata.name] = namespace_labels(namespace)
        return dict(sorted(result.items()))


def namespace_labels(wire: api.Namespace) -> dict[str, str]:
    """The labels of a namespace, its name among them."""
    return {**wire.metadata.labels, _NAME_LABEL: wire.metadata.name}


_NAME_LABEL: Final = "kubernetes.io/metadata.name"
