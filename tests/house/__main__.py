"""Prints how large and how entangled the source is. `python -m tests.house --help` says how.

Each figure stands beside that of commit 60bfa60, where counting began, and its limit if it has one.
With `--check` the exit code is 1 if a limit is missed.

Source lines are counted without `providers/aws`: a cloud is a feature, whose lines say nothing of
the order of the rest. Their limit is the number at commit ecae897 (83,921 with the AWS catalogue of
365 lines). The features that came between 60bfa60 and ecae897, such as exact search and patterns,
are wanted. Putting the house in order began at ecae897, and must not make the source longer: at
commit 3e2562d0 there were 83,538 lines. What features added since is in `LATER_FEATURES`, counted
on their branches, and raises the limit.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tests.house.modules import (
    Module,
    folder_sizes,
    modules,
    shared_class_names,
    single_importers,
)
from tests.house.walk import Walk, walk

MOST_IN_A_FOLDER: Final = 25
SMALL_LINES: Final = 80
STARTED_AT: Final = "60bfa60"
LINES_AT_ECAE897: Final = 83_556
LATER_FEATURES: Final = {
    "very large plans packed in several ways (13adc917 against ea183a6c)": 189,
    "announced ends of instances (fdee286f against ea183a6c)": 579,
    "manifests of older versions (ec6b97fb against ea183a6c)": 2_583,
    "checks and faults of node classes (418de898 against ea183a6c)": 329,
    "generator of NodePools (its branch against 3437d462)": 2_701,
    "wasteful plans filled by patterns again (against 3437d462)": 199,
    "cells drawn for several groups at once (against 7f0cec4d)": 59,
    "what providers need in their clouds (against 7f0cec4d)": 124,
    "checks before a swap (against fd9cdf30)": 1_529,
}
MOST_LINES: Final = LINES_AT_ECAE897 + sum(LATER_FEATURES.values())
_CLOUD: Final = "dovetail.providers.aws"


class Figure(NamedTuple):
    """A number now, at the start, and the most that it may be; `details` are shown on request."""

    name: str
    now: int
    at_start: int
    limit: int | None = None
    details: tuple[str, ...] = ()

    @property
    def is_missed(self) -> bool:
        """Whether the number is above its limit."""
        return self.limit is not None and self.now > self.limit


def figures(tree: Mapping[str, Module], walked: Walk) -> Iterator[Figure]:
    """Every figure. What was counted at the start was counted by these functions."""
    large = {name: size for name, size in folder_sizes(tree).items() if size > MOST_IN_A_FOLDER}
    yield Figure(
        f"folders with more than {MOST_IN_A_FOLDER} modules",
        len(large),
        8,
        0,
        tuple(f"{size} {name}" for name, size in large.items()),
    )
    yield Figure("modules in the largest folder", max(folder_sizes(tree).values()), 72, 25)
    n_lines = sum(module.n_lines for name, module in tree.items() if not name.startswith(_CLOUD))
    yield Figure("source lines without providers/aws", n_lines, 78_751, MOST_LINES)
    single = single_importers(tree)
    small = [name for name in single if tree[name].n_lines < SMALL_LINES]
    yield Figure("modules with exactly one importer", len(single), 208)
    yield Figure(
        f"of them under {SMALL_LINES} lines",
        len(small),
        59,
        details=tuple(f"{name}, imported by {single[name]}" for name in small),
    )
    shared = shared_class_names(tree)
    yield Figure(
        "names of public classes that are not unique",
        len(shared),
        49,
        0,
        tuple(f"{name}: {', '.join(homes)}" for name, homes in shared.items()),
    )
    yield Figure("modules on the walk of a pod", len(walked.modules), 127, 84, walked.modules)
    yield Figure("package changes on that walk", walked.n_package_changes, 48, 32)


def table(shown: Sequence[Figure], *, with_details: bool) -> str:
    """The figures as a table for people."""
    lines = [f"{'':46}{'now':>8}{STARTED_AT:>9}{'limit':>8}"]
    for figure in shown:
        limit = "" if figure.limit is None else f"{figure.limit:,}"
        missed = "  missed" if figure.is_missed else ""
        lines.append(f"{figure.name:46}{figure.now:>8,}{figure.at_start:>9,}{limit:>8}{missed}")
        if with_details:
            lines += [f"    {line}" for line in figure.details]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Count, print, and say whether a limit is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.house", description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit code 1 if a limit is missed")
    parser.add_argument("--details", action="store_true", help="name what was counted")
    given = parser.parse_args(arguments)
    shown = list(figures(modules(), walk()))
    print(table(shown, with_details=given.details))
    return int(given.check and any(figure.is_missed for figure in shown))


if __name__ == "__main__":
    sys.exit(main())
