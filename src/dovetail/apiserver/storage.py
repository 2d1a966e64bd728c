"""Stores all objects, with one counter of versions for all kinds, as in etcd."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import msgspec

from dovetail import api
from dovetail.apiserver.refusals import not_found_error
from dovetail.apiserver.table import KindTable, Stored, to_stored
from dovetail.apiserver.traits import Lists, Traits, from_definitions, of_kind
from dovetail.apiserver.trees import Obj, encode, part, stamp, text
from dovetail.clock import Clock
from dovetail.kube.seam import Json, Ref, WriteOptions

# A real server has written objects of its own before anybody calls: version 1 is always too old.
_FIRST_VERSION: Final = 100
_UIDS: Final = uuid.UUID("6f1d3c52-8a5e-5b0b-9d5c-2f4f6b1a7e90")
_SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"  # none that could make a word
_SUFFIX_LENGTH: Final = 5


class ObjectStore:
    """Every object of every kind, and what each kind is like."""

    def __init__(
        self,
        clock: Clock,
        definitions: Iterable[Mapping[str, Json]],
        extensions: tuple[api.Extension, ...],
        history: int,
    ) -> None:
        self.version = _FIRST_VERSION
        self.manner = WriteOptions()
        self._clock = clock
        self._history = history
        self._custom = from_definitions(definitions, extensions)
        self._tables: dict[tuple[str, str], KindTable] = {}
        self._kinds: dict[tuple[str, str], api.Kind] = {}
        self._traits: dict[api.Kind, Traits] = {}
        self._lists: dict[api.Kind, Lists] = {}
        self._n_made = 0

    def now(self) -> str:
        """The present moment as objects carry it."""
        return stamp(self._clock.now())

    def traits(self, kind: api.Kind) -> Traits:
        """What a kind is like."""
        known = self._traits.get(kind)
        if known is None:
            known = self._traits[kind] = of_kind(kind, self._custom)
        return known

    def lists(self, kind: api.Kind) -> Lists:
        """Which of a kind's lists are merged."""
        known = self._lists.get(kind)
        if known is None:
            known = self._lists[kind] = Lists(self.traits(kind))
        return known

    def table(self, kind: api.Kind) -> KindTable:
        """The objects of a kind."""
        key = (kind.group, kind.name)
        kind_table = self._tables.get(key)
        if kind_table is None:
            kind_table = self._tables[key] = KindTable(self._history, _FIRST_VERSION)
            self._kinds[key] = kind
        return kind_table

    def tables(self) -> Iterator[tuple[api.Kind, KindTable]]:
        """Every kind that was ever spoken of, in the order of group and name."""
        for key in sorted(self._tables):
            yield self._kinds[key], self._tables[key]

    def find(self, ref: Ref) -> Stored | None:
        """An object, if there is one."""
        return self.table(ref.kind).get(key_of(ref))

    def get(self, ref: Ref) -> Stored:
        """An object. Raises NotFoundError."""
        result = self.find(ref)
        if result is None:
            raise not_found_error(ref)
        return result

    @contextmanager
    def act_as(self, manner: WriteOptions) -> Iterator[None]:
        """Write in that manner for as long as the block lasts, which must not wait for anything."""
        self.manner = manner
        try:
            yield
        finally:
            self.manner = WriteOptions()

    def write(self, ref: Ref, tree: Obj) -> Stored:
        """Keep a new version of an object; on trial, only show what it would be."""
        if self.manner.is_trial:
            return _dry_run(tree, self.traits(ref.kind))
        self.version += 1
        kept = to_stored(tree, self.traits(ref.kind), self.version)
        self.table(ref.kind).put(key_of(ref), kept)
        return kept

    def remove(self, ref: Ref) -> None:
        """Forget an object."""
        if self.manner.is_trial:
            return
        self.version += 1
        self.table(ref.kind).remove(key_of(ref), self.version)

    def new_uid(self) -> str:
        """A uid that no other object ever had; the same ones in every run."""
        self._n_made += 1
        return str(uuid.uuid5(_UIDS, str(self._n_made)))

    def new_name(self, kind: api.Kind, beginning: str, namespace: str) -> str:
        """A name that begins so and is free."""
        n_tries = 0
        while True:
            seed = uuid.uuid5(_UIDS, f"{beginning}{self._n_made}.{n_tries}").int
            letters = (
                _SUFFIX_LETTERS[(seed >> (8 * place)) % len(_SUFFIX_LETTERS)]
                for place in range(_SUFFIX_LENGTH)
            )
            name = beginning + "".join(letters)
            if self.find(Ref(kind, name, namespace)) is None:
                return name
            n_tries += 1


def _dry_run(tree: Obj, traits: Traits) -> Stored:
    """As it would be kept; a version it would only get then."""
    before = text(tree, "metadata", "resourceVersion")
    made = to_stored(tree, traits, int(before or 0))
    if before:
        return made
    del part(tree, "metadata")["resourceVersion"]
    return msgspec.structs.replace(made, raw=encode(tree))


def key_of(ref: Ref) -> str:
    """Under which key an object is kept; keys sort as etcd's do."""
    return f"{ref.namespace}/{ref.name}" if ref.kind.is_namespaced else ref.name


def ref_of(kind: api.Kind, key: str) -> Ref:
    """The object that a key means."""
    namespace, _, name = key.rpartition("/")
    return Ref(kind, name, namespace)
