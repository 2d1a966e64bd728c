"""Reads the objects of a cluster that a check needs. Nothing is changed: reviews of rights are
answered and not stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Final, Protocol, TypeVar

import msgspec

from dovetail import api
from dovetail.kube.errors import ApiError, ForbiddenError, NotFoundError
from dovetail.kube.seam import Body, Json, Page, Scope
from dovetail.migration.definitions import GATES
from dovetail.migration.objects import (
    DEFINITION,
    DEPLOYMENT,
    LEASE,
    REVIEW,
    WEBHOOKS,
    ClusterObjects,
    ControllerDeployment,
    CustomResourceDefinition,
    ElectionLease,
    Right,
    WebhookConfiguration,
)
from dovetail.migration.older import OLDER_KINDS
from dovetail.migration.permissions import installation_rights
from dovetail.present.installation.choices import Choices
from dovetail.present.installation.rights import LEASE as LEASE_NAME

_PAGE: Final = 500
_N_AT_ONCE: Final = 20
_EVERYTHING: Final = Right("*", "*", "*")
_OLDER_GROUPS: Final = ("karpenter.sh", "karpenter.k8s.aws")
ObjectT = TypeVar("ObjectT", bound=api.Object)


class ReviewingReader(Protocol):
    """An API that lists objects and answers reviews of rights."""

    async def list(self, scope: Scope, *, limit: int = 0, token: str = "") -> Page:
        """A page of objects."""
        ...

    async def create(self, kind: api.Kind, body: Body, namespace: str = "") -> msgspec.Raw:
        """The answer to a review."""
        ...


class _ReviewStatus(msgspec.Struct, frozen=True):
    allowed: bool = False


class _Review(msgspec.Struct, frozen=True):
    status: _ReviewStatus = _ReviewStatus()


async def read_objects(kube: ReviewingReader, choices: Choices) -> ClusterObjects:
    """Everything that `check` looks at. Raises ApiError if there is no server."""
    lister = _Lister(kube)
    definitions = await lister.all(DEFINITION, CustomResourceDefinition)
    node_classes = [
        item.kind for extension in choices.extensions for item in extension.node_classes
    ]
    gated = [kind for kind in api.KINDS.values() if kind.name in GATES]
    services = await lister.all(api.KINDS["", "Service"], api.Service)
    lease_scope = Scope(LEASE, fields=f"metadata.name={LEASE_NAME}")
    return ClusterObjects(
        definitions=definitions,
        webhooks=await lister.of_kinds(WEBHOOKS, WebhookConfiguration),
        services=frozenset((item.metadata.namespace, item.metadata.name) for item in services),
        deployments=await lister.all(DEPLOYMENT, ControllerDeployment),
        leases=await lister.scope(lease_scope, ElectionLease),
        node_pools=await lister.all(api.KINDS["karpenter.sh", "NodePool"], api.NodePool),
        node_claims=await lister.all(api.KINDS["karpenter.sh", "NodeClaim"], api.NodeClaim),
        nodes=await lister.all(api.KINDS["", "Node"], api.Node),
        node_classes=await lister.of_kinds(node_classes, api.Object),
        gated=await lister.of_kinds(gated, api.Object),
        older=await lister.of_kinds(_older_kinds(definitions), api.Object),
        denied=await lister.denied(installation_rights(choices)),
        hidden=tuple(sorted(lister.hidden)),
        failures=tuple(lister.failures),
    )


def _older_kinds(definitions: Iterable[CustomResourceDefinition]) -> Iterator[api.Kind]:
    """Kinds of older versions that are served, and ours where v1 is not."""
    for definition in definitions:
        spec = definition.spec
        served = [version.name for version in spec.versions if version.served]
        if spec.group not in _OLDER_GROUPS or not served:
            continue
        known = api.KINDS.get((spec.group, spec.names.kind))
        version = "v1" if known is None else known.version
        if spec.names.kind in OLDER_KINDS or version not in served:
            yield api.Kind(
                spec.group,
                served[-1],
                spec.names.kind,
                spec.names.plural,
                api.Object,
                spec.scope == "Namespaced",
            )


class _Lister:
    """Lists kinds one after the other, and notes what could not be read."""

    def __init__(self, kube: ReviewingReader) -> None:
        self._kube = kube
        self.hidden: set[str] = set()
        self.failures: list[tuple[str, str]] = []

    async def of_kinds(
        self, kinds: Iterable[api.Kind], wire_type: type[ObjectT]
    ) -> tuple[ObjectT, ...]:
        """All objects of these kinds."""
        return tuple([item for kind in kinds for item in await self.all(kind, wire_type)])

    async def all(self, kind: api.Kind, wire_type: type[ObjectT]) -> tuple[ObjectT, ...]:
        """All objects of a kind; none if the cluster does not have it."""
        return await self.scope(Scope(kind), wire_type)

    async def scope(self, scope: Scope, wire_type: type[ObjectT]) -> tuple[ObjectT, ...]:
        """All objects of a scope."""
        objects: list[ObjectT] = []
        token = ""
        try:
            while True:
                page = await self._kube.list(scope, limit=_PAGE, token=token)
                objects.extend(self._decoded(scope.kind, page.items, wire_type))
                token = page.token
                if not token:
                    return tuple(objects)
        except NotFoundError:
            return ()
        except ForbiddenError:
            self.hidden.add(scope.kind.name)
        except ApiError as error:
            if error.status == 0:  # no server answered
                raise
            self.failures.append((scope.kind.name, str(error)))
        return tuple(objects)

    def _decoded(
        self, kind: api.Kind, items: Iterable[msgspec.Raw], wire_type: type[ObjectT]
    ) -> Iterator[ObjectT]:
        for raw in items:
            try:
                item = api.read(kind, raw)
            except api.DecodeError as error:
                name = api.decode(api.Object, raw).metadata.name
                self.failures.append((f"{kind.name} {name}", str(error)))
                continue
            if isinstance(item, wire_type):
                yield msgspec.structs.replace(item, api_version=kind.api_version, kind=kind.name)

    async def denied(self, rights: tuple[Right, ...]) -> tuple[Right, ...]:
        """Those of these rights that the user does not have."""
        try:
            if await self._is_allowed(_EVERYTHING):
                return ()
            missing: list[Right] = []
            for start in range(0, len(rights), _N_AT_ONCE):
                asked = rights[start : start + _N_AT_ONCE]
                answers = await asyncio.gather(*map(self._is_allowed, asked))
                missing += [
                    right for right, allowed in zip(asked, answers, strict=True) if not allowed
                ]
            return tuple(missing)
        except ApiError as error:
            self.failures.append((REVIEW.name, str(error)))
            return ()

    async def _is_allowed(self, right: Right) -> bool:
        resource, _, subresource = right.resource.partition("/")
        attributes: dict[str, Json] = {
            "group": right.group,
            "resource": resource,
            "subresource": subresource,
            "verb": right.verb,
            "namespace": right.namespace,
            "name": right.name,
        }
        given: dict[str, Json] = {key: value for key, value in attributes.items() if value}
        answer = await self._kube.create(REVIEW, {"spec": {"resourceAttributes": given}})
        return msgspec.json.decode(answer, type=_Review).status.allowed
