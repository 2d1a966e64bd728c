"""Computes the launch that is tried with dry runs: its instance type, template and requests."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.kube.seam import Json
from dovetail.model.instance import InstanceType
from dovetail.model.requirements import Requirements, requirement
from dovetail.providers.aws.bootstrap.families import family_of, traits
from dovetail.providers.aws.images.resolution import image_for
from dovetail.providers.aws.images.variants import ACCELERATOR_COUNT, GPU_COUNT
from dovetail.providers.aws.node_class.types import AMI, EC2NodeClass, Subnet

_WINDOWS: Final = "windows"
_FALLBACKS: Final = (("amd64", "m5.large"), ("arm64", "m6g.large"))
_DEVICES: Final = frozenset({GPU_COUNT, ACCELERATOR_COUNT})


class TrialSubject(msgspec.Struct, frozen=True, gc=False):
    """The instance type that is tried, and the image that it boots."""

    instance_type: str
    ami: AMI


class TrialTemplate(msgspec.Struct, frozen=True):
    """The launch template of a trial, as EC2 takes it."""

    name: str
    data: Mapping[str, Json]
    tags: Mapping[str, str]

    @property
    def n_user_data_bytes(self) -> int:
        """How large its user data is, before base64."""
        return len(b64decode(str(self.data.get("UserData", ""))))


def trial_subject(
    node_class: EC2NodeClass, types: Sequence[InstanceType], pools: Iterable[api.NodePool]
) -> TrialSubject | None:
    """A type that a NodePool of the class may launch, preferably with an image for machines
    without devices; else a usual one. None if no image of the class boots any of them.
    """
    amis = node_class.status.amis
    if traits(family_of(node_class.spec)).os != _WINDOWS:
        wanted = [_pool_requirements(pool) for pool in pools]
        for images in ([ami for ami in amis if _is_standard(ami)], amis):
            subject = _compatible(types, wanted, images)
            if subject is not None:
                return subject
    return _fallback(amis)


def _compatible(
    types: Sequence[InstanceType], wanted: Sequence[Requirements], amis: Sequence[AMI]
) -> TrialSubject | None:
    for requirements in wanted:
        for kind in types:
            if kind.requirements.intersects(requirements) and _is_offered(kind):
                ami = image_for(kind.requirements, amis)
                if ami is not None:
                    return TrialSubject(kind.name, ami)
    return None


def _is_offered(instance_type: InstanceType) -> bool:
    return any(offering.is_available for offering in instance_type.offerings)


def _is_standard(ami: AMI) -> bool:
    return all(need.operator != "Exists" for need in ami.requirements if need.key in _DEVICES)


def _fallback(amis: Sequence[AMI]) -> TrialSubject | None:
    for architecture, instance_type in _FALLBACKS:
        machine = Requirements.of_labels(
            {labels.ARCH: architecture, labels.INSTANCE_TYPE: instance_type}
        )
        ami = image_for(machine, amis)
        if ami is not None:
            return TrialSubject(instance_type, ami)
    return None


def _pool_requirements(pool: api.NodePool) -> Requirements:
    template = pool.spec.template
    stated = [
        requirement(need.key, need.operator, need.values) for need in template.spec.requirements
    ]
    return Requirements.of_labels(template.metadata.labels) & stated


def fleet_trial(
    node_class: EC2NodeClass, subject: TrialSubject, template: TrialTemplate
) -> dict[str, Json]:
    """The CreateFleet request; it is never carried out."""
    overrides: list[Json] = [
        {
            "InstanceType": subject.instance_type,
            "SubnetId": subnet.id,
            "AvailabilityZone": subnet.zone,
        }
        for subnet in _one_by_zone(node_class)
    ]
    tags = tag_list(template.tags)
    resources = ("instance", "volume", "fleet")
    return {
        "DryRun": True,
        "Type": "instant",
        "LaunchTemplateConfigs": [
            {
                "LaunchTemplateSpecification": {
                    "LaunchTemplateName": template.name,
                    "Version": "$Latest",
                },
                "Overrides": overrides,
            }
        ],
        "TargetCapacitySpecification": {
            "TotalTargetCapacity": 1,
            "DefaultTargetCapacityType": labels.ON_DEMAND,
        },
        "OnDemandOptions": {"AllocationStrategy": "lowest-price"},
        "TagSpecifications": [{"ResourceType": resource, "Tags": tags} for resource in resources],
        **({"Context": node_class.spec.context} if node_class.spec.context else {}),
    }


def run_trials(
    node_class: EC2NodeClass, subject: TrialSubject, template: TrialTemplate
) -> tuple[dict[str, Json], ...]:
    """The RunInstances requests, one for each subnet; none is carried out."""
    interfaces = template.data.get("NetworkInterfaces")
    resources = ("instance", "volume", "network-interface")
    return tuple(
        {
            "DryRun": True,
            "MinCount": 1,
            "MaxCount": 1,
            "InstanceType": subject.instance_type,
            "LaunchTemplate": {"LaunchTemplateName": template.name, "Version": "$Latest"},
            "TagSpecifications": [
                {"ResourceType": item, "Tags": tag_list(template.tags)} for item in resources
            ],
            **_in_subnet(interfaces, subnet.id),
        }
        for subnet in node_class.status.subnets
    )


def _in_subnet(interfaces: Json, subnet_id: str) -> dict[str, Json]:
    """EC2 refuses a subnet beside interfaces, so each of those gets it."""
    if not isinstance(interfaces, list):
        return {"SubnetId": subnet_id}
    placed = [{**item, "SubnetId": subnet_id} for item in interfaces if isinstance(item, dict)]
    return {"NetworkInterfaces": [*placed]}


def _one_by_zone(node_class: EC2NodeClass) -> tuple[Subnet, ...]:
    """The first subnet of each zone: that with most free addresses."""
    by_zone: dict[str, Subnet] = {}
    for subnet in node_class.status.subnets:
        by_zone.setdefault(subnet.zone, subnet)
    return tuple(by_zone[zone] for zone in sorted(by_zone))


def tag_list(tags: Mapping[str, str]) -> list[Json]:
    """Tags as EC2 takes them, by key."""
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]
