"""Lists the rights that an installation takes, and reports those that are missing.

Whoever grants a role must have every right in it; the API server refuses anything else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Final

from dovetail.api.decoding import Tree
from dovetail.migration.findings import MigrationFinding, Severity
from dovetail.migration.objects import ClusterObjects, Right
from dovetail.present.installation import manifests
from dovetail.present.installation.choices import NAME, Choices

_APPLY: Final = ("create", "patch")
_ROLES: Final = ("ClusterRole", "Role")


def installation_rights(choices: Choices) -> tuple[Right, ...]:
    """To create every object of the installation, and everything that its roles grant."""
    rights: set[Right] = set()
    for tree in manifests(choices):
        if isinstance(tree, Mapping):
            rights.update(_to_create(tree))
            if tree.get("kind") in _ROLES:
                rights.update(_granted(tree))
    return tuple(sorted(rights))


def _to_create(tree: Mapping[str, Tree]) -> Iterator[Right]:
    group, slash, _ = str(tree.get("apiVersion", "")).partition("/")
    plural = f"{str(tree.get('kind', '')).lower()}s"
    for verb in _APPLY:
        yield Right(group if slash else "", plural, verb, _namespace(tree))


def _namespace(tree: Mapping[str, Tree]) -> str:
    metadata = tree.get("metadata")
    return str(metadata.get("namespace", "")) if isinstance(metadata, Mapping) else ""


def _granted(tree: Mapping[str, Tree]) -> Iterator[Right]:
    rules = tree.get("rules")
    for rule in rules if isinstance(rules, list) else ():
        if not isinstance(rule, Mapping):
            continue
        for group in _texts(rule, "apiGroups"):
            for resource in _texts(rule, "resources"):
                for verb in _texts(rule, "verbs"):
                    for name in _texts(rule, "resourceNames") or ("",):
                        yield Right(group, resource, verb, _namespace(tree), name)


def _texts(rule: Mapping[str, Tree], field: str) -> tuple[str, ...]:
    values = rule.get(field)
    return tuple(map(str, values)) if isinstance(values, list) else ()


def permission_findings(cluster: ClusterObjects, choices: Choices) -> Iterator[MigrationFinding]:
    """Missing rights, by resource; and kinds that may not be read, of which nothing is known."""
    grouped = groupby(
        sorted(cluster.denied, key=lambda right: (*_without_verb(right), right.verb)),
        key=_without_verb,
    )
    for (group, resource, namespace, name), rights in grouped:
        verbs = ", ".join(right.verb for right in rights)
        right = Right(group, resource, verbs, namespace, name)
        yield MigrationFinding(
            Severity.ERROR,
            f"{resource}.{group}" if group else resource,
            "verbs",
            f"you may not {right}; the installation needs it, and nobody can grant a role with "
            "rights that they do not have",
            f"install {NAME} as a user with this right, such as a cluster administrator",
        )
    for kind in cluster.hidden:
        yield MigrationFinding(
            Severity.WARNING,
            kind,
            "",
            "you may not read objects of this kind, so they were not checked",
            f"run the check as a user who may list them, for provider {choices.provider}",
        )


def _without_verb(right: Right) -> tuple[str, str, str, str]:
    """What rights that differ only in their verb have in common."""
    return right.group, right.resource, right.namespace, right.name
