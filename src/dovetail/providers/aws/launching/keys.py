"""Names the annotations, tags and labels that launches of EC2 instances read and write."""

from __future__ import annotations

from typing import Final

from dovetail import labels

# Annotations of NodeClaims.
FLEET: Final = "aws.dovetail.sh/fleet"  # token/ordinal/head: which fleet request launches it
FLEET_REQUEST: Final = "aws.dovetail.sh/fleet-request"  # the request itself, compressed
REFUSED_FLEET: Final = "aws.dovetail.sh/refused-fleet"  # a token that must never be sent
TAGGED: Final = f"{labels.AWS_GROUP}/tagged"
CLUSTER_NAME_TAGGED: Final = "compatibility.karpenter.k8s.aws/cluster-name-tagged"
INSTANCE_PROFILE: Final = f"{labels.AWS_GROUP}/instance-profile-name"
NODE_CLASS_HASH: Final = f"{labels.AWS_GROUP}/ec2nodeclass-hash"
NODE_CLASS_HASH_VERSION: Final = f"{labels.AWS_GROUP}/ec2nodeclass-hash-version"

# Tags of instances.
TOKEN_TAG: Final = "aws.dovetail.sh/fleet"  # noqa: S105  the client token of a fleet, no secret
NODE_CLAIM_TAG: Final = "karpenter.sh/nodeclaim"
NODE_CLASS_TAG: Final = f"{labels.AWS_GROUP}/ec2nodeclass"
CLUSTER_TAG: Final = "eks:eks-cluster-name"
NAME_TAG: Final = "Name"

# Labels of nodes.
TENANCY: Final = f"{labels.AWS_GROUP}/instance-tenancy"
RESERVATION_TYPE: Final = f"{labels.AWS_GROUP}/capacity-reservation-type"
RESERVATION_INTERRUPTIBLE: Final = f"{labels.AWS_GROUP}/capacity-reservation-interruptible"
PLACEMENT_GROUP: Final = f"{labels.AWS_GROUP}/placement-group-id"
PARTITION: Final = f"{labels.AWS_GROUP}/placement-group-partition"
INSTANCE_SIZE: Final = f"{labels.AWS_GROUP}/instance-size"
GPU_COUNT: Final = f"{labels.AWS_GROUP}/instance-gpu-count"
ACCELERATOR_COUNT: Final = f"{labels.AWS_GROUP}/instance-accelerator-count"

# Resources that a claim may request.
EFA: Final = "vpc.amazonaws.com/efa"
NITRO_SANDBOX: Final = "eks.amazonaws.com/nitro-sandbox"

CAPACITY_BLOCK: Final = "capacity-block"


def cluster_owned(cluster_name: str) -> str:
    """The tag that says to which cluster a resource belongs; its value is `owned`."""
    return f"kubernetes.io/cluster/{cluster_name}"
