"""Applies JSON patches (RFC 6902): a list of operations, all of them or none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from dovetail.apiserver.refusals import bad_request
from dovetail.apiserver.trees import Obj, canonical, decode, encode, mapping, text
from dovetail.kube.errors import InvalidError
from dovetail.kube.seam import Json

_Operate = Callable[[Obj, Obj], None]
_END: Final = "-"
_ROOT: Final = "document"
_REJECTED: Final = "the server rejected our request due to an error in our request"


def apply_json_patch(tree: Obj, operations: list[Json]) -> Json:
    """The object after every operation. Raises InvalidError at the first that cannot be done."""
    # Wrapped, so that the whole object is somebody's child, too.
    world: Obj = {_ROOT: decode(encode(tree))}
    for item in operations:
        operation = mapping(item)
        operate = _OPERATIONS.get(text(operation, "op"))
        if operate is None:
            msg = f"unknown operation {operation.get('op')!r} in a JSON patch"
            raise bad_request(msg)
        operate(world, operation)
    return world[_ROOT]


def _add(world: Obj, operation: Obj) -> None:
    _insert(world, _pointer(operation, "path"), _value_of(operation))


def _remove(world: Obj, operation: Obj) -> None:
    _take(world, _pointer(operation, "path"))


def _replace(world: Obj, operation: Obj) -> None:
    path = _pointer(operation, "path")
    _take(world, path)
    _insert(world, path, _value_of(operation))


def _move(world: Obj, operation: Obj) -> None:
    _insert(world, _pointer(operation, "path"), _take(world, _pointer(operation, "from")))


def _copy(world: Obj, operation: Obj) -> None:
    value = _find(world, _pointer(operation, "from"))
    _insert(world, _pointer(operation, "path"), decode(encode({"": value}))[""])


def _test(world: Obj, operation: Obj) -> None:
    path = _pointer(operation, "path")
    if canonical(_find(world, path)) != canonical(_value_of(operation)):
        raise _cannot(path, "testing value failed")


_OPERATIONS: Final[Mapping[str, _Operate]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def _pointer(operation: Obj, field: str) -> list[str]:
    written = operation.get(field)
    if not isinstance(written, str) or (written and not written.startswith("/")):
        msg = f"{field} {written!r} of a JSON patch is no pointer; expected /one/two"
        raise bad_request(msg)
    steps = written.split("/")[1:]
    return [_ROOT, *(step.replace("~1", "/").replace("~0", "~") for step in steps)]


def _value_of(operation: Obj) -> Json:
    if "value" not in operation:
        msg = f"operation {operation.get('op')!r} of a JSON patch needs a value"
        raise bad_request(msg)
    return operation["value"]


def _find(world: Json, path: list[str]) -> Json:
    result = world
    for step in path:
        if isinstance(result, dict) and step in result:
            result = result[step]
        elif isinstance(result, list):
            result = result[_index(result, step, path)]
        else:
            raise _cannot(path, "there is no such field")
    return result


def _insert(world: Obj, path: list[str], value: Json) -> None:
    parent = _find(world, path[:-1])
    last = path[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list):
        place = len(parent) if last == _END else _index([*parent, None], last, path)
        parent.insert(place, value)
    else:
        raise _cannot(path, "its parent holds no fields")


def _take(world: Obj, path: list[str]) -> Json:
    parent = _find(world, path[:-1])
    last = path[-1]
    if isinstance(parent, dict) and last in parent:
        return parent.pop(last)
    if isinstance(parent, list):
        return parent.pop(_index(parent, last, path))
    raise _cannot(path, "there is no such field")


def _index(entries: list[Json], step: str, path: list[str]) -> int:
    if not step.isdigit() or int(step) >= len(entries):
        raise _cannot(path, f"there is no item {step}")
    return int(step)


def _cannot(path: list[str], why: str) -> InvalidError:
    """A real server does not tell clients what was wrong; here at least the cause is noted."""
    where = "/" + "/".join(path[1:])
    refusal = InvalidError(422, "Invalid", _REJECTED)
    refusal.add_note(f"the patch cannot be applied at {where}: {why}")
    return refusal
