"""Renames labels, annotations and taints wherever objects name them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from dovetail import labels
from dovetail.api.decoding import Tree
from dovetail.api.older.door import OlderNodeClasses
from dovetail.api.older.draft import Draft, Fields, Path, as_fields, items, value_at

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_KEYS: Final = {
    "karpenter.sh/provisioner-name": labels.NODE_POOL,
    "karpenter.sh/do-not-evict": labels.DO_NOT_DISRUPT,
    "karpenter.sh/do-not-consolidate": labels.DO_NOT_DISRUPT,
    "karpenter.sh/provisioner-hash": labels.NODE_POOL_HASH,
}
_TAINT: Final = "karpenter.sh/disruption"
_TAINT_VALUE: Final = "disrupting"
_COMPATIBILITY: Final = "compatibility.karpenter."
_NAMING_FIELDS: Final = ("key", "topologyKey")
WORKLOADS: Final = frozenset(
    {
        ("", "Pod"),
        ("", "PodTemplate"),
        ("", "ReplicationController"),
        ("", "Node"),
        ("apps", "DaemonSet"),
        ("apps", "Deployment"),
        ("apps", "ReplicaSet"),
        ("apps", "StatefulSet"),
        ("batch", "CronJob"),
        ("batch", "Job"),
    }
)
# What a manifest contains that must be rewritten, as bytes to look for before it is taken apart.
MARKS: Final = tuple(sorted(key.encode() for key in (*_KEYS, _TAINT)))
_OF_THE_SERVER: Final = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
)


class Renames:
    """The names that changed, with those of providers."""

    def __init__(self, providers: Sequence[OlderNodeClasses]) -> None:
        self._keys: Mapping[str, str] = _KEYS | {
            old: new for provider in providers for old, new in provider.renamed_labels.items()
        }
        self._dropped = frozenset(label for item in providers for label in item.dropped_labels)

    def metadata(self, draft: Draft, *, is_new: bool) -> None:
        """Rename the labels and annotations of an object; a new kind drops what its server set."""
        for field in ("labels", "annotations"):
            self.entries(draft, ("metadata", field))
        annotations = as_fields(draft.at("metadata.annotations"))
        for key in [key for key in annotations if _is_leftover(key)]:
            draft.remove(("metadata", "annotations", key))
            draft.tell(("metadata", "annotations", key), "describes the older object; left out")
        _drop_if_empty(draft, ("metadata", "annotations"))
        dropped = [f for f in _OF_THE_SERVER if is_new and draft.has(("metadata", f))]
        for field in dropped:
            draft.remove(("metadata", field))
        if dropped:
            draft.tell("metadata", f"{', '.join(dropped)}: of the older object; left out")

    def entries(self, draft: Draft, path: Path) -> None:
        """Rename the keys of a mapping of labels or annotations."""
        given = value_at(draft.tree, path)
        if not isinstance(given, dict) or not given.keys() & self._keys.keys():
            return
        origin = draft.moves.get(path, path)
        draft.put(path, {self._keys.get(key, key): value for key, value in given.items()}, origin)
        for key, value in given.items():
            new = self._keys.get(key, key)
            if new != key and new in given and given[new] != value:
                draft.tell((*path, key), f"is {new} in v1, which has another value; left out")
                draft.put((*path, new), given[new], (*origin, new))
            elif new != key:
                draft.moves[(*path, new)] = (*origin, key)

    def requirements(self, draft: Draft, path: Path) -> None:
        """Rename the keys of requirements, and drop those on labels that v1 does not have."""
        given = value_at(draft.tree, path)
        if not isinstance(given, list):
            return
        origin = draft.moves.get(path, path)
        kept: list[tuple[int, Fields]] = []
        for index, requirement in enumerate(items(given)):
            key = str(requirement.get("key"))
            if key in self._dropped:
                draft.tell((*origin, index), f"no node of v1 has the label {key}; left out")
            else:
                kept.append((index, requirement | {"key": self._keys.get(key, key)}))
        if [requirement for _, requirement in kept] != given:
            draft.put(path, [requirement for _, requirement in kept], origin)
            for number, (index, _) in enumerate(kept):
                draft.moves[(*path, number)] = (*origin, index)

    def workload(self, draft: Draft) -> None:
        """Rename whatever a workload or a Node names."""
        for path in list(_holders(draft.tree, ())):
            holder = value_at(draft.tree, path)
            if isinstance(holder, dict):
                self._holder(draft, path, holder)

    def _holder(self, draft: Draft, path: Path, holder: Fields) -> None:
        for key in [key for key in holder if key in self._dropped and path[-1] != "labels"]:
            draft.tell((*path, key), "no node of v1 has this label; rewrite the selector")
        for key in [key for key in holder if key in self._keys]:
            value = holder.pop(key)
            new = self._keys[key]
            if holder.setdefault(new, value) != value:
                draft.tell((*path, key), f"is {new} in v1, which has another value; left out")
            draft.moves[(*path, new)] = (*path, key)
        for field in _NAMING_FIELDS:
            named = holder.get(field)
            if isinstance(named, str):
                holder[field] = self._keys.get(named, named)
                if named in self._dropped:
                    draft.tell((*path, field), f"no node of v1 has the label {named}; rewrite it")
        if holder.get("key") == _TAINT:
            _rename_taint(holder, is_toleration="tolerations" in path)

    def taint(self, taint: Fields) -> None:
        """Rename the taint of nodes that are being disrupted."""
        if taint.get("key") == _TAINT:
            _rename_taint(taint, is_toleration=False)


def _rename_taint(holder: Fields, *, is_toleration: bool) -> None:
    holder["key"] = labels.DISRUPTED_TAINT
    if holder.get("value") == _TAINT_VALUE:
        del holder["value"]  # the taint of v1 has none
        if is_toleration:
            holder["operator"] = "Exists"


def _is_leftover(key: str) -> bool:
    return key == LAST_APPLIED or key.startswith(_COMPATIBILITY)


def _drop_if_empty(draft: Draft, path: Path) -> None:
    if value_at(draft.tree, path) == {} and value_at(draft.source, path):
        draft.remove(path)


def _holders(tree: Tree, path: Path) -> Iterator[Path]:
    """The paths of all mappings, the innermost first."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _holders(value, (*path, key))
        yield path
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from _holders(value, (*path, index))
