"""present/installation — which objects does a cluster need for Dovetail to run in it?

The same as the charts make with the values they come with; a test compares them one by one, so
that whoever has no Helm installs the same thing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import dovetail.api.crds as definitions
from dovetail.api.decoding import Tree
from dovetail.api.rbac import PolicyRule
from dovetail.present.installation import rights, workload
from dovetail.present.installation.choices import NAME, Choices

_ROLES: Final = "rbac.authorization.k8s.io"
_NODE_LEASES: Final = "kube-node-lease"
# What every cluster has already.
_GIVEN: Final = frozenset({"default", "kube-system", "kube-public", _NODE_LEASES})


def manifests(choices: Choices) -> tuple[Tree, ...]:
    """Everything, in an order in which it can be applied. A shadow looks at what is there: it
    brings no definitions, which are its neighbour's.
    """
    if choices.is_shadow:
        return (*_namespace(choices), *_shadow_rights(choices), *workload.objects(choices))
    return (
        *_namespace(choices),
        *definitions.crds(choices.extensions),
        *_rights(choices),
        *workload.objects(choices),
    )


def _namespace(choices: Choices) -> Iterator[Tree]:
    if choices.namespace not in _GIVEN:
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": choices.namespace}}


def _account(choices: Choices) -> Tree:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": choices.metadata(NAME, choices.namespace),
    }


def _shadow_rights(choices: Choices) -> Iterator[Tree]:
    """Reading, and nothing else: not even a lease."""
    yield _account(choices)
    rules = (*rights.READING, *choices.access.reading)
    yield from _grant(choices, NAME, "", rules)


def _rights(choices: Choices) -> Iterator[Tree]:
    yield _account(choices)
    yield _admin(choices)
    yield from _grant(choices, NAME, "", rights.CORE)
    access = choices.access
    kubelets = access.kubelets if choices.kubelets else ()
    theirs = (*access.reading, *access.writing, *kubelets)
    if theirs:
        yield from _grant(choices, f"{NAME}-{choices.provider}", "", theirs)
    yield from _grant(choices, NAME, choices.namespace, rights.HOME)
    node_leases = rights.node_leases(kubelets=bool(kubelets))
    yield from _grant(choices, f"{NAME}-node-leases", _NODE_LEASES, node_leases)


def _grant(
    choices: Choices, name: str, namespace: str, rules: tuple[PolicyRule, ...]
) -> Iterator[Tree]:
    """A role and its binding to our account; in no namespace: for the whole cluster."""
    kind = "Role" if namespace else "ClusterRole"
    metadata = choices.metadata(name, namespace)
    yield {
        "apiVersion": f"{_ROLES}/v1",
        "kind": kind,
        "metadata": metadata,
        "rules": [rule.tree() for rule in rules],
    }
    yield {
        "apiVersion": f"{_ROLES}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": _ROLES, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": choices.namespace}],
    }


def _admin(choices: Choices) -> Tree:
    """What administrators of the cluster may do with our kinds."""
    metadata = choices.metadata(f"{NAME}-admin", labels={f"{_ROLES}/aggregate-to-admin": "true"})
    return {
        "apiVersion": f"{_ROLES}/v1",
        "kind": "ClusterRole",
        "metadata": metadata,
        "rules": [rule.tree() for rule in (*rights.ADMIN, *choices.access.administration)],
    }
