"""Defines a scenario: one law of planning in one file, with its input and expectation.

    because: Two replicas that avoid each other need two nodes.
    given:
      pods: [{name: web, replicas: 2, anti_affinity: [{topology_key: hostname}]}]
    want:
      nodes: 2

The same file is a test, an input of `dovetail plan -f`, and an example in the documentation.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
import yaml

from dovetail import api
from dovetail.cloud.catalogues import OfflineCatalogues
from dovetail.cloud.registry import extensions
from dovetail.decide.disrupt.why import staying_nodes
from dovetail.decide.endings import with_due_endings
from dovetail.errors import InputError
from dovetail.kube.manifests import from_trees
from dovetail.model.instance import InstanceType
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot
from dovetail.state import freeze
from dovetail.testing.departures import staying_differences
from dovetail.testing.given import Given
from dovetail.testing.want import Want


def snapshot_of(given: Given, name: str) -> Snapshot:
    """The cluster that a scenario starts from. Raises InputError; `name` is for its messages."""
    types = OfflineCatalogues().by_name(given.catalog) if given.catalog else given.own_types()
    written = given.snapshot(types)
    if not given.manifests:
        return written
    return _together(written, _read(given, types, name))


def _read(given: Given, types: tuple[InstanceType, ...], name: str) -> Snapshot:
    # YAML makes instants of what Kubernetes writes as text; here they become text again.
    trees: list[api.Tree] = msgspec.to_builtins(given.manifests)
    manifests = from_trees(trees, name, extensions())
    return freeze.snapshot(manifests.objects, instance_types=lambda _pool: types)


def _together(written: Snapshot, read: Snapshot) -> Snapshot:
    """Both clusters as one; policy and ledger are the shorthand's, which alone can state them."""
    return msgspec.structs.replace(
        written,
        pods=tuple(sorted((*written.pods, *read.pods), key=lambda pod: pod.key)),
        nodes=tuple(sorted((*written.nodes, *read.nodes), key=lambda node: node.name)),
        node_pools=tuple(
            sorted((*written.node_pools, *read.node_pools), key=lambda pool: pool.name)
        ),
        instance_types={**written.instance_types, **read.instance_types},
        daemon_sets=(*written.daemon_sets, *read.daemon_sets),
        volume_claims={**written.volume_claims, **read.volume_claims},
        volumes={**written.volumes, **read.volumes},
        storage_classes={**written.storage_classes, **read.storage_classes},
        namespaces={**read.namespaces, **written.namespaces},
        services=(*written.services, *read.services),
        owner_selectors={**written.owner_selectors, **read.owner_selectors},
        disruption_budgets=(*written.disruption_budgets, *read.disruption_budgets),
    )


DEFAULT_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
_KEYS: Final = frozenset({"because", "given", "now", "want"})


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A scenario file, word for word."""

    because: str
    given: Given
    want: Want
    now: datetime = DEFAULT_NOW


class Scenario(msgspec.Struct, frozen=True):
    """A cluster, a moment, and what a plan for it must hold, with the law behind it."""

    name: str
    because: str
    snapshot: Snapshot
    now: datetime
    want: Want

    def differences(self, plan: Plan) -> list[str]:
        """Every way in which the plan is not what was wanted; empty if it is."""
        differences = self.want.differences(self.snapshot, plan)
        told = staying_nodes(self.snapshot, plan, self.now)
        return [*differences, *staying_differences(self.want.stays, told)]


def is_scenario(tree: object) -> bool:
    """Whether a parsed document is a scenario rather than a Kubernetes object."""
    return isinstance(tree, dict) and "given" in tree and set(tree) <= _KEYS


def load(path: str | Path) -> Scenario:
    """The scenario in a file. Raises InputError that names file, field and what was expected."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        tree = yaml.load(text, Loader=yaml.CSafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        msg = f"{path}: reading the scenario: {error}"
        raise InputError(msg) from error
    return parse(tree, str(path))


def parse(tree: object, name: str) -> Scenario:
    """The scenario of a parsed document; `name` is for messages."""
    try:
        file = msgspec.convert(tree, _File)
        _require_substance(file)
        snapshot = with_due_endings(snapshot_of(file.given, name), file.now)
        return Scenario(name, file.because.strip(), snapshot, file.now, file.want)
    except (msgspec.ValidationError, ValueError) as error:
        msg = f"{name}: reading the scenario: {error}"
        raise InputError(msg) from error


def _require_substance(file: _File) -> None:
    """A scenario that could not fail, or that gives no reason, proves nothing."""
    if file.want == Want():
        msg = "`want` is empty; say at least how many `nodes` are wanted"
        raise ValueError(msg)
    if not file.because.strip():
        msg = "`because` is empty; say which law this shows"
        raise ValueError(msg)
    if file.now.tzinfo is None:
        msg = "`now` needs a time zone, as in 2026-01-01T00:00:00Z"
        raise ValueError(msg)
