"""Defines what every provider's node class has in common: it says whether it can be used."""

from __future__ import annotations

from typing import Annotated

from dovetail.api.facts import about
from dovetail.api.meta import Condition, Object, Wire


class NodeClassStatus(Wire, frozen=True):
    """Whether the class can be used."""

    conditions: Annotated[tuple[Condition, ...], about("Whether the class can be used.")] = ()


class NodeClass(Object, frozen=True):
    """A provider's settings of nodes. Its condition Ready says whether nodes can be launched."""

    spec: Wire = Wire()
    status: NodeClassStatus = NodeClassStatus()
