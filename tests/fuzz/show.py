"""What is wrong with one seed? The least of its cluster that still goes wrong in the same way."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from datetime import datetime
from functools import partial
from random import Random

import yaml

from dovetail.decide import decide
from dovetail.model.snapshot import Snapshot
from tests.fuzz import kills, placed
from tests.fuzz.describe import describe, described
from tests.fuzz.judge import snapshot_of, wrong_when_shuffled, wrong_with
from tests.fuzz.shrink import shrink
from tests.fuzz.tiny import built, words_of
from tests.fuzz.tiny_shrink import least_words
from tests.laws.lively import lively
from tests.laws.peace import Peace
from tests.laws.strategies import NOW
from tests.laws.thrift import Thrift
from tests.oracle.check import check

Complaints = Callable[[Snapshot], list[str]]


def show(part: str, seed: int, match: str = "") -> None:
    """Run a seed again, and print what is wrong with it, or that nothing is."""
    if part == "kills":
        _tell(seed, kills.wrong(seed))
        return
    if part == "placed":
        _show_placed(seed, match)
        return
    snapshot, now, complaints = _case(part, seed)
    first = [one for one in complaints(snapshot) if match in one]
    if not first:
        return
    wanted = _symptom(first[0])
    least = shrink(snapshot, lambda smaller: wanted in map(_symptom, complaints(smaller)))
    print(f"shrunk, at {now}:\n{describe(least)}")
    print("wrong:", *complaints(least), sep="\n  ")
    print(f"plan:\n{described(decide(least, now))}" if "Error" not in wanted else "no plan")


def _show_placed(seed: int, match: str) -> None:
    """Print the least of a tiny cluster for each kind of finding, as the `given` of a scenario."""
    words = words_of(seed)
    first = placed.findings(placed.judged(built(words)))
    _tell(seed, [str(one) for one in first])
    for kind in dict.fromkeys(one.kind for one in first if match in str(one)):
        least = least_words(words, partial(placed.has, kind))
        found = placed.judged(built(least))
        print(f"shrunk, {kind}:\n{yaml.safe_dump({'given': least}, sort_keys=False)}")
        print("wrong:", *placed.findings(found), sep="\n  ")
        print(f"plan:\n{described(found.plan)}")


def _case(part: str, seed: int) -> tuple[Snapshot, datetime, Complaints]:
    """The cluster that goes wrong, when, and how that is seen."""
    if part == "plans":
        snapshot, now = snapshot_of(seed), NOW

        def judged(one: Snapshot) -> list[str]:
            return wrong_with(one) or wrong_when_shuffled(one, seed)
    else:
        snapshot, now = _last(part, seed)

        def judged(one: Snapshot) -> list[str]:
            return check(one, now, decide(one, now))

    def complaints(one: Snapshot) -> list[str]:
        try:
            return judged(one)
        except Exception:  # noqa: BLE001  a crash is as wrong as a bad plan
            lines = traceback.format_exc().strip().splitlines()
            return [" | ".join(line.strip() for line in lines[-5:])]

    if part == "plans":
        _tell(seed, complaints(snapshot))
    return snapshot, now, complaints


def _last(part: str, seed: int) -> tuple[Snapshot, datetime]:
    """How the cluster looked when something was wrong, and when that was."""
    chance, given = Random(seed), lively(seed)
    if part == "rest":
        peace = Peace(given, chance)
        _run(seed, peace.complaints)
        return peace.snapshot, peace.now
    thrift = Thrift(given, chance)
    _run(seed, thrift.complaints)
    return thrift.bustle.snapshot, thrift.bustle.now


def _run(seed: int, complaints: Callable[[], list[str]]) -> None:
    try:
        _tell(seed, complaints())
    except Exception:  # noqa: BLE001  a crash is as wrong as a bad plan
        _tell(seed, [traceback.format_exc()])


def _tell(seed: int, complaints: list[str]) -> None:
    print(f"seed {seed}:", *complaints or ["nothing is wrong"], sep="\n  ")


def _symptom(complaint: str) -> str:
    """A complaint without its names and numbers."""
    return re.sub(r"\S*\d\S*", "#", complaint)
