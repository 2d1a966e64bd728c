"""Defines the rules of roles: what may be done with which resources."""

from __future__ import annotations

import msgspec

from dovetail.api.decoding import Tree


class PolicyRule(msgspec.Struct, frozen=True):
    """What may be done with which resources of a group; with `names`, only to those objects."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()

    def tree(self) -> Tree:
        """As a role says it."""
        named: dict[str, Tree] = {"resourceNames": list(self.names)} if self.names else {}
        return {
            "apiGroups": [self.group],
            "resources": list(self.resources),
            **named,
            "verbs": list(self.verbs),
        }


class ProviderAccess(msgspec.Struct, frozen=True):
    """What the controller may do in the cluster for a provider: `reading` in a dry run, both
    otherwise. `administration` is what administrators may do with the provider's kinds, `kubelets`
    what simulating the kubelets of its nodes takes; none where nodes have real ones.
    """

    reading: tuple[PolicyRule, ...] = ()
    writing: tuple[PolicyRule, ...] = ()
    administration: tuple[PolicyRule, ...] = ()
    kubelets: tuple[PolicyRule, ...] = ()
