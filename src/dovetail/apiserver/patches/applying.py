"""Applies server-side apply: each manager states its fields, and owns them.

What a manager no longer says goes, unless another owns it too. What another owns with another value
is a conflict, unless it is taken by force. Objects that nobody has applied to carry no account of
owners; on the first apply all they have belongs to `before-first-apply`.
"""

from __future__ import annotations

from typing import Final

from dovetail.apiserver.patches import ownership
from dovetail.apiserver.patches.ownership import APPLY, UPDATE, Owned, Owner, Path, Stamp
from dovetail.apiserver.refusals import bad_request
from dovetail.apiserver.traits import SET, Keys, Lists
from dovetail.apiserver.trees import Obj, at, canonical, items, mapping
from dovetail.kube.errors import Cause, ConflictError, Details
from dovetail.kube.seam import Json, Patch

_KUBECTL: Final[Owner] = ("kubectl", APPLY, "")
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_BEFORE: Final[Owner] = ("before-first-apply", UPDATE, "")


def check_appliable(wanted: Obj) -> None:
    """An apply says what it is about. Raises InvalidError."""
    for field in ("apiVersion", "kind"):
        if field not in wanted:
            msg = f"{field} must be set in an apply patch"
            raise bad_request(msg)
    if at(wanted, "metadata", "managedFields") is not None:
        msg = "metadata.managedFields must be nil"
        raise bad_request(msg)


def apply(live: Obj, wanted: Obj, asked: Patch, lists: Lists, stamp: Stamp) -> Obj:
    """The object with what a manager wants of it. Raises ConflictError."""
    owned = ownership.read(live) or {_BEFORE: ownership.paths(live, lists)}
    me: Owner = (asked.manager, APPLY, asked.subresource)
    mine = ownership.paths(wanted, lists)
    changed = {path for path in mine if _differs(live, wanted, path, lists)}
    lost = _conflicts(changed, owned, me)
    if lost and not asked.force:
        raise _refusal(lost, stamp)
    others = {
        owner: paths - {path for loser, path in lost if loser == owner}
        for owner, paths in owned.items()
        if owner != me
    }
    kept = set[Path]().union(*others.values())
    made = mapping(_merge(live, wanted, (), lists))
    # Items before what is in them: without its keys an item could not be found any more.
    for path in sorted(owned.get(me, set()) - mine - kept, key=lambda steps: (len(steps), steps)):
        if not _holds(path, mine | kept):
            ownership.remove(made, path, lists)
    ownership.write(made, {**others, me: mine}, stamp)
    if me == _KUBECTL:
        _note_last_applied(made, wanted)
    return made


def _note_last_applied(made: Obj, wanted: Obj) -> None:
    """Keep up the note that kubectl leaves on what it applies the older way, where there is one."""
    annotations = mapping(at(made, "metadata", "annotations"))
    if _LAST_APPLIED in annotations:
        annotations[_LAST_APPLIED] = canonical(wanted).decode() + "\n"


def _holds(path: Path, others: set[Path]) -> bool:
    """Whether a mapping holds something that stays."""
    return path[-1].startswith("f:") and any(
        len(item) > len(path) and item[: len(path)] == path for item in others
    )


def _conflicts(changed: set[Path], owned: Owned, me: Owner) -> list[tuple[Owner, Path]]:
    """Whose fields would get another value."""
    return [
        (owner, path)
        for owner in sorted(owned)
        if owner != me
        for path in sorted(changed & owned[owner])
    ]


def _differs(first: Obj, other: Obj, path: Path, lists: Lists) -> bool:
    if not path[-1].startswith("f:"):
        return False  # both have the item; what is in it has paths of its own
    return canonical(ownership.value_at(first, path, lists)) != canonical(
        ownership.value_at(other, path, lists)
    )


def _refusal(lost: list[tuple[Owner, Path]], stamp: Stamp) -> ConflictError:
    causes = tuple(
        Cause(
            "FieldManagerConflict",
            f"conflict with {_manager_text(owner, stamp)}",
            ownership.path_text(path),
        )
        for owner, path in lost
    )
    plural = "" if len(lost) == 1 else "s"
    stated = "; ".join(f"{cause.message}: {cause.field}" for cause in causes)
    msg = f"Apply failed with {len(lost)} conflict{plural}: {stated}"
    return ConflictError(409, "Conflict", msg, Details(causes=causes))


def _manager_text(owner: Owner, stamp: Stamp) -> str:
    """Another manager, and how it came to own a field."""
    manager, operation, subresource = owner
    part = f' with subresource "{subresource}"' if subresource else ""
    return f'"{manager}"{part}' + (f" using {stamp.api_version}" if operation == UPDATE else "")


def _merge(live: Json, wanted: Json, path: tuple[str, ...], lists: Lists) -> Json:
    if isinstance(wanted, dict):
        made = dict(mapping(live))
        for key, value in wanted.items():
            made[key] = _merge(made.get(key), value, (*path, key), lists)
        return made
    if isinstance(wanted, list):
        keys = lists.keys(path, wanted)
        if keys is not None:
            return _merged_list(items(live), wanted, path, keys, lists)
    return wanted


def _merged_list(
    live: list[Json], wanted: list[Json], path: tuple[str, ...], keys: Keys, lists: Lists
) -> list[Json]:
    made = list(live)
    places = {ownership.item_step(item, keys): index for index, item in enumerate(made)}
    for item in wanted:
        step = ownership.item_step(item, keys)
        if step not in places:
            places[step] = len(made)
            made.append(_merge({}, item, path, lists) if keys != SET else item)
        elif keys != SET:
            made[places[step]] = _merge(made[places[step]], item, path, lists)
    return made


def track(old: Obj, new: Obj, owner: Owner, lists: Lists, stamp: Stamp) -> None:
    """Note in a changed object what else than an apply has changed, if owners are noted at all."""
    owned = ownership.read(new) or ownership.read(old)
    if not owned:
        return
    there = ownership.paths(new, lists, with_maps=True)
    before = ownership.paths(old, lists, with_maps=True)
    leaves = ownership.paths(new, lists)
    changed = {path for path in leaves & before if _differs(old, new, path, lists)}
    taken = changed | (there - before)
    noted = {entry: (paths & there) - taken for entry, paths in owned.items()}
    noted[owner] = noted.get(owner, set()) | taken
    ownership.write(new, noted, stamp)
