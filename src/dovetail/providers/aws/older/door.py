"""Names what the AWS provider brings to convert older manifests."""

from __future__ import annotations

from typing import Final

from dovetail import labels
from dovetail.api.older.door import OlderKind, OlderNodeClasses
from dovetail.api.older.draft import Fields
from dovetail.providers.aws.node_class.definition import KIND
from dovetail.providers.aws.older.node_classes import from_beta, from_inline, from_template

_GROUP: Final = labels.AWS_GROUP
_CATEGORY: Final = f"{_GROUP}/instance-category"
_GENERATION: Final = f"{_GROUP}/instance-generation"
_OF_TYPES: Final = frozenset(
    {labels.INSTANCE_TYPE, f"{_GROUP}/instance-family", _CATEGORY, _GENERATION}
)
_SETTINGS: Final = {
    "aws.clusterName": "is the flag --cluster-name (CLUSTER_NAME)",
    "aws.clusterEndpoint": "is the flag --cluster-endpoint (CLUSTER_ENDPOINT)",
    "aws.isolatedVPC": "is the flag --isolated-vpc (ISOLATED_VPC)",
    "aws.vmMemoryOverheadPercent": (
        "is the flag --vm-memory-overhead-percent (VM_MEMORY_OVERHEAD_PERCENT)"
    ),
    "aws.interruptionQueueName": "is the flag --interruption-queue (INTERRUPTION_QUEUE)",
    "aws.reservedENIs": "is the flag --reserved-enis (RESERVED_ENIS)",
    "aws.defaultInstanceProfile": (
        "has no equal: it is set as instanceProfile of each class here that names none"
    ),
    "aws.enablePodENI": "is always on",
    "aws.enableENILimitedPodDensity": (
        "is always on; write maxPods 110 under spec.kubelet of a class to switch it off"
    ),
    "aws.tags": "has no equal: they are added to spec.tags of each class that is converted here",
    "aws.assumeRoleARN": "has no equal: use IRSA or pod identity",
    "aws.assumeRoleDuration": "has no equal: use IRSA or pod identity",
}


def _default_requirements(constrained: frozenset[str]) -> tuple[Fields, ...]:
    """Those of the webhook where nothing constrains instance types."""
    if constrained & _OF_TYPES:
        return ()
    return (
        {"key": _CATEGORY, "operator": "In", "values": ["c", "m", "r"]},
        {"key": _GENERATION, "operator": "Gt", "values": ["2"]},
    )


OLDER: Final = OlderNodeClasses(
    group=_GROUP,
    kind=KIND.name,
    kinds=(
        OlderKind(_GROUP, ("v1alpha1",), "AWSNodeTemplate", from_template),
        OlderKind(_GROUP, ("v1beta1",), KIND.name, from_beta),
    ),
    inline=from_inline,
    default_requirements=_default_requirements,
    dropped_labels=(f"{_GROUP}/instance-pods",),
    renamed_labels={f"{_GROUP}/nodetemplate-hash": f"{_GROUP}/ec2nodeclass-hash"},
    settings=_SETTINGS,
)
