"""Defines the fields of AWSNodeTemplate v1alpha1, inline providers and EC2NodeClass v1beta1."""

from __future__ import annotations

import msgspec

from dovetail.api.meta import Wire
from dovetail.api.older.shapes import OlderMeta

_Mappings = tuple[dict[str, object], ...]


class TemplateShape(Wire, frozen=True):
    """The spec of an AWSNodeTemplate."""

    ami_family: str | None = None
    ami_selector: dict[str, str] | None = None
    subnet_selector: dict[str, str] | None = None
    security_group_selector: dict[str, str] | None = None
    instance_profile: str | None = None
    user_data: str | None = None
    context: str | None = None
    tags: dict[str, str] | None = None
    detailed_monitoring: bool | None = None
    metadata_options: dict[str, object] | None = None
    block_device_mappings: _Mappings | None = None
    launch_template: object = None


class InlineShape(TemplateShape, frozen=True):
    """`spec.provider` of a Provisioner."""

    api_version: str | None = None
    kind: str | None = None


class AWSNodeTemplateShape(Wire, frozen=True):
    """An AWSNodeTemplate."""

    metadata: OlderMeta
    spec: TemplateShape = TemplateShape()


class InlineSpecShape(Wire, frozen=True):
    """The one field that matters here of a Provisioner's spec."""

    provider: InlineShape = InlineShape()


class InlineProvisionerShape(Wire, frozen=True):
    """A Provisioner with an inline provider."""

    spec: InlineSpecShape = InlineSpecShape()


class BetaTerm(Wire, frozen=True):
    """A selector term of v1beta1."""

    tags: dict[str, str] | None = None
    id: str | None = None
    name: str | None = None
    owner: str | None = None


class BetaNodeClassSpec(Wire, frozen=True):
    """The spec of an EC2NodeClass v1beta1."""

    subnet_selector_terms: tuple[BetaTerm, ...] | None = None
    security_group_selector_terms: tuple[BetaTerm, ...] | None = None
    associate_public_ip_address: bool | None = msgspec.field(
        default=None, name="associatePublicIPAddress"
    )
    ami_selector_terms: tuple[BetaTerm, ...] | None = None
    ami_family: str | None = None
    user_data: str | None = None
    role: str | None = None
    instance_profile: str | None = None
    tags: dict[str, str] | None = None
    block_device_mappings: _Mappings | None = None
    instance_store_policy: str | None = None
    detailed_monitoring: bool | None = None
    metadata_options: dict[str, object] | None = None
    context: str | None = None


class BetaNodeClass(Wire, frozen=True):
    """An EC2NodeClass v1beta1."""

    metadata: OlderMeta
    spec: BetaNodeClassSpec = BetaNodeClassSpec()
