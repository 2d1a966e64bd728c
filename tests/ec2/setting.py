"""What most tests of the EC2 need: clients, and a fleet request in a few words."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import Any

from tests.ec2.control import Ec2Control

ZONES = ("us-west-2a", "us-west-2b", "us-west-2c")
AL2023 = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023"


@dataclass
class Aws:
    """The clients of one test."""

    control: Ec2Control
    clients: dict[str, Any]

    @property
    def ec2(self) -> Any:
        """EC2."""
        return self.clients["ec2"]

    def image(self, architecture: str = "x86_64", variant: str = "standard") -> str:
        """The id of an image for EKS."""
        name = f"{AL2023}/{architecture}/{variant}/recommended/image_id"
        return str(self.clients["ssm"].get_parameter(Name=name)["Parameter"]["Value"])

    def subnets(self) -> dict[str, str]:
        """The id of the default subnet, by zone."""
        subnets = self.ec2.describe_subnets()["Subnets"]
        return {one["AvailabilityZone"]: one["SubnetId"] for one in subnets}

    def template(self, name: str = "template", **data: Any) -> str:
        """Make a launch template; its name."""
        data.setdefault("ImageId", self.image())
        data.setdefault("UserData", b64encode(b"#!/bin/sh\n").decode())
        self.ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data)
        return name

    def fleet(
        self,
        *pools: tuple[str, str] | dict[str, Any],
        n_instances: int = 1,
        capacity_type: str = "on-demand",
        strategy: str = "",
        template: str = "template",
        **others: Any,
    ) -> dict[str, Any]:
        """Ask for a fleet from pools (type and zone), or from overrides."""
        subnets = self.subnets()
        overrides = [
            one
            if isinstance(one, dict)
            else {"InstanceType": one[0], "AvailabilityZone": one[1], "SubnetId": subnets[one[1]]}
            for one in pools
        ]
        reference = {"LaunchTemplateName": template, "Version": "$Latest"}
        is_spot = capacity_type == "spot"
        usual = "price-capacity-optimized" if is_spot else "lowest-price"
        others.setdefault(
            "SpotOptions" if is_spot else "OnDemandOptions",
            {"AllocationStrategy": strategy or usual},
        )
        answer: dict[str, Any] = self.ec2.create_fleet(
            Type="instant",
            LaunchTemplateConfigs=[
                {"LaunchTemplateSpecification": reference, "Overrides": overrides}
            ],
            TargetCapacitySpecification={
                "TotalTargetCapacity": n_instances,
                "DefaultTargetCapacityType": capacity_type,
            },
            **others,
        )
        return answer

    def launch(self, instance_type: str = "m5.large", zone: str = ZONES[0], **others: Any) -> str:
        """Launch one instance; its id. The template is made if there is none yet."""
        if not self.ec2.describe_launch_templates()["LaunchTemplates"]:
            self.template()
        return launched(self.fleet((instance_type, zone), **others))[0]

    def instance(self, instance_id: str) -> dict[str, Any]:
        """The instance, as it is described."""
        answer = self.ec2.describe_instances(InstanceIds=[instance_id])
        described: dict[str, Any] = answer["Reservations"][0]["Instances"][0]
        return described

    def state(self, instance_id: str) -> str:
        """The state of an instance."""
        return str(self.instance(instance_id)["State"]["Name"])


def launched(fleet: dict[str, Any]) -> list[str]:
    """The ids of the instances that a fleet has."""
    return [instance_id for one in fleet["Instances"] for instance_id in one["InstanceIds"]]


def pools(fleet: dict[str, Any]) -> list[tuple[str, str, int]]:
    """Type, zone and number of instances, for each pool that a fleet was launched from."""
    return [
        (
            one["InstanceType"],
            one["LaunchTemplateAndOverrides"]["Overrides"]["AvailabilityZone"],
            len(one["InstanceIds"]),
        )
        for one in fleet["Instances"]
    ]


def errors(fleet: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Type, zone and code, for each override that failed."""
    return [
        (
            one["LaunchTemplateAndOverrides"]["Overrides"]["InstanceType"],
            one["LaunchTemplateAndOverrides"]["Overrides"]["AvailabilityZone"],
            one["ErrorCode"],
        )
        for one in fleet["Errors"]
    ]
