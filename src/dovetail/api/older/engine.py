"""Converts objects of older versions to v1: all objects of one input together.

Together, because settings move between objects: the kubelet's configuration from NodePools to
node classes, defaults of the global settings to node classes, expiry from pools to NodeClaims.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from dovetail.api.decoding import DecodeError, decode, without_nulls
from dovetail.api.older import beta, global_settings, provisioners
from dovetail.api.older.door import ConversionOptions, OlderKind, OlderNodeClasses
from dovetail.api.older.draft import Draft, Fields, Notice, Path, as_fields, is_deeper
from dovetail.api.older.kubelets import ClassKey, class_key, move_kubelets
from dovetail.api.older.renames import WORKLOADS, Renames
from dovetail.api.older.shapes import BetaClaim, BetaPool, Provisioner
from dovetail.api.older.stale import stale_fields

_GROUP: Final = "karpenter.sh"
_NO_MOVES: Final[Mapping[Path, Path]] = {}
_VERSIONS: Final = {
    "Provisioner": ("v1alpha5", "v1alpha4"),
    "NodePool": ("v1beta1",),
    "NodeClaim": ("v1beta1",),
    "Machine": ("v1alpha5",),
}
_OWN_KINDS: Final = frozenset((_GROUP, kind) for kind in _VERSIONS)
_DEEPEST: Final = 100
_GONE: Final = ("Machine", "Provisioner")
_SHAPES: Final[Mapping[str, type[msgspec.Struct]]] = {
    "Provisioner": Provisioner,
    "NodePool": BetaPool,
    "NodeClaim": BetaClaim,
}


class ConvertedObject(msgspec.Struct, frozen=True):
    """An object of v1, and which of its fields stood elsewhere in the older one."""

    tree: Fields
    moves: Mapping[Path, Path] = _NO_MOVES


class Outcome(msgspec.Struct, frozen=True):
    """What became of one object: itself in v1, objects that are new beside it, and notices."""

    object: ConvertedObject
    added: tuple[ConvertedObject, ...] = ()
    notices: tuple[Notice, ...] = ()
    is_changed: bool = False


class _Entry:
    """One object of the input, and what is made of it so far."""

    def __init__(self, source: Fields) -> None:
        self.source = source
        self.is_too_deep = is_deeper(source, _DEEPEST)
        self.draft = Draft(source, {} if self.is_too_deep else source)
        self.added: list[Draft] = []
        self.is_pool = False
        self.is_class = False
        self.is_claim = False
        self.is_unique = False  # no other object may have its kind and name

    def outcome(self) -> Outcome:
        """What became of it; an error leaves it as it was."""
        notices = tuple(dict.fromkeys(self.draft.notices))
        if any(notice.is_error for notice in notices):
            return Outcome(ConvertedObject(self.source), notices=notices)
        is_changed = bool(self.added) or self.draft.tree != self.source
        return Outcome(
            ConvertedObject(self.draft.tree, self.draft.moves),
            tuple(ConvertedObject(draft.tree, draft.moves) for draft in self.added),
            notices,
            is_changed,
        )


class Engine:
    """Converts with what providers bring."""

    def __init__(
        self, providers: Sequence[OlderNodeClasses], options: ConversionOptions | None = None
    ) -> None:
        self._providers = tuple(providers)
        self._options = options or ConversionOptions()
        self._renames = Renames(self._providers)
        self._kinds: dict[tuple[str, str], list[OlderKind]] = {}
        for kind in (kind for provider in self._providers for kind in provider.kinds):
            self._kinds.setdefault((kind.group, kind.name), []).append(kind)
        self._owners = {(provider.group, provider.kind): provider for provider in self._providers}

    def concerns(self, api_version: str, kind: str) -> bool:
        """Whether an object is of an older version, or may change with one that is."""
        key = (api_version.partition("/")[0], kind)
        may_change = key in self._owners or key == (_GROUP, "NodePool")
        return may_change or self.is_older(api_version, kind)

    def is_older(self, api_version: str, kind: str) -> bool:
        """Whether an object is of an older version."""
        key, version = (api_version.partition("/")[0], kind), api_version.partition("/")[2]
        is_current = version == "v1" and kind not in _GONE
        return (key in self._kinds or key in _OWN_KINDS) and not is_current

    def convert(self, sources: Sequence[Fields]) -> tuple[Outcome, ...]:
        """What becomes of each object, in the order given."""
        for source in sources:
            if global_settings.is_settings(source):
                settings = global_settings.entries(source)
                self._options = msgspec.structs.replace(self._options, settings=settings)
        entries = [self._entry(source) for source in sources]
        _refuse_twins(entries)
        sound = [entry for entry in entries if not any(n.is_error for n in entry.draft.notices)]
        self._name_inline_classes(sound)
        pools = [entry.draft for entry in sound if entry.is_pool]
        classes = {id(entry.draft): entry for entry in sound if entry.is_class}
        inline = [draft for entry in sound for draft in entry.added]
        everything = [*(entry.draft for entry in classes.values()), *inline]
        homes = {id(draft): entry for entry in sound for draft in (entry.draft, *entry.added)}
        for clone, original in move_kubelets(pools, everything):
            homes[id(original)].added.append(clone)
        for entry in sound:
            if entry.is_claim:
                beta.inherit_expiry(entry.draft, pools)
        return tuple(entry.outcome() for entry in entries)

    def _entry(self, source: Fields) -> _Entry:
        entry = _Entry(source)
        if entry.is_too_deep:
            entry.draft.refuse("", f"nested deeper than {_DEEPEST} levels; expected a manifest")
            return entry
        bare = as_fields(without_nulls(source))
        api_version, kind = str(bare.get("apiVersion", "")), str(bare.get("kind", ""))
        group, _, version = api_version.rpartition("/")
        if global_settings.is_settings(bare):
            entry.draft = global_settings.unchanged_settings(source, self._providers)
        elif (group, kind) in WORKLOADS:
            self._renames.workload(entry.draft)
        elif (group, kind) in self._kinds or (group, kind) in self._owners:
            self._node_class(entry, bare, group, version, kind)
        elif group == _GROUP and kind in _VERSIONS:
            self._own_kind(entry, bare, version, kind)
        return entry

    def _own_kind(self, entry: _Entry, bare: Fields, version: str, kind: str) -> None:
        entry.is_unique = kind != "Machine"
        if version == "v1" and kind not in _GONE:
            entry.is_pool = kind == "NodePool"
            beta.take_annotated_kubelet(entry.draft)
            entry.draft.notices += stale_fields(bare, _SHAPES.get(kind))
            return
        if version not in _VERSIONS[kind]:
            entry.draft.refuse("apiVersion", _unknown_version(kind, version, _VERSIONS[kind]))
        elif kind == "Machine":
            entry.draft.tell(
                "",
                "is not converted: adopt its node with a NodeClaim that names its instance, or "
                "replace it; docs/convert.md says how",
            )
        elif _has_shape(entry.draft, _SHAPES[kind], bare):
            self._convert_own(entry, bare, kind)

    def _convert_own(self, entry: _Entry, bare: Fields, kind: str) -> None:
        entry.is_pool = kind != "NodeClaim"
        entry.is_claim = not entry.is_pool
        if kind == "NodePool":
            entry.draft = beta.to_node_pool(bare, self._providers, self._renames)
        elif kind == "NodeClaim":
            entry.draft = beta.to_node_claim(bare, self._providers, self._renames)
        else:
            self._provisioner(entry, bare)

    def _provisioner(self, entry: _Entry, bare: Fields) -> None:
        spec = as_fields(bare.get("spec"))
        owner = self._owner_of(as_fields(spec.get("providerRef")))
        entry.draft = provisioners.to_node_pool(bare, self._options, owner, self._renames)
        given = spec.get("provider")
        if isinstance(given, dict) and "providerRef" not in spec and owner is not None:
            inline = owner.inline(bare, self._options)
            inline.put("metadata.name", entry.draft.name)
            entry.added.append(inline)
            entry.draft.notices += inline.notices

    def _owner_of(self, reference: Fields) -> OlderNodeClasses | None:
        group = str(reference.get("apiVersion", "")).partition("/")[0]
        kind = reference.get("kind")
        for provider in self._providers:
            names = {(kind.group, kind.name) for kind in provider.kinds}
            if (not group or group in {g for g, _ in names}) and (
                not kind or kind in {k for _, k in names}
            ):
                return provider
        return None

    def _node_class(self, entry: _Entry, bare: Fields, group: str, version: str, name: str) -> None:
        entry.is_class = entry.is_unique = True
        if version == "v1" and (group, name) in self._owners:
            return
        known = self._kinds.get((group, name), ())
        for kind in known:
            if version in kind.versions:
                entry.draft = kind.convert(bare, self._options)
                self._renames.metadata(
                    entry.draft, is_new=name not in {provider.kind for provider in self._providers}
                )
                return
        versions = [version for kind in known for version in kind.versions]
        entry.draft.refuse("apiVersion", _unknown_version(name, version, versions))

    def _name_inline_classes(self, entries: Sequence[_Entry]) -> None:
        """Name classes of `spec.provider` after their Provisioners, where nothing has that name."""
        taken = {class_key(entry.draft) for entry in entries if entry.is_class}
        for entry in entries:
            for inline in entry.added:
                key, number = class_key(inline), 1
                while key in taken:
                    number += 1
                    key = ClassKey(key.group, key.kind, f"{entry.draft.name}-{number}")
                taken.add(key)
                if key.name != inline.name:
                    inline.put("metadata.name", key.name)
                    entry.draft.put("spec.template.spec.nodeClassRef.name", key.name)


def _unknown_version(kind: str, version: str, known: Sequence[str]) -> str:
    expected = " or ".join(known)
    return f"there is no {kind} of version {version or 'none'!r}; expected {expected}"


def _has_shape(draft: Draft, shape: type[msgspec.Struct], bare: Fields) -> bool:
    try:
        decode(shape, bare)
    except DecodeError as error:
        draft.refuse(error.problem.field, error.problem.message)
        return False
    return True


def _refuse_twins(entries: Sequence[_Entry]) -> None:
    """Refuse objects that would become one that is there already."""
    owned = [entry for entry in entries if entry.is_unique]
    seen = {_identity(entry) for entry in owned if entry.draft.tree == entry.source}
    for entry in owned:
        if entry.draft.tree == entry.source:
            continue
        key = _identity(entry)
        if key in seen:
            message = f"{key[1]} {key[2]} is there already; expected another name, or one of both"
            entry.draft.refuse("metadata.name", message)
        seen.add(key)


def _identity(entry: _Entry) -> tuple[str, str, str]:
    tree = entry.draft.tree
    return str(tree.get("apiVersion")), str(tree.get("kind")), entry.draft.name
