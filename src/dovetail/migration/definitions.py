"""Finds what is wrong with custom resource definitions: missing, old, or without our fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from dovetail.api.crds import crds
from dovetail.api.decoding import Tree, decode
from dovetail.migration.findings import MigrationFinding, Severity
from dovetail.migration.objects import ClusterObjects, CustomResourceDefinition, DefinedVersion
from dovetail.present.installation.choices import Choices

_KIND: Final = "CustomResourceDefinition"
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_MOST_NAMED: Final = 5
# Kinds that the controller reads only with a feature gate.
GATES: Final = {"NodeOverlay": "NodeOverlay", "CapacityBuffer": "CapacityBuffer"}


def definition_findings(cluster: ClusterObjects, choices: Choices) -> Iterator[MigrationFinding]:
    """Every definition of ours, compared with the one that is installed."""
    if _KIND in cluster.hidden:
        return
    installed = {definition.metadata.name: definition for definition in cluster.definitions}
    for tree in crds(choices.extensions):
        ours = decode(CustomResourceDefinition, tree)
        theirs = installed.get(ours.metadata.name)
        if theirs is None:
            yield _missing(ours, choices)
        else:
            yield from _version_findings(ours, theirs, choices)
            yield from _field_findings(ours, theirs, choices)


def apply_command(choices: Choices) -> str:
    """The command that installs our definitions."""
    return (
        f"dovetail crds --provider {choices.provider} | "
        "kubectl apply --server-side --force-conflicts -f -"
    )


def _object(definition: CustomResourceDefinition) -> str:
    return f"{_KIND} {definition.metadata.name}"


def _missing(ours: CustomResourceDefinition, choices: Choices) -> MigrationFinding:
    gate = GATES.get(ours.spec.names.kind)
    return MigrationFinding(
        Severity.ERROR if gate is None else Severity.NOTE,
        _object(ours),
        "",
        "is not installed" + (f"; needed with the feature gate {gate}" if gate else ""),
        apply_command(choices),
    )


def _version_findings(
    ours: CustomResourceDefinition, theirs: CustomResourceDefinition, choices: Choices
) -> Iterator[MigrationFinding]:
    (ours_version,) = ours.spec.versions
    version = _version(theirs, ours_version.name)
    if version is None or not version.served:
        known = ", ".join(item.name for item in theirs.spec.versions if item.served) or "none"
        yield MigrationFinding(
            Severity.ERROR,
            _object(theirs),
            "spec.versions",
            f"{ours_version.name} is not served, only {known}; Dovetail reads no other version",
            apply_command(choices),
        )
    elif not version.storage:
        stored = next((item.name for item in theirs.spec.versions if item.storage), "none")
        yield MigrationFinding(
            Severity.WARNING,
            _object(theirs),
            "spec.versions",
            f"objects are stored as {stored}, not as {version.name}",
            f"{apply_command(choices)}, then rewrite every object: {_rewrite(theirs)}",
        )
    yield from _stored_version_findings(theirs, ours_version.name)


def _stored_version_findings(
    theirs: CustomResourceDefinition, wanted: str
) -> Iterator[MigrationFinding]:
    older = [version for version in theirs.status.stored_versions if version != wanted]
    if older:
        patch = f"""'{{"status":{{"storedVersions":["{wanted}"]}}}}'"""
        yield MigrationFinding(
            Severity.ERROR,
            _object(theirs),
            "status.storedVersions",
            f"names {', '.join(older)}; the API server rejects a definition without that version",
            f"rewrite every object: {_rewrite(theirs)}, then: kubectl patch "
            f"customresourcedefinition {theirs.metadata.name} --subresource=status "
            f"--type=merge -p {patch}",
        )


def _rewrite(definition: CustomResourceDefinition) -> str:
    return f"kubectl get {definition.metadata.name} -A -o json | kubectl replace -f -"


def _version(definition: CustomResourceDefinition, name: str) -> DefinedVersion | None:
    return next((version for version in definition.spec.versions if version.name == name), None)


def _field_findings(
    ours: CustomResourceDefinition, theirs: CustomResourceDefinition, choices: Choices
) -> Iterator[MigrationFinding]:
    (ours_version,) = ours.spec.versions
    version = _version(theirs, ours_version.name)
    if version is None:
        return
    absent = list(absent_fields(_schema(ours_version), _schema(version)))
    if absent:
        n_more = len(absent) - _MOST_NAMED
        more = f" and {n_more} more" if n_more > 0 else ""
        yield MigrationFinding(
            Severity.WARNING,
            _object(theirs),
            f"spec.versions[{version.name}].schema",
            f"lacks {', '.join(absent[:_MOST_NAMED])}{more}; the API server drops these fields",
            apply_command(choices),
        )


def _schema(version: DefinedVersion) -> Tree:
    tree: Tree = msgspec.json.decode(version.schema.open_api_v3_schema)
    return tree


def absent_fields(ours: Tree, theirs: Tree, at: str = "") -> Iterator[str]:
    """The fields of our schema that theirs does not have, as paths; of a field that is absent
    itself, only that.
    """
    if not isinstance(ours, Mapping) or not isinstance(theirs, Mapping) or theirs.get(_PRESERVE):
        return
    own, known = ours.get("properties"), theirs.get("properties")
    if isinstance(own, Mapping) and isinstance(known, Mapping):
        for name, schema in own.items():
            path = f"{at}.{name}" if at else name
            if name in known:
                yield from absent_fields(schema, known[name], path)
            else:
                yield path
    for step, mark in (("items", "[]"), ("additionalProperties", "")):
        if step in ours:
            yield from absent_fields(ours[step], theirs.get(step), at + mark)
