"""Names the labels of EC2 instances, and refuses requirements for any other of their domain."""

from __future__ import annotations

from typing import Final

from dovetail import labels
from dovetail.api.facts import Rule, keys_of_domain

LABEL_KEYS: Final = tuple(
    f"{labels.AWS_GROUP}/{name}"
    for name in (
        "capacity-reservation-id",
        "capacity-reservation-interruptible",
        "capacity-reservation-type",
        "instance-accelerator-count",
        "instance-accelerator-manufacturer",
        "instance-accelerator-name",
        "instance-capability-flex",
        "instance-category",
        "instance-cpu",
        "instance-cpu-manufacturer",
        "instance-cpu-sustained-clock-speed-mhz",
        "instance-ebs-bandwidth",
        "instance-encryption-in-transit-supported",
        "instance-family",
        "instance-generation",
        "instance-gpu-count",
        "instance-gpu-manufacturer",
        "instance-gpu-memory",
        "instance-gpu-name",
        "instance-hypervisor",
        "instance-local-nvme",
        "instance-memory",
        "instance-network-bandwidth",
        "instance-size",
        "instance-tenancy",
        "nitro-sandbox",
        "placement-group-id",
        "placement-group-partition",
    )
)
REQUIREMENT_RULE: Final[Rule] = keys_of_domain(
    labels.AWS_GROUP, (*LABEL_KEYS, f"{labels.AWS_GROUP}/ec2nodeclass"), owner="EC2"
)
