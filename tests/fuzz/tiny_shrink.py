"""What is the least of a tiny cluster that still goes wrong? Words are taken away while it does.

The result is the `given` of a scenario.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, Final

from tests.fuzz.tiny_market import Words

Path = tuple[str | int, ...]
# Without these, a thing would not be plainer but another one.
KEPT: Final = frozenset(
    {"name", "labels", "topology_key", "selector", "type", "zone", "reservation_id"}
)
PLAIN: Final[Words] = {"cpu": "100m", "memory": "128Mi"}


def least_words(words: Words, goes_wrong: Callable[[Words], bool]) -> Words:
    """The words without whatever does not matter."""
    again = True
    while again:
        again = False
        for smaller in list(_smaller(words)):
            if goes_wrong(smaller):
                words, again = smaller, True
                break
    return words


def _smaller(words: Words) -> Iterator[Words]:
    for path in sorted(_paths(words), key=len):
        smaller = copy.deepcopy(words)
        _drop(smaller, path)
        yield smaller
    for n, app in enumerate(words.get("pods", ())):
        if app.get("replicas", 1) > 1:
            smaller = copy.deepcopy(words)
            smaller["pods"][n]["replicas"] -= 1
            yield smaller


def _paths(tree: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key in KEPT or (value in PLAIN.values() and key in PLAIN):
                continue
            if path or key not in {"types", "pools", "pods"}:
                yield (*path, key)
            yield from _paths(value, (*path, key))
    elif isinstance(tree, list):
        for n, value in enumerate(tree):
            yield (*path, n)
            yield from _paths(value, (*path, n))


def _drop(tree: Any, path: Path) -> None:
    for step in path[:-1]:
        tree = tree[step]
    last = path[-1]
    if last in PLAIN and path[0] in ("pods", "daemon_sets", "nodes"):
        tree[last] = PLAIN[str(last)]
    else:
        del tree[last]
