"""What does karpenter.k8s.aws store? Here only that a node class of that name is there."""

from __future__ import annotations

from dovetail.api.meta import Condition, Object, Wire


class EC2NodeClassStatus(Wire, frozen=True):
    """Whether the class can be used."""

    conditions: tuple[Condition, ...] = ()


class EC2NodeClass(Object, frozen=True):
    """Settings of EC2 instances."""

    status: EC2NodeClassStatus = EC2NodeClassStatus()
