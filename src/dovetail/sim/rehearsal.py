"""Runs the simulations of scenario files, and returns their outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from itertools import product
from typing import BinaryIO

import msgspec

from dovetail.cloud.registry import extensions
from dovetail.errors import InputError
from dovetail.kube.manifests import Manifests, from_trees, read
from dovetail.model.snapshot import Snapshot
from dovetail.sim import sweep
from dovetail.sim.scenario.case import Case, Decider, Outcome, ready
from dovetail.sim.scenario.reading import ScenarioText, load, scenario, with_settings
from dovetail.sim.scenario.written import WrittenScenario

Setting = tuple[str, str]  # a path such as "policy.evictionCost", and what is to stand there
Tell = Callable[[str], None]


class Rehearsal(msgspec.Struct, frozen=True, kw_only=True):
    """What to simulate: every file under every decider, with every combination of `variations`, for
    every seed (none: the file's own). `more` are manifests beside those that the files name.
    """

    files: tuple[str, ...]
    more: tuple[str, ...] = ()
    deciders: tuple[Decider, ...] = (Decider.DOVETAIL,)
    seeds: tuple[int, ...] = ()
    settings: tuple[Setting, ...] = ()
    variations: tuple[tuple[str, tuple[str, ...]], ...] = ()
    n_workers: int = 0
    ray: str = ""


class Stage(msgspec.Struct, frozen=True):
    """The cluster that a scenario starts from. `notes` belong to figures, `remarks` are talk."""

    cluster: Snapshot
    remarks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Rehearsed(msgspec.Struct, frozen=True):
    """What came of it, in the order in which it was asked for."""

    outcomes: tuple[Outcome, ...]
    remarks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


Build = Callable[[Manifests, str], Stage]


def rehearse(rehearsal: Rehearsal, build: Build, *, stdin: BinaryIO, tell: Tell) -> Rehearsed:
    """Simulate it all. `build` makes a cluster of manifests and a catalogue. Raises InputError."""
    tell("reading scenarios")
    cases: list[Case] = []
    remarks: dict[str, None] = {}
    notes: dict[str, None] = {}
    manifests = read(rehearsal.more, stdin) if rehearsal.more else Manifests()
    for file in rehearsal.files:
        text = load(file)
        stages: dict[tuple[object, ...], Stage] = {}
        for settings in _settings(rehearsal):
            changed = with_settings(text, settings)
            written = scenario(changed)
            key = (written.cluster, written.catalog, settings if written.manifests else ())
            if key not in stages:
                stages[key] = build(_together(changed, written, manifests), written.catalog)
            remarks |= dict.fromkeys(stages[key].remarks)
            notes |= dict.fromkeys(stages[key].notes)
            cases += _cases(changed, written, stages[key].cluster, rehearsal, settings)
    remarks |= dict.fromkeys(_problems(cases))
    return Rehearsed(tuple(_run(cases, rehearsal, tell)), tuple(remarks), tuple(notes))


def _settings(rehearsal: Rehearsal) -> Iterator[tuple[Setting, ...]]:
    """Every combination of what is varied, after what is set for all."""
    names = [name for name, _ in rehearsal.variations]
    for values in product(*(values for _, values in rehearsal.variations)):
        yield (*rehearsal.settings, *zip(names, values, strict=True))


def _cases(
    text: ScenarioText,
    written: WrittenScenario,
    cluster: Snapshot,
    rehearsal: Rehearsal,
    settings: tuple[Setting, ...],
) -> Iterator[Case]:
    own = settings[len(rehearsal.settings) :]
    for decider in rehearsal.deciders:
        for seed in rehearsal.seeds or (written.seed,):
            yield Case(text, cluster, seed, decider, own)


def _problems(cases: Sequence[Case]) -> Iterator[str]:
    """Whatever is wrong is said before anything is run. Raises InputError."""
    seen: set[tuple[str, tuple[Setting, ...]]] = set()
    for case in cases:
        key = (case.text.file, case.settings)
        if key not in seen:
            seen.add(key)
            yield from ready(case).remarks


def _run(cases: Sequence[Case], rehearsal: Rehearsal, tell: Tell) -> list[Outcome]:
    if rehearsal.ray:
        return sweep.on_ray(cases, tell, rehearsal.ray, rehearsal.n_workers)
    return sweep.on_cores(cases, tell, rehearsal.n_workers)


def _together(text: ScenarioText, written: WrittenScenario, manifests: Manifests) -> Manifests:
    """Everything that the cluster is made from, each object once. Raises InputError."""
    beside = [text.beside(name) for name in written.cluster]
    added = extensions()
    named = read(beside, BytesIO(), added) if beside else Manifests()
    inline = from_trees(
        [dict(tree) for tree in written.manifests], f"{text.file}: manifests", added
    )
    parts = (inline, named, manifests)
    for law in (law for part in parts for law in part.scenarios):
        msg = f"{law.origin}: found a scenario of one plan (given, want); expected manifests"
        raise InputError(msg)
    whole = Manifests(
        tuple(manifest for part in parts for manifest in part.manifests),
        skipped=dict(sum((Counter(part.skipped) for part in parts), Counter())),
        older=dict(sum((Counter(part.older) for part in parts), Counter())),
        warnings=tuple(warning for part in parts for warning in part.warnings),
    )
    _check_once(whole)
    if not any(manifest.kind.name == "NodePool" for manifest in whole.manifests):
        msg = (
            f"{text.file}: no NodePool; expected one under `manifests`, in the files that "
            "`cluster` names, or in a dump given with -f"
        )
        raise InputError(msg)
    return whole


def _check_once(whole: Manifests) -> None:
    seen: dict[tuple[str, str, str], str] = {}
    for manifest in whole.manifests:
        meta = manifest.object.metadata
        key = (manifest.kind.name, meta.namespace, meta.name)
        if key in seen:
            msg = (
                f"{manifest.origin}: {manifest.kind.name} {meta.name} is already in {seen[key]}; "
                "expected each object once"
            )
            raise InputError(msg)
        seen[key] = str(manifest.origin)
