"""Finds NodePools and node classes that are invalid here, or whose settings have another effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dovetail import api
from dovetail.decide.disrupt.flaws import NO_REASONS
from dovetail.migration.definitions import GATES
from dovetail.migration.findings import MigrationFinding, Severity
from dovetail.migration.objects import ClusterObjects
from dovetail.present.installation.choices import Choices

_AT_CLASS: Final = "spec.template.spec.nodeClassRef"


def pool_findings(cluster: ClusterObjects, choices: Choices) -> Iterator[MigrationFinding]:
    """Whatever makes a NodePool launch nothing, or behave in another way than written."""
    for item in (*cluster.node_pools, *cluster.node_classes):
        yield from _invalid(item, choices)
    for pool in cluster.node_pools:
        yield from _node_class(pool, cluster, choices)
        yield from _settings(pool)
    for item in cluster.gated:
        gate = GATES[item.kind]
        yield _gated(f"{item.kind} {_path(item)}", "", gate)


def _path(item: api.Object) -> str:
    return "/".join(part for part in (item.metadata.namespace, item.metadata.name) if part)


def _invalid(item: api.Object, choices: Choices) -> Iterator[MigrationFinding]:
    for problem in api.problems(item, choices.extensions):
        yield MigrationFinding(
            Severity.ERROR,
            f"{item.kind} {item.metadata.name}",
            problem.field,
            f"{problem.message}; Dovetail launches nothing with it",
            f"correct {problem.field or 'it'}: kubectl edit {item.kind.lower()} "
            f"{item.metadata.name}",
        )


def _node_class(
    pool: api.NodePool, cluster: ClusterObjects, choices: Choices
) -> Iterator[MigrationFinding]:
    ref = pool.spec.template.spec.node_class_ref
    name = f"NodePool {pool.metadata.name}"
    kinds = {
        (definition.kind.group, definition.kind.name)
        for extension in choices.extensions
        for definition in extension.node_classes
    }
    if (ref.group, ref.kind) not in kinds:
        known = " or ".join(sorted(f"{kind}.{group}" for group, kind in kinds)) or "none"
        yield MigrationFinding(
            Severity.ERROR,
            name,
            _AT_CLASS,
            f"{ref.kind}.{ref.group} is no node class of provider {choices.provider}, which has "
            f"{known}; the pool is ignored",
            "give --provider the name of the provider of this kind",
        )
    elif ref.kind not in cluster.hidden and not any(
        item.kind == ref.kind and item.metadata.name == ref.name for item in cluster.node_classes
    ):
        yield MigrationFinding(
            Severity.ERROR,
            name,
            f"{_AT_CLASS}.name",
            f"{ref.kind} {ref.name} does not exist; the pool launches nothing",
            f"create {ref.kind} {ref.name}, or name another",
        )


def _settings(pool: api.NodePool) -> Iterator[MigrationFinding]:
    name = f"NodePool {pool.metadata.name}"
    for index, budget in enumerate(pool.spec.disruption.budgets):
        if budget.reasons == ():
            yield MigrationFinding(
                Severity.WARNING,
                name,
                f"spec.disruption.budgets[{index}].reasons",
                f"the budget never limits anything: {NO_REASONS}",
                "remove the field for a budget of all reasons, or name some",
            )
    if pool.spec.replicas is not None:
        yield _gated(name, "spec.replicas", "StaticCapacity")


def _gated(name: str, field: str, gate: str) -> MigrationFinding:
    return MigrationFinding(
        Severity.NOTE,
        name,
        field,
        f"has an effect only with the feature gate {gate}, which is off by default",
        f"set settings.featureGates.{gate[:1].lower()}{gate[1:]}=true if it was on in Karpenter",
    )
