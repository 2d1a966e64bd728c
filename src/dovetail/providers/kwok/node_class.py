"""Defines KWOKNodeClass (`karpenter.kwok.sh/v1alpha1`): how pretended nodes behave."""

from __future__ import annotations

from typing import Annotated, Final

from dovetail import api, labels
from dovetail.api.facts import about
from dovetail.api.meta import Wire


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


class KWOKNodeClass(api.NodeClass, frozen=True):
    """Settings of nodes that only pretend. They can be used at once."""

    spec: Annotated[KWOKNodeClassSpec, about("How the nodes behave.")] = KWOKNodeClassSpec()
    status: Annotated[
        api.NodeClassStatus,
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
    ] = api.NodeClassStatus()


KIND: Final = api.Kind(
    labels.KWOK_GROUP,
    "v1alpha1",
    "KWOKNodeClass",
    "kwoknodeclasses",
    KWOKNodeClass,
    is_namespaced=False,
)
DEFINITION: Final = api.Definition(
    kind=KIND,
    description="Settings of nodes that only pretend to run.",
    category="karpenter",
    columns=(api.Column("Age", ".metadata.creationTimestamp", "date"),),
    short_names=("kwoknc", "kwokncs"),
    needs_spec=False,
)
