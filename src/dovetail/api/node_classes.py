"""Defines the node classes of the providers; of EC2NodeClass only its name and status are read."""

from __future__ import annotations

from typing import Annotated

from dovetail.api.facts import about
from dovetail.api.meta import Condition, Object, Wire


class KWOKNodeClassSpec(Wire, frozen=True):
    """How pretended nodes behave."""

    node_registration_delay: Annotated[
        str | None,
        about(
            "How long after its launch a node appears.",
            pattern=r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$",
            expected='a duration such as "30s" or "1m30s"',
        ),
    ] = None


class KWOKNodeClassStatus(Wire, frozen=True):
    """Whether the class can be used."""

    conditions: Annotated[tuple[Condition, ...], about("Whether the class can be used.")] = ()


class KWOKNodeClass(Object, frozen=True):
    """Settings of nodes that only pretend. They can be used at once."""

    spec: Annotated[KWOKNodeClassSpec, about("How the nodes behave.")] = KWOKNodeClassSpec()
    status: Annotated[
        KWOKNodeClassStatus,
        about(
            "Whether the class can be used.",
            default={
                "conditions": [
                    {
                        "type": "Ready",
                        "status": "True",
                        "reason": "Ready",
                        "message": "",
                        "lastTransitionTime": "2024-01-01T00:00:00Z",
                    }
                ]
            },
        ),
    ] = KWOKNodeClassStatus()


class EC2NodeClassStatus(Wire, frozen=True):
    """Whether the class can be used."""

    conditions: tuple[Condition, ...] = ()


class EC2NodeClass(Object, frozen=True):
    """Settings of EC2 instances."""

    status: EC2NodeClassStatus = EC2NodeClassStatus()
