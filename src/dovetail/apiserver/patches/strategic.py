"""Applies strategic merge patches, in which some lists are merged by their items' keys.

Only built-in kinds take such patches. A few directives say what a plain merge cannot: `$patch`,
`$retainKeys`, `$deleteFromPrimitiveList/...` and `$setElementOrder/...`.
"""

from __future__ import annotations

from typing import Final

from dovetail.apiserver.refusals import bad_request
from dovetail.apiserver.traits import SET, Keys, Lists
from dovetail.apiserver.trees import Obj, canonical, items, mapping
from dovetail.kube.seam import Json

_HOW: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_DROP: Final = "$deleteFromPrimitiveList/"
_ORDER: Final = "$setElementOrder/"


class Strategic:
    """Merges patches into objects of one kind."""

    def __init__(self, lists: Lists) -> None:
        self._lists = lists

    def merge(self, target: Json, patch: Obj, path: tuple[str, ...] = ()) -> Obj:
        """The target with a patch laid over it. Neither is changed."""
        if patch.get(_HOW) == "replace":
            return _without_directives(patch)
        if patch.get(_HOW) == "delete":
            return {}
        made = dict(mapping(target))
        for key, value in patch.items():
            if not key.startswith("$"):
                self._field(made, key, value, (*path, key))
        for key, value in patch.items():
            if key.startswith("$"):
                self._directive(made, key, items(value), path)
        return made

    def _directive(self, made: Obj, key: str, value: list[Json], path: tuple[str, ...]) -> None:
        _, _, field = key.partition("/")
        entries = items(made.get(field))
        if key.startswith(_DROP):
            made[field] = [item for item in entries if item not in value]
        elif key.startswith(_ORDER) and entries:
            made[field] = self._in_order(entries, value, (*path, field))
        elif key == _RETAIN:
            for dropped in [item for item in made if item not in value]:
                del made[dropped]

    def _field(self, made: Obj, key: str, value: Json, path: tuple[str, ...]) -> None:
        if value is None or mapping(value).get(_HOW) == "delete":
            made.pop(key, None)
        elif isinstance(value, dict):
            made[key] = self.merge(made.get(key), value, path)
        elif isinstance(value, list):
            made[key] = self._list(items(made.get(key)), value, path)
        else:
            made[key] = value

    def _list(self, target: list[Json], patch: list[Json], path: tuple[str, ...]) -> list[Json]:
        keys = self._merge_keys(path, [*target, *patch])
        if keys is None or {_HOW: "replace"} in patch:
            return [
                _without_directives(item) if isinstance(item, dict) else item
                for item in patch
                if item != {_HOW: "replace"}
            ]
        if keys == SET:
            return [*target, *(item for item in patch if item not in target)]
        made = list(target)
        for item in patch:
            self._item(made, mapping(item), keys, path)
        # What the patch brings along comes before what only the server knew.
        return [*made[len(target) :], *made[: len(target)]] if len(made) > len(target) else made

    def _item(self, made: list[Json], entry: Obj, keys: Keys, path: tuple[str, ...]) -> None:
        (key,) = keys
        if key not in entry:
            msg = f"an item of {'.'.join(path)} does not contain declared merge key: {key}"
            raise bad_request(msg)
        place = next(
            (index for index, item in enumerate(made) if mapping(item).get(key) == entry[key]), None
        )
        if entry.get(_HOW) == "delete":
            if place is not None:
                del made[place]
        elif place is None:
            made.append(self.merge({}, entry, path))
        else:
            made[place] = self.merge(made[place], entry, path)

    def _merge_keys(self, path: tuple[str, ...], entries: list[Json]) -> Keys | None:
        """Strategic merges know one key for each list, where apply may know two."""
        keys = self._lists.keys(path, entries)
        return keys[:1] if keys else keys

    def _in_order(
        self, entries: list[Json], order: list[Json], path: tuple[str, ...]
    ) -> list[Json]:
        """The items in the order of a directive; those it does not name stay in front."""
        keys = self._merge_keys(path, entries)

        def identity(entry: Json) -> bytes:
            return canonical(mapping(entry).get(keys[0]) if keys else entry)

        places = {identity(item): place for place, item in enumerate(order)}
        return sorted(entries, key=lambda entry: places.get(identity(entry), -1))


def _without_directives(patch: Obj) -> Obj:
    """A patch without its directives."""
    return {
        key: _without_directives(value) if isinstance(value, dict) else value
        for key, value in patch.items()
        if not key.startswith("$") and value is not None
    }
