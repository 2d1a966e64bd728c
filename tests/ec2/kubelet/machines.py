"""Instances as their operating systems see them, put together from what EC2 tells of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from tests.ec2.kubelet.node import GI, MI, Machine

if TYPE_CHECKING:
    from types_aiobotocore_ec2 import EC2Client

Described = Any  # an instance, as DescribeInstances sends it
_GIGA = 10**9
_USUAL_GIB = 20


class Machines:
    """What EC2 knows of instances. Images and types, which do not change, are asked for once."""

    def __init__(self, ec2: EC2Client, memory_percent: int) -> None:
        self._ec2 = ec2
        self._memory_percent = memory_percent
        self._images: dict[str, Any] = {}
        self._types: dict[str, Any] = {}

    async def instances(self) -> AsyncIterator[Described]:
        """Every instance."""
        async for page in self._ec2.get_paginator("describe_instances").paginate():
            for reservation in page["Reservations"]:
                for instance in reservation["Instances"]:
                    yield instance

    async def machine(self, instance: Described) -> Machine:
        """The machine of an instance that runs."""
        image = await self._image(instance["ImageId"])
        shape = await self._type(instance["InstanceType"])
        network = shape["NetworkInfo"]
        zone = instance["Placement"]["AvailabilityZone"]
        store = shape.get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0)
        gpus = shape.get("GpuInfo", {}).get("Gpus", [])
        return Machine(
            instance_id=instance["InstanceId"],
            host=instance["PrivateDnsName"],
            zone=zone,
            region=zone[:-1],
            instance_type=instance["InstanceType"],
            arch="arm64" if image["Architecture"] == "arm64" else "amd64",
            os="windows" if image.get("Platform") == "windows" else "linux",
            image_name=image["Name"],
            millicores=shape["VCpuInfo"]["DefaultVCpus"] * 1000,
            memory_bytes=shape["MemoryInfo"]["SizeInMiB"] * MI * self._memory_percent // 100,
            disk_bytes=await self._disk_gib(instance, image) * GI,
            instance_store_bytes=store * _GIGA,
            eni_limited_pods=network["MaximumNetworkInterfaces"]
            * (network["Ipv4AddressesPerInterface"] - 1)
            + 2,
            gpus=sum(one["Count"] for one in gpus if one["Manufacturer"] == "NVIDIA"),
        )

    async def _image(self, image_id: str) -> Any:
        if image_id not in self._images:
            answer = await self._ec2.describe_images(ImageIds=[image_id])
            self._images[image_id] = answer["Images"][0]
        return self._images[image_id]

    async def _type(self, name: Any) -> Any:
        if name not in self._types:
            answer = await self._ec2.describe_instance_types(InstanceTypes=[name])
            self._types[name] = answer["InstanceTypes"][0]
        return self._types[name]

    async def _disk_gib(self, instance: Described, image: Any) -> int:
        """The volume that pods' files are on: the second one of Bottlerocket, else the root."""
        is_bottlerocket = image["Name"].startswith("bottlerocket-")
        device = "/dev/xvdb" if is_bottlerocket else image["RootDeviceName"]
        volumes = [
            one["Ebs"]["VolumeId"]
            for one in instance.get("BlockDeviceMappings", [])
            if one["DeviceName"] == device
        ]
        if not volumes:
            return _USUAL_GIB
        answer = await self._ec2.describe_volumes(VolumeIds=volumes)
        return int(answer["Volumes"][0]["Size"])
