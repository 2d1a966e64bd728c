"""Names the labels of generated NodePools on AWS, and makes the EC2NodeClass of a new one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dovetail import api, labels
from dovetail.api.checks import check
from dovetail.cloud.node_pool_form import NodeClassSettings, NodePoolForm, UsualRequirement
from dovetail.providers.aws.node_class.definition import KIND
from dovetail.providers.aws.node_class.terms import AMISelectorTerm
from dovetail.providers.aws.node_class.types import BlockDevice
from dovetail.units.commented import Commented, CommentedTree

LATEST: Final = "al2023@latest"
_DISCOVERY: Final = "karpenter.sh/discovery"
_DEVICE: Final = "/dev/xvda"
_REGION: Final = "([a-z]{2}(?:-[a-z]+)+-[0-9]+)"  # us-west-2, us-gov-west-1
_LOCAL: Final = "(?:-[a-z]+-[0-9]+)?"  # us-west-2-lax-1a is in us-west-2


def node_class_spec(settings: NodeClassSettings) -> dict[str, CommentedTree | Commented]:
    """The spec of an EC2NodeClass."""
    image = settings.get("image", LATEST)
    cluster = settings["cluster"]
    spec: dict[str, CommentedTree | Commented] = {
        "role": Commented(settings["role"], "The IAM role of the nodes."),
        "amiSelectorTerms": _images(image),
        "subnetSelectorTerms": Commented(
            [{"tags": {_DISCOVERY: cluster}}], "Subnets and security groups with this tag."
        ),
        "securityGroupSelectorTerms": [{"tags": {_DISCOVERY: cluster}}],
    }
    if "disk" in settings:
        spec["blockDeviceMappings"] = _disks(settings["disk"])
    return spec


def _images(image: str) -> CommentedTree | Commented:
    terms: CommentedTree = [{"alias": image}]
    if not image.endswith("@latest"):
        return terms
    return Commented(terms, "Nodes drift whenever AWS publishes an image of this family.")


def _disks(size: str) -> Commented:
    ebs: CommentedTree = {
        "volumeSize": size,
        "volumeType": "gp3",
        "encrypted": True,
        "deleteOnTermination": True,
    }
    return Commented([{"deviceName": _DEVICE, "ebs": ebs}], "The root volume.")


def setting_problems(settings: NodeClassSettings) -> Iterator[api.FieldProblem]:
    """What is wrong with the image and the size of the disk, by the rules of EC2NodeClass."""
    parts = {
        "image": AMISelectorTerm(alias=settings.get("image", "")),
        "disk": BlockDevice(volume_size=settings.get("disk")),
    }
    for name, part in parts.items():
        if name in settings:
            yield from (api.FieldProblem(name, problem.message) for problem in check(part))


FORM: Final = NodePoolForm(
    node_class=KIND,
    family_label=f"{labels.AWS_GROUP}/instance-family",
    cpu_label=f"{labels.AWS_GROUP}/instance-cpu",
    memory_label=f"{labels.AWS_GROUP}/instance-memory",
    gpu_label=f"{labels.AWS_GROUP}/instance-gpu-count",
    usual=(
        UsualRequirement(
            f"{labels.AWS_GROUP}/instance-category",
            "In",
            ("c", "m", "r"),
            "The request names no instance families: compute, general purpose and memory.",
        ),
        UsualRequirement(
            f"{labels.AWS_GROUP}/instance-generation", "Gt", ("4",), "Generation 5 and later."
        ),
    ),
    usual_gpu=(
        UsualRequirement(
            f"{labels.AWS_GROUP}/instance-gpu-manufacturer",
            "In",
            ("nvidia",),
            "The request names no instance families: any with GPUs of NVIDIA.",
        ),
    ),
    zone_pattern=f"{_REGION}{_LOCAL}[a-z]",
    zone_example="a zone such as us-west-2a",
    needs=("role", "cluster"),
    allows=("role", "cluster", "image", "disk"),
    node_class_spec=node_class_spec,
    setting_problems=setting_problems,
)
