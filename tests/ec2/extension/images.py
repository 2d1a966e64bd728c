"""Machine images, and the SSM parameters that name those for EKS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256

from tests.ec2.extension import moto_state, paging
from tests.ec2.extension.filters import matching
from tests.ec2.extension.instances import tag_list
from tests.ec2.extension.wire import AwsError, Tree
from tests.ec2.extension.world import World

AMAZON = "602401143452"
VERSIONS = tuple(f"1.{minor}" for minor in range(26, 37))
_RELEASE = "v20251201"
_BOTTLEROCKET = "1.50.0"
_BUILT_AT = datetime(2025, 12, 1, tzinfo=UTC)


@dataclass
class Image:
    """A machine image."""

    image_id: str
    name: str
    architecture: str
    owner_id: str
    owner_alias: str
    created_at: datetime
    deprecated_at: datetime | None = None
    platform: str = ""
    state: str = "available"
    root_device: str = "/dev/xvda"
    tags: dict[str, str] = field(default_factory=dict)


def eks_images() -> tuple[dict[str, Image], dict[str, str]]:
    """Amazon's images for EKS by id, and the image id by SSM parameter."""
    images: dict[str, Image] = {}
    parameters: dict[str, str] = {}
    for name, architecture, platform, paths in _published():
        image_id = "ami-" + sha256(name.encode()).hexdigest()[:17]
        device = "/dev/sda1" if platform else "/dev/xvda"
        images[image_id] = Image(
            image_id, name, architecture, AMAZON, "amazon", _BUILT_AT,
            platform=platform, root_device=device,
        )  # fmt: skip
        parameters |= dict.fromkeys(paths, image_id)
    return images, parameters


_Published = tuple[str, str, str, tuple[str, ...]]  # name, architecture, platform, parameters


def _published() -> Iterator[_Published]:
    for version in VERSIONS:
        yield from _al2023(version)
        yield from _bottlerocket(version)
        yield from _windows(version)
        if version < "1.33":
            yield from _al2(version)


def _al2(version: str) -> Iterator[_Published]:
    root = f"/aws/service/eks/optimized-ami/{version}"
    for suffix, architecture in (("", "x86_64"), ("-arm64", "arm64"), ("-gpu", "x86_64")):
        name = f"amazon-eks{suffix}-node-{version}-{_RELEASE}"
        folder = f"{root}/amazon-linux-2{suffix}"
        paths = tuple(f"{folder}/{which}/image_id" for which in ("recommended", name))
        yield name, architecture, "", paths


def _al2023(version: str) -> Iterator[_Published]:
    root = f"/aws/service/eks/optimized-ami/{version}/amazon-linux-2023"
    for architecture, variants in (
        ("x86_64", ("standard", "nvidia", "neuron")),
        ("arm64", ("standard", "nvidia")),
    ):
        for variant in variants:
            name = f"amazon-eks-node-al2023-{architecture}-{variant}-{version}-{_RELEASE}"
            folder = f"{root}/{architecture}/{variant}"
            paths = tuple(f"{folder}/{which}/image_id" for which in ("recommended", name))
            yield name, architecture, "", paths


def _bottlerocket(version: str) -> Iterator[_Published]:
    for flavour in ("", "-nvidia"):
        for architecture in ("x86_64", "arm64"):
            folder = f"/aws/service/bottlerocket/aws-k8s-{version}{flavour}/{architecture}"
            paths = tuple(f"{folder}/{which}/image_id" for which in ("latest", _BOTTLEROCKET))
            name = (
                f"bottlerocket-aws-k8s-{version}{flavour}-{architecture}-v{_BOTTLEROCKET}-8a2b1c3d"
            )
            yield name, architecture, "", paths


def _windows(version: str) -> Iterator[_Published]:
    for year in ("2019", "2022", "2025"):
        if year == "2025" and version < "1.35":
            continue
        stem = f"Windows_Server-{year}-English-Core-EKS_Optimized-{version}"
        path = f"/aws/service/ami-windows-latest/{stem}/image_id"
        yield f"{stem}-2025.12.01", "x86_64", "windows", (path,)


def describe(world: World, parameters: Tree) -> Tree:
    """DescribeImages."""
    wanted = parameters.get("ImageIds", [])
    for image_id in wanted:
        if image_id not in world.images:
            msg = f"The image id '[{image_id}]' does not exist"
            raise AwsError("InvalidAMIID.NotFound", msg)
    owners = set(parameters.get("Owners", []))
    now = world.clock.now()
    known = [
        image
        for image in world.images.values()
        if (not wanted or image.image_id in wanted)
        and (not owners or owners & _owner_names(image))
        and (wanted or parameters.get("IncludeDeprecated") or not _is_deprecated(image, now))
    ]
    shown = matching(known, parameters.get("Filters", []), values=_values, tags=_tags)
    items, token = paging.page(shown, parameters, least=1)
    return {"Images": [_describe(one) for one in items], "NextToken": token}


def _is_deprecated(image: Image, now: datetime) -> bool:
    """Deprecated images are shown to their owner, or to those who ask for them."""
    is_own = image.owner_id == moto_state.ACCOUNT
    return image.deprecated_at is not None and image.deprecated_at <= now and not is_own


def _owner_names(image: Image) -> set[str]:
    own = {"self"} if image.owner_id == moto_state.ACCOUNT else set()
    return {image.owner_id, image.owner_alias} | own


def _values(image: Image) -> Tree:
    return {
        "image-id": image.image_id,
        "name": image.name,
        "architecture": image.architecture,
        "owner-id": image.owner_id,
        "owner-alias": image.owner_alias or None,
        "state": image.state,
        "platform": image.platform or None,
        "is-public": True,
        "virtualization-type": "hvm",
    }


def _tags(image: Image) -> dict[str, str]:
    return image.tags


def _describe(image: Image) -> Tree:
    return {
        "ImageId": image.image_id,
        "Name": image.name,
        "Architecture": image.architecture,
        "OwnerId": image.owner_id,
        "ImageOwnerAlias": image.owner_alias or None,
        "ImageLocation": f"{image.owner_alias or image.owner_id}/{image.name}",
        "ImageType": "machine",
        "Public": True,
        "State": image.state,
        "CreationDate": _text(image.created_at),
        "DeprecationTime": _text(image.deprecated_at) if image.deprecated_at else None,
        "Platform": image.platform or None,
        "PlatformDetails": "Windows" if image.platform else "Linux/UNIX",
        "RootDeviceName": image.root_device,
        "RootDeviceType": "ebs",
        "VirtualizationType": "hvm",
        "Hypervisor": "xen",
        "EnaSupport": True,
        "BlockDeviceMappings": [
            {
                "DeviceName": image.root_device,
                "Ebs": {"DeleteOnTermination": True, "VolumeSize": 8, "VolumeType": "gp3"},
            }
        ],
        "Tags": tag_list(image.tags),
    }


def _text(instant: datetime) -> str:
    return instant.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def parameter(world: World, name: str) -> Tree | None:
    """The SSM parameter of this name, if it names an image."""
    image_id = world.image_parameters.get(name)
    if image_id is None:
        return None
    return {
        "Name": name,
        "Type": "String",
        "Value": image_id,
        "Version": 1,
        "LastModifiedDate": _BUILT_AT,
        "ARN": f"arn:aws:ssm:{moto_state.REGION}::parameter{name}",
        "DataType": "aws:ec2:image",
    }
