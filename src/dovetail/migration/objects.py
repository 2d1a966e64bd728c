"""Defines the objects of a cluster that a check reads, beside the kinds that decisions read."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from dovetail import api
from dovetail.api.kinds import Kind
from dovetail.api.meta import Object, Wire


class ServiceReference(Wire, frozen=True):
    """The service that answers a webhook."""

    namespace: str = ""
    name: str = ""


class WebhookClient(Wire, frozen=True):
    """Where a webhook is called: a service, or a URL."""

    service: ServiceReference | None = None


class RuleOfWebhook(Wire, frozen=True):
    """Which objects a webhook is called for."""

    api_groups: tuple[str, ...] = ()


class Webhook(Wire, frozen=True):
    """A webhook of a configuration."""

    name: str = ""
    client_config: WebhookClient = WebhookClient()
    rules: tuple[RuleOfWebhook, ...] = ()
    failure_policy: str = "Fail"


class WebhookConfiguration(Object, frozen=True):
    """A ValidatingWebhookConfiguration or a MutatingWebhookConfiguration."""

    webhooks: tuple[Webhook, ...] = ()


class VersionSchema(Wire, frozen=True):
    """The schema of a version, undecoded."""

    open_api_v3_schema: msgspec.Raw = msgspec.field(
        default=msgspec.Raw(b"{}"), name="openAPIV3Schema"
    )


class DefinedVersion(Wire, frozen=True):
    """A version of a custom resource definition."""

    name: str = ""
    served: bool = False
    storage: bool = False
    schema: VersionSchema = VersionSchema()


class ConversionWebhook(Wire, frozen=True):
    """The webhook that converts between versions."""

    client_config: WebhookClient = WebhookClient()


class Conversion(Wire, frozen=True):
    """How versions are converted."""

    strategy: str = "None"
    webhook: ConversionWebhook = ConversionWebhook()


class DefinitionNames(Wire, frozen=True):
    """How the kind is called."""

    kind: str = ""
    plural: str = ""


class DefinitionSpec(Wire, frozen=True):
    """What is defined."""

    group: str = ""
    names: DefinitionNames = DefinitionNames()
    scope: str = "Cluster"
    versions: tuple[DefinedVersion, ...] = ()
    conversion: Conversion = Conversion()


class DefinitionStatus(Wire, frozen=True):
    """Which versions objects were ever stored in."""

    stored_versions: tuple[str, ...] = ()


class CustomResourceDefinition(Object, frozen=True):
    """A definition as it is installed."""

    spec: DefinitionSpec = DefinitionSpec()
    status: DefinitionStatus = DefinitionStatus()


class ControllerContainer(Wire, frozen=True):
    """A container, as far as it tells which program runs."""

    image: str = ""


class ControllerPod(Wire, frozen=True):
    """The containers of a pod."""

    containers: tuple[ControllerContainer, ...] = ()


class ControllerTemplate(Wire, frozen=True):
    """The pods of a Deployment."""

    spec: ControllerPod = ControllerPod()


class ControllerSpec(Wire, frozen=True):
    """How many pods of which kind. The API server writes 1 where a manifest has no replicas."""

    replicas: int = 1
    template: ControllerTemplate = ControllerTemplate()


class ControllerDeployment(Object, frozen=True):
    """A Deployment, as far as it tells which controllers run."""

    spec: ControllerSpec = ControllerSpec()


class ElectionSpec(Wire, frozen=True):
    """Who holds a lease, and since when."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    renew_time: datetime | None = None


class ElectionLease(Object, frozen=True):
    """A lease for which controllers compete."""

    spec: ElectionSpec = ElectionSpec()


_ADMISSION: Final = "admissionregistration.k8s.io"
DEFINITION: Final = Kind(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    CustomResourceDefinition,
    False,
)
WEBHOOKS: Final = tuple(
    Kind(_ADMISSION, "v1", name, f"{name.lower()}s", WebhookConfiguration, False)
    for name in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
)
DEPLOYMENT: Final = Kind("apps", "v1", "Deployment", "deployments", ControllerDeployment)
LEASE: Final = Kind("coordination.k8s.io", "v1", "Lease", "leases", ElectionLease)
REVIEW: Final = Kind(
    "authorization.k8s.io",
    "v1",
    "SelfSubjectAccessReview",
    "selfsubjectaccessreviews",
    Object,
    False,
)


class Right(msgspec.Struct, frozen=True, order=True):
    """One verb on one resource; in no namespace: in the whole cluster."""

    group: str
    resource: str
    verb: str
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        name = f" {self.name}" if self.name else ""
        place = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {resource}{name}{place}"


class ClusterObjects(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of a cluster. `hidden` are kinds that may not be read, `failures` kinds that
    could not be read and why, `denied` rights that the user does not have.
    """

    definitions: tuple[CustomResourceDefinition, ...] = ()
    webhooks: tuple[WebhookConfiguration, ...] = ()
    services: frozenset[tuple[str, str]] = frozenset()  # namespace and name
    deployments: tuple[ControllerDeployment, ...] = ()
    leases: tuple[ElectionLease, ...] = ()
    node_pools: tuple[api.NodePool, ...] = ()
    node_claims: tuple[api.NodeClaim, ...] = ()
    nodes: tuple[api.Node, ...] = ()
    node_classes: tuple[api.Object, ...] = ()
    gated: tuple[api.Object, ...] = ()  # objects that count only with a feature gate
    older: tuple[api.Object, ...] = ()
    hidden: tuple[str, ...] = ()
    failures: tuple[tuple[str, str], ...] = ()
    denied: tuple[Right, ...] = ()
