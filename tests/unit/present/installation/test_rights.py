"""What the controller may do is enough, and no more."""

from __future__ import annotations

import pytest

from dovetail.api.rbac import PolicyRule
from dovetail.controllers.feed import watched_kinds
from dovetail.controllers.pods import eviction_counts
from dovetail.present.installation import rights
from dovetail.providers.kwok import node_class as kwok_node_class
from dovetail.settings.readings import FEATURE_GATES
from tests import installing

KWOK = installing.RIGHTS_WITH_KUBELETS
LEASES = rights.node_leases(kubelets=True)
CONTROLLER = (*rights.CORE, *KWOK, *rights.HOME, *LEASES)
READ = {"get", "list", "watch"}


def verbs(rules: tuple[PolicyRule, ...], group: str, resource: str) -> set[str]:
    """What may be done with a resource."""
    found = [rule for rule in rules if rule.group == group and resource in rule.resources]
    return {verb for rule in found for verb in rule.verbs}


def test_nothing_is_granted_wholesale() -> None:
    """No rule has a wildcard."""
    for rule in (*CONTROLLER, *rights.ADMIN):
        assert not [word for word in (*rule.resources, *rule.verbs) if "*" in word]
        assert rule.resources
        assert rule.verbs


def test_every_kind_that_the_feed_watches_may_be_read() -> None:
    """With every gate open."""
    node_class = kwok_node_class.KIND
    kinds = watched_kinds([node_class], dict.fromkeys(FEATURE_GATES, True))
    assert len(kinds) > 20
    rules = (*rights.CORE, *installing.RIGHTS)
    unread = [kind.name for kind in kinds if not verbs(rules, kind.group, kind.plural) >= READ]
    assert unread == []


def test_nothing_may_be_read_that_nobody_watches() -> None:
    """Definitions of resources, for one: whether our kinds are there is seen by listing them."""
    node_class = kwok_node_class.KIND
    watched = watched_kinds([node_class], dict.fromkeys(FEATURE_GATES, True))
    known = {(kind.group, kind.plural) for kind in watched}
    granted = {
        (rule.group, resource)
        for rule in (*rights.CORE, *KWOK)
        if READ & set(rule.verbs)
        for resource in rule.resources
    }
    assert granted == known


@pytest.mark.parametrize("group", ["", "apps", "batch", "policy", "rbac.authorization.k8s.io"])
def test_what_could_lead_to_more_rights_is_out_of_reach(group: str) -> None:
    """Whoever reads secrets, makes pods or writes roles can become somebody else."""
    assert verbs(CONTROLLER, group, "secrets") == set()
    assert verbs(CONTROLLER, group, "serviceaccounts") == set()
    assert verbs(CONTROLLER, group, "clusterroles") == set()
    assert verbs(CONTROLLER, group, "pods/exec") == set()
    assert not verbs(CONTROLLER, group, "pods") & {"create", "patch", "update"}
    assert not verbs(CONTROLLER, group, "deployments") - READ


def test_objects_are_never_replaced() -> None:
    """Every change is a patch; `update` stands only with finalizers, where nothing is written."""
    rules = [rule for rule in CONTROLLER if "update" in rule.verbs]
    assert [rule.resources for rule in rules] == [("nodeclaims/finalizers", "nodepools/finalizers")]


def test_only_the_one_lease_can_be_taken_and_the_one_memory_kept() -> None:
    """Making an object cannot be bound to a name; reading and changing it is."""
    named = [rule for rule in rights.HOME if rule.names]
    assert [(rule.resources, rule.names, rule.verbs) for rule in named] == [
        (("leases",), (rights.LEASE,), ("get", "patch")),
        (("configmaps",), (eviction_counts.NAME,), ("get", "patch")),
    ]
    assert {rule.verbs for rule in rights.HOME if not rule.names} == {("create",)}
    assert verbs((*rights.CORE, *KWOK, *LEASES), "", "configmaps") == set()


def test_without_stand_ins_nobody_writes_what_kubelets_write() -> None:
    """Neither the status of nodes nor their leases."""
    rules = (*rights.CORE, *installing.RIGHTS)
    assert verbs(rules, "", "nodes/status") == set()
    leases = verbs(rights.node_leases(kubelets=False), "coordination.k8s.io", "leases")
    assert leases == READ | {"delete"}


def test_a_shadow_may_read_what_the_controller_reads_and_nothing_else() -> None:
    """No verb but those of a reader, on exactly what the feed watches."""
    node_class = kwok_node_class.KIND
    kinds = watched_kinds([node_class], dict.fromkeys(FEATURE_GATES, True))
    rules = (*rights.READING, *installing.READING)
    assert {verb for rule in rules for verb in rule.verbs} == READ
    granted = {(rule.group, resource) for rule in rules for resource in rule.resources}
    assert granted == {(kind.group, kind.plural) for kind in kinds}
