"""Reads what EC2 answered to a fleet request, and deals its instances out to claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dovetail.providers.aws.launching.failures import FleetError

if TYPE_CHECKING:
    from types_aiobotocore_ec2.type_defs import (
        CreateFleetErrorTypeDef,
        CreateFleetInstanceTypeDef,
        CreateFleetResultTypeDef,
        LaunchTemplateAndOverridesResponseTypeDef,
    )


class FleetInstance(msgspec.Struct, frozen=True, gc=False):
    """An instance that a fleet request launched."""

    id: str
    instance_type: str
    zone: str
    subnet_id: str = ""
    image_id: str = ""
    is_spot: bool = False


class FleetAnswer(msgspec.Struct, frozen=True, gc=False):
    """What came of a fleet request. `instances` are in the order of their ids."""

    instances: tuple[FleetInstance, ...] = ()
    errors: tuple[FleetError, ...] = ()

    def instance_at(self, ordinal: int) -> FleetInstance | None:
        """The instance of the claim with this ordinal in its batch; None if there are too few."""
        return self.instances[ordinal] if ordinal < len(self.instances) else None


def fleet_answer(answer: CreateFleetResultTypeDef) -> FleetAnswer:
    """The answer to CreateFleet of type `instant`."""
    launched = [instance for part in answer.get("Instances", []) for instance in _instances(part)]
    return FleetAnswer(
        tuple(sorted(launched, key=lambda instance: instance.id)),
        tuple(_error(error) for error in answer.get("Errors", [])),
    )


def _instances(part: CreateFleetInstanceTypeDef) -> list[FleetInstance]:
    chosen = part.get("LaunchTemplateAndOverrides", {}).get("Overrides", {})
    return [
        FleetInstance(
            id=instance_id,
            instance_type=str(part.get("InstanceType") or chosen.get("InstanceType", "")),
            zone=chosen.get("AvailabilityZone", ""),
            subnet_id=chosen.get("SubnetId", ""),
            image_id=chosen.get("ImageId", ""),
            is_spot=part.get("Lifecycle") == "spot",
        )
        for instance_id in part.get("InstanceIds", [])
    ]


def _error(tree: CreateFleetErrorTypeDef) -> FleetError:
    asked: LaunchTemplateAndOverridesResponseTypeDef = tree.get("LaunchTemplateAndOverrides", {})
    chosen = asked.get("Overrides", {})
    return FleetError(
        code=tree.get("ErrorCode", ""),
        message=tree.get("ErrorMessage", ""),
        instance_type=str(chosen.get("InstanceType", "")),
        zone=chosen.get("AvailabilityZone", ""),
        subnet_id=chosen.get("SubnetId", ""),
        template=asked.get("LaunchTemplateSpecification", {}).get("LaunchTemplateName", ""),
    )
