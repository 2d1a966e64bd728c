"""Defines MeadowNodeClass (`karpenter.meadow.example/v1`): which image machines boot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final

from dovetail import api
from dovetail.api.facts import about
from dovetail.api.meta import Wire

GROUP: Final = "karpenter.meadow.example"
_READY: Final = {
    "type": "Ready",
    "status": "True",
    "reason": "Ready",
    "message": "",
    "lastTransitionTime": "2024-01-01T00:00:00Z",
}


class MeadowNodeClassSpec(Wire, frozen=True):
    """What machines are like."""

    image: Annotated[str, about("The image that machines boot.", min_length=1)] = "plain"
    cpus: Annotated[tuple[int, ...], about("Sizes that may be launched.", max_items=8)] = (2, 4)


class MeadowNodeClass(api.NodeClass, frozen=True):
    """Settings of machines of the meadow."""

    spec: Annotated[MeadowNodeClassSpec, about("What machines are like.")] = MeadowNodeClassSpec()
    status: Annotated[
        api.NodeClassStatus, about("Whether it can be used.", default={"conditions": [_READY]})
    ] = api.NodeClassStatus()


def problems(found: api.Object) -> Iterator[api.FieldProblem]:
    """What facts beside the fields cannot say."""
    if isinstance(found, MeadowNodeClass) and len(set(found.spec.cpus)) < len(found.spec.cpus):
        yield api.FieldProblem("spec.cpus", "has a size twice; expected each once")


KIND: Final = api.Kind(
    GROUP,
    "v1",
    "MeadowNodeClass",
    "meadownodeclasses",
    MeadowNodeClass,
    is_namespaced=False,
    problems=problems,
)
DEFINITION: Final = api.Definition(
    kind=KIND,
    description="Settings of machines of the meadow.",
    category="karpenter",
    columns=(api.Column("Image", ".spec.image"),),
    short_names=("meadownc",),
)
