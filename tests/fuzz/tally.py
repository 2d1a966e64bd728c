"""Count what is wrong with plans for tiny clusters, by kind. `python tests/fuzz/tally.py --help`.

With `--causes`, every cluster that leaves out pods is shrunk, and the constraints that are left
are counted.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.fuzz.placed import Kind, findings, has, judged  # noqa: E402  the path above comes first
from tests.fuzz.tiny import built, is_plausible, words_of  # noqa: E402  the path above comes first
from tests.fuzz.tiny_market import Words  # noqa: E402  the path above comes first
from tests.fuzz.tiny_shrink import least_words  # noqa: E402  the path above comes first

UNKNOWN = "unknown (the search ran out of steps)"
LEFT_OUT = (Kind.LEFT_OUT, Kind.LEFT_OUT_OF_NODES)


def tally(seeds: range) -> dict[str, list[int]]:
    """The seeds of each kind of finding."""
    found: dict[str, list[int]] = {str(kind): [] for kind in Kind}
    found[UNKNOWN] = []
    for seed in seeds:
        one = judged(built(words_of(seed)))
        kinds = {str(finding.kind) for finding in findings(one)}
        if not (one.most_placed.is_complete and one.cheapest.is_complete):
            kinds.add(UNKNOWN)
        for kind in kinds:
            found[kind].append(seed)
    return found


def causes(seed: int) -> str:
    """The constraints that matter where pods are left out, in the least of the cluster."""
    words = words_of(seed)
    kinds = [kind for kind in LEFT_OUT if has(kind, words)]
    return ", ".join(sorted(set(_features(least_words(words, partial(has, kinds[0]))))))


def _features(words: Words) -> Iterator[str]:
    for pool in words.get("pools", {}).values():
        yield from (f"limits.{name}" for name in pool.get("limits", {}))
        yield from (key for key in ("weight", "taints", "requirements") if pool.get(key))
    for kind in words["types"].values():
        yield from ("reservation" for one in kind.get("offerings", ()) if "reservation_id" in one)
    if words.get("nodes"):
        yield "existing nodes"
    for pod in words.get("pods", ()):
        yield from _features_of_pod(pod)


def _features_of_pod(pod: dict[str, Any]) -> Iterator[str]:
    for key in ("spread", "affinity", "anti_affinity"):
        for one in pod.get(key, ()):
            selector = one.get("selector", pod["labels"])
            is_own = selector == {"app": pod["name"]} or "selector" not in one
            yield f"{'own ' if is_own else ''}{one['topology_key']} {key.replace('_', '-')}"
    yield from (key for key in ("host_ports", "priority", "node_selector") if pod.get(key))


def main() -> None:
    """Print a table, and the smallest seeds of each kind."""
    parser = argparse.ArgumentParser(description="Count what is wrong with plans, by kind.")
    parser.add_argument("--clusters", type=int, default=2000, metavar="N")
    parser.add_argument("--start", type=int, default=0, metavar="SEED")
    parser.add_argument("--causes", action="store_true", help="shrink whatever leaves out pods")
    given = parser.parse_args()
    seeds = range(given.start, given.start + given.clusters)
    n_plausible = sum(map(is_plausible, seeds))
    n_wild = len(seeds) - n_plausible
    found = tally(seeds)
    print(f"{n_plausible} plausible and {n_wild} wild clusters")
    for kind, wrong in found.items():
        plausible = [seed for seed in wrong if is_plausible(seed)]
        wild = [seed for seed in wrong if not is_plausible(seed)]
        print(
            f"{kind}: plausible {len(plausible)} ({len(plausible) / max(1, n_plausible):.2%}) "
            f"{plausible[:3]}, wild {len(wild)} ({len(wild) / max(1, n_wild):.2%}) {wild[:3]}"
        )
    if given.causes:
        _tell_causes(sorted({seed for kind in LEFT_OUT for seed in found[kind]}))


def _tell_causes(seeds: list[int]) -> None:
    by_cause: dict[str, list[int]] = {}
    for seed in seeds:
        by_cause.setdefault(causes(seed), []).append(seed)
    counted = Counter({cause: len(one) for cause, one in by_cause.items()})
    for cause, n in counted.most_common():
        print(f"{n:4} {cause or 'nothing but size'}: {by_cause[cause][:3]}")


if __name__ == "__main__":
    main()
