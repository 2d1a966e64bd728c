"""Computes the request for a fleet: what may be launched, where, and in which order of price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final

import msgspec

from dovetail.kube.seam import Json
from dovetail.providers.aws.launching import keys
from dovetail.providers.aws.launching.marks import Request

_TAGGED_RESOURCES: Final = ("fleet", "instance", "volume")
_NANO: Final = 10**9
_TOKEN_DIGITS: Final = 48  # EC2 takes up to 64 characters


class FleetOverride(msgspec.Struct, frozen=True, gc=False, order=True):
    """One instance type in one subnet."""

    price_nanousd: int
    instance_type: str
    zone: str
    subnet_id: str
    image_id: str


class TemplateUse(msgspec.Struct, frozen=True, gc=False):
    """A launch template, and what may be launched with it."""

    name: str
    overrides: tuple[FleetOverride, ...]


class FleetTerms(msgspec.Struct, frozen=True, gc=False):
    """How a fleet is to be launched. `target` is EC2's word for the capacity type."""

    target: str  # on-demand, spot, capacity-block or reserved-capacity
    is_price_overlaid: bool = False  # prices are a NodeOverlay's: EC2 must go by priority
    context: str = ""
    tags: Mapping[str, str] = {}


def fleet_request(uses: Sequence[TemplateUse], terms: FleetTerms) -> Request:
    """The request without its token and without a number of instances."""
    configs: list[Json] = [_config(use) for use in sorted(uses, key=lambda use: use.name)]
    request: Request = {
        "Type": "instant",
        "LaunchTemplateConfigs": configs,
        "TargetCapacitySpecification": {"DefaultTargetCapacityType": terms.target},
        "TagSpecifications": [
            {"ResourceType": resource, "Tags": tag_list(terms.tags)}
            for resource in _TAGGED_RESOURCES
        ],
    }
    if terms.target == "spot":
        strategy = "price-capacity-optimized"
        if terms.is_price_overlaid:
            strategy = "capacity-optimized-prioritized"
        request["SpotOptions"] = {"AllocationStrategy": strategy}
    else:
        strategy = "prioritized" if terms.is_price_overlaid else "lowest-price"
        request["OnDemandOptions"] = {"AllocationStrategy": strategy}
    if terms.context:
        request["Context"] = terms.context
    return request


def tag_list(tags: Mapping[str, str]) -> list[Json]:
    """Tags as EC2 takes them, in order."""
    return [{"Key": key, "Value": tags[key]} for key in sorted(tags)]


def _config(use: TemplateUse) -> Json:
    return {
        "LaunchTemplateSpecification": {"LaunchTemplateName": use.name, "Version": "$Latest"},
        "Overrides": [_override(override) for override in sorted(set(use.overrides))],
    }


def _override(override: FleetOverride) -> Json:
    return {
        "InstanceType": override.instance_type,
        "SubnetId": override.subnet_id,
        "ImageId": override.image_id,
        "AvailabilityZone": override.zone,
        "Priority": override.price_nanousd / _NANO,
    }


def with_token(request: Mapping[str, Json], token: str, n_instances: int) -> Request:
    """The request as it is sent: with its token, which its instances also carry as a tag."""
    target = request["TargetCapacitySpecification"]
    stated = target if isinstance(target, dict) else {}
    tags = request["TagSpecifications"]
    return {
        **request,
        "ClientToken": token,
        "TargetCapacitySpecification": {**stated, "TotalTargetCapacity": n_instances},
        "TagSpecifications": [_with_token(tree, token) for tree in _as_list(tags)],
    }


def _as_list(part: Json) -> list[Json]:
    return part if isinstance(part, list) else []


def _with_token(specification: Json, token: str) -> Json:
    if not isinstance(specification, dict):
        return specification
    tag: Json = {"Key": keys.TOKEN_TAG, "Value": token}
    return {**specification, "Tags": [*_as_list(specification.get("Tags")), tag]}


def fleet_token(request: str, claims: Sequence[tuple[str, str]]) -> str:
    """The token for these claims, each given by its UID and the token that it carried before.

    The same claims with the same request get the same token, whoever computes it.
    """
    text = msgspec.json.encode((request, sorted(claims)))
    return sha256(text).hexdigest()[:_TOKEN_DIGITS]
