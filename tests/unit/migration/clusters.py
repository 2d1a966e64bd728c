"""A cluster that Karpenter runs and that is in order, and an API that answers reviews of rights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from dovetail import api, labels
from dovetail.api.crds import crds
from dovetail.apiserver import MemoryKube
from dovetail.cloud.plugin import ProviderPlugin
from dovetail.cloud.registry import load
from dovetail.decide.lifecycle.pool import HASH_VERSION, template_hash
from dovetail.kube.seam import Body, Page, Patch, Ref, Scope
from dovetail.migration.check import check
from dovetail.migration.findings import MigrationFinding
from dovetail.migration.objects import DEFINITION, REVIEW
from dovetail.migration.reading import read_objects
from dovetail.present.installation.choices import Choices
from dovetail.state.objects import node_pool
from dovetail.testing.virtual_time import VirtualTime

Tree = dict[str, Any]
NOW = datetime(2026, 3, 2, 6, tzinfo=UTC)
OLD = "2026-03-01T06:00:00Z"
PROVIDER_ID = "kwok://node-1"
_PLUGIN: ProviderPlugin[None, msgspec.Struct] = load("kwok")
CHOICES = Choices(
    version="1",
    image="dovetail",
    namespace="kube-system",
    provider="kwok",
    extensions=(_PLUGIN.extension,),
    access=_PLUGIN.access,
)
KINDS = api.all_kinds(CHOICES.extensions)


def kind_of(tree: Mapping[str, Any]) -> api.Kind:
    """The kind of an object, known or not."""
    known = api.find(tree["apiVersion"], tree["kind"], KINDS)
    if known is not None and known.api_version == tree["apiVersion"]:
        return known
    group, _, version = tree["apiVersion"].rpartition("/")
    plural = f"{tree['kind'].lower()}s"
    is_namespaced = "namespace" in tree["metadata"]
    return api.Kind(group, version, tree["kind"], plural, api.Object, is_namespaced)


def definitions() -> list[Tree]:
    """Our definitions, as a server stores them."""
    trees: list[Tree] = msgspec.convert(crds(CHOICES.extensions), list[Tree])
    return [{**tree, "status": {"storedVersions": [_version(tree)]}} for tree in trees]


def _version(tree: Tree) -> str:
    name: str = tree["spec"]["versions"][0]["name"]
    return name


def pool(name: str = "default") -> Tree:
    """A NodePool."""
    ref = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
    requirement = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {
            "template": {
                "spec": {
                    "nodeClassRef": ref,
                    "requirements": [requirement],
                    "expireAfter": "720h",
                }
            },
            "disruption": {"consolidateAfter": "0s"},
        },
    }


def hash_of(tree: Tree) -> str:
    """The hash that the controller writes on a NodePool."""
    return template_hash(node_pool(api.decode(api.NodePool, tree)))


def stamped(tree: Tree) -> Tree:
    """The pool with its hash."""
    mark = {labels.NODE_POOL_HASH: hash_of(tree), labels.NODE_POOL_HASH_VERSION: HASH_VERSION}
    return {**tree, "metadata": {**tree["metadata"], "annotations": mark}}


def node_class() -> Tree:
    """The node class of the pool."""
    api_version = next(kind.api_version for kind in KINDS.values() if kind.name == "KWOKNodeClass")
    return {"apiVersion": api_version, "kind": "KWOKNodeClass", "metadata": {"name": "default"}}


def claim(
    name: str = "claim-1", provider_id: str = PROVIDER_ID, pool_name: str = "default"
) -> Tree:
    """A NodeClaim that was launched for the pool."""
    condition = {
        "type": "Launched",
        "status": "True",
        "reason": "Launched",
        "message": "",
        "lastTransitionTime": OLD,
    }
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {
            "name": name,
            "labels": {labels.NODE_POOL: pool_name, "kubernetes.io/os": "linux"},
            "annotations": stamped(pool())["metadata"]["annotations"],
        },
        "spec": {
            "nodeClassRef": pool()["spec"]["template"]["spec"]["nodeClassRef"],
            "requirements": [],
            "expireAfter": "720h",
        },
        "status": {"providerID": provider_id, "conditions": [condition]},
    }


def node(name: str = "node-1", provider_id: str = PROVIDER_ID, pool_name: str = "default") -> Tree:
    """The Node of the NodeClaim."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {labels.NODE_POOL: pool_name}},
        "spec": {"providerID": provider_id},
    }


def healthy() -> list[Tree]:
    """Nothing is wrong with it."""
    return [*definitions(), stamped(pool()), node_class(), claim(), node()]


def webhook(service: str = "karpenter", policy: str = "Fail") -> Tree:
    """A validating webhook as Karpenter 0.3x and 1.0 installed it."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "validation.webhook.karpenter.sh"},
        "webhooks": [
            {
                "name": "validation.webhook.karpenter.sh",
                "clientConfig": {"service": {"namespace": "kube-system", "name": service}},
                "rules": [{"apiGroups": ["karpenter.sh"]}],
                "failurePolicy": policy,
            }
        ],
    }


def service(name: str = "karpenter") -> Tree:
    """A service in kube-system."""
    metadata = {"name": name, "namespace": "kube-system"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata}


def karpenter(namespace: str = "kube-system", replicas: int = 2) -> Tree:
    """Its Deployment, as its chart makes it."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "karpenter",
            "namespace": namespace,
            "labels": {"app.kubernetes.io/name": "karpenter"},
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "karpenter"}},
            "template": {
                "metadata": {"labels": {"app": "karpenter"}},
                "spec": {"containers": [{"name": "controller", "image": "karpenter"}]},
            },
        },
    }


def lease(namespace: str, renewed_at: datetime) -> Tree:
    """The lease of Karpenter."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "karpenter-leader-election", "namespace": namespace},
        "spec": {
            "holderIdentity": "karpenter-abc",
            "leaseDurationSeconds": 15,
            "renewTime": renewed_at.isoformat().replace("+00:00", "Z"),
        },
    }


def older(kind: str = "Provisioner", version: str = "v1alpha5") -> list[Tree]:
    """An object of an older version, and the definition of its kind."""
    plural = f"{kind.lower()}s"
    spec = {
        "group": "karpenter.sh",
        "names": {"kind": kind, "plural": plural},
        "scope": "Cluster",
        "versions": [{"name": version, "served": True, "storage": True, "schema": {}}],
    }
    return [
        {
            "apiVersion": DEFINITION.api_version,
            "kind": DEFINITION.name,
            "metadata": {"name": f"{plural}.karpenter.sh"},
            "spec": spec,
            "status": {"storedVersions": [version]},
        },
        {
            "apiVersion": f"karpenter.sh/{version}",
            "kind": kind,
            "metadata": {"name": "older"},
        },
    ]


class ReviewedKube:
    """An API in memory with an administrator's rights, but for those that `denies` names."""

    def __init__(
        self,
        kube: MemoryKube,
        denies: Callable[[Tree], bool] | None = None,
        unchecked: tuple[Tree, ...] = (),
    ) -> None:
        self._kube = kube
        self._denies = denies
        self._unchecked = unchecked
        self.writes: list[str] = []

    async def list(self, scope: Scope, *, limit: int = 0, token: str = "") -> Page:
        """A page of objects."""
        page = await self._kube.list(scope, limit=limit, token=token)
        more = (tree for tree in self._unchecked if tree["kind"] == scope.kind.name)
        items = [*page.items, *(msgspec.Raw(msgspec.json.encode(tree)) for tree in more)]
        return msgspec.structs.replace(page, items=tuple(items))

    async def create(self, kind: api.Kind, body: Body, namespace: str = "") -> msgspec.Raw:
        """The answer to a review; nothing else is created."""
        if kind != REVIEW:
            self.writes.append(kind.name)
            return await self._kube.create(kind, body, namespace)
        attributes: Tree = msgspec.to_builtins(body)["spec"]["resourceAttributes"]
        is_everything = attributes["resource"] == "*"
        denied = self._denies is not None and (is_everything or self._denies(attributes))
        return msgspec.Raw(msgspec.json.encode({"status": {"allowed": not denied}}))


async def findings(
    trees: list[Tree],
    denies: Callable[[Tree], bool] | None = None,
    unchecked: tuple[Tree, ...] = (),
) -> tuple[MigrationFinding, ...]:
    """What a check finds in a cluster of these objects; `unchecked` are listed though no server
    would accept them.
    """
    kube = MemoryKube(VirtualTime(), definitions=())
    for tree in trees:
        kind = kind_of(tree)
        namespace = tree["metadata"].get("namespace", "")
        if namespace and namespace not in ("default", "kube-system"):
            home = api.KINDS["", "Namespace"]
            await kube.create(home, {"metadata": {"name": namespace}})
        await kube.create(kind, tree, namespace)
        if "status" in tree:
            patch = Patch({"status": tree["status"]}, subresource="status")
            await kube.patch(Ref(kind, tree["metadata"]["name"], namespace), patch)
    reviewed = ReviewedKube(kube, denies, unchecked)
    objects = await read_objects(reviewed, CHOICES)
    assert reviewed.writes == []
    return check(objects, CHOICES, NOW)
