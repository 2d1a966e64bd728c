"""Reads a scenario file within bounds, applies settings, and validates it as a whole.

A simulation begins when its file says, just after the cluster was seen, or on a Monday: one that
began before the cluster's own pods were made would take them all for new ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Final

import msgspec

from dovetail import api
from dovetail.errors import InputError
from dovetail.kube import sources, yaml_trees
from dovetail.model.snapshot import Snapshot
from dovetail.sim.scenario.strict import Place, read
from dovetail.sim.scenario.written import WrittenScenario

_LARGEST: Final = 8 << 20
_SHORTEST_STEP: Final = timedelta(seconds=1)


class ScenarioText(msgspec.Struct, frozen=True):
    """A file as it was parsed, and where it stood."""

    file: str
    tree: dict[str, api.Tree]

    def beside(self, name: str) -> str:
        """A path that the file names: relative ones start from where it stands."""
        return str(Path(self.file).parent / name)


def load(file: str) -> ScenarioText:
    """The tree in a file. Raises InputError."""
    path = Path(file)
    if not path.is_file():
        msg = f"{file}: no such file; expected a scenario, see docs/simulate.md"
        raise InputError(msg)
    if path.stat().st_size > _LARGEST:
        msg = (
            f"{file}: larger than {_LARGEST >> 20} MB; expected a scenario, "
            "which names a large dump under `cluster`"
        )
        raise InputError(msg)
    content = sources.content(sources.Source(file, path), BytesIO())
    try:
        trees = [tree for _, tree in yaml_trees.trees(content.data)]
    except yaml_trees.YamlError as error:
        msg = f"{file}: {error.message}"
        raise InputError(msg) from None
    if len(trees) != 1 or not isinstance(trees[0], dict):
        msg = f"{file}: found {len(trees)} documents; expected one mapping, see docs/simulate.md"
        raise InputError(msg)
    return ScenarioText(file, trees[0])


def with_settings(text: ScenarioText, settings: Sequence[tuple[str, str]]) -> ScenarioText:
    """The same with other values: each setting is a path such as `policy.evictionCost`, and what
    is to stand there.
    """
    tree = text.tree
    for path, value in settings:
        tree = _put(tree, path.split("."), _parse_value(path, value), text.file)
    return ScenarioText(text.file, tree)


def scenario(text: ScenarioText) -> WrittenScenario:
    """What the file says. Raises InputError."""
    place = Place(text.file)
    written_scenario = read(text.tree, WrittenScenario, place)
    if written_scenario.lasts <= timedelta(0):
        place.of("lasts").refuse("nothing would happen; expected a time such as 24h")
    if written_scenario.warm_up >= written_scenario.lasts:
        place.of("warmUp").refuse("nothing would be counted; expected less than `lasts`")
    if written_scenario.boots.at_most < written_scenario.boots.at_least:
        place.of("boots").of("atMost").refuse("expected at least `atLeast`")
    for name, work in written_scenario.cron_works.items():
        if work.every is not None and work.every < _SHORTEST_STEP:
            at = place.of("cronWorks").of(name).of("every")
            at.refuse("expected at least 1s; leave it out for pods that come once")
    return written_scenario


def _put(
    tree: dict[str, api.Tree], path: list[str], value: api.Tree, file: str
) -> dict[str, api.Tree]:
    name, *rest = path
    if not rest:
        return {**tree, name: value}
    inner = tree.get(name)
    if inner is None:
        inner = {}
    if not isinstance(inner, dict):
        msg = f"{file}: --set {'.'.join(path)}: {name} is no mapping; expected a path of fields"
        raise InputError(msg)
    return {**tree, name: _put(inner, rest, value, file)}


def _parse_value(path: str, value: str) -> api.Tree:
    try:
        return next((tree for _, tree in yaml_trees.trees(value.encode())), "")
    except yaml_trees.YamlError as error:
        msg = f"--set {path}: {error.message}"
        raise InputError(msg) from None


MONDAY: Final = datetime(2026, 1, 5, tzinfo=UTC)


def begins_at(written: WrittenScenario, cluster: Snapshot) -> datetime:
    """The moment from which all others are counted."""
    if written.start is not None:
        return written.start
    seen = latest(cluster)
    if seen is None:
        return MONDAY
    return seen.replace(second=0, microsecond=0) + timedelta(minutes=1)


def latest(cluster: Snapshot) -> datetime | None:
    """The last moment that the cluster speaks of, if it speaks of any."""
    return max(_moments(cluster), default=None)


def _moments(cluster: Snapshot) -> Iterator[datetime]:
    for pod in cluster.pods:
        yield from (moment for moment in (pod.created_at, pod.started_at) if moment is not None)
    for node in cluster.nodes:
        yield from (item for item in (node.created_at, node.last_pod_event_at) if item is not None)
