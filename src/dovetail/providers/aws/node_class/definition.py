"""Defines the kind EC2NodeClass: its names in the API, and what its CRD adds to the fields."""

from __future__ import annotations

from typing import Final

from dovetail import api, labels
from dovetail.providers.aws.node_class.types import EC2NodeClass
from dovetail.providers.aws.node_class.validation import node_class_problems

_READY: Final = '.status.conditions[?(@.type=="Ready")].status'

KIND: Final = api.Kind(
    labels.AWS_GROUP,
    "v1",
    "EC2NodeClass",
    "ec2nodeclasses",
    EC2NodeClass,
    is_namespaced=False,
    problems=node_class_problems,
)
DEFINITION: Final = api.Definition(
    kind=KIND,
    description="Settings of EC2 instances.",
    category="karpenter",
    columns=(
        api.Column("Ready", _READY),
        api.Column("Age", ".metadata.creationTimestamp", "date"),
        api.Column("Role", ".spec.role", is_wide=True),
    ),
    short_names=("ec2nc", "ec2ncs"),
)
