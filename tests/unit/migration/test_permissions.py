"""Rights that an installation takes, and those that are missing."""

from __future__ import annotations

from dovetail.migration.objects import ClusterObjects, Right
from dovetail.migration.permissions import installation_rights, permission_findings
from dovetail.present.installation.rights import LEASE
from tests.unit.migration.clusters import CHOICES, Tree, findings, healthy


def test_the_rights_are_those_of_the_manifests() -> None:
    """To create the objects, and to grant what their roles grant."""
    rights = installation_rights(CHOICES)
    assert len(set(rights)) == len(rights) > 100
    crd = Right("apiextensions.k8s.io", "customresourcedefinitions", "patch")
    own_lease = Right("coordination.k8s.io", "leases", "get", "kube-system", LEASE)
    for right in (
        crd,
        own_lease,
        Right("rbac.authorization.k8s.io", "clusterrolebindings", "create"),
        Right("apps", "deployments", "create", "kube-system"),
        Right("", "pods/eviction", "create"),
        Right("karpenter.sh", "nodeclaims/status", "patch"),
    ):
        assert right in rights


def test_missing_verbs_of_one_resource_are_one_finding() -> None:
    """In the order of the alphabet."""
    denied = (
        Right("", "nodes", "patch"),
        Right("apps", "deployments", "create", "kube-system"),
        Right("", "nodes", "delete"),
    )
    got = list(permission_findings(ClusterObjects(denied=denied), CHOICES))
    assert [(item.object, item.message.partition(";")[0]) for item in got] == [
        ("nodes", "you may not delete, patch nodes"),
        ("deployments.apps", "you may not create deployments.apps in namespace kube-system"),
    ]


async def test_a_missing_subresource_is_asked_for_as_one() -> None:
    """As the API wants it: resource and subresource apart."""

    def denies(right: Tree) -> bool:
        return right.get("subresource") == "eviction"

    (got,) = await findings(healthy(), denies)
    assert (got.object, got.severity) == ("pods/eviction", "error")
