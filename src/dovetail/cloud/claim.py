"""What is a cloud asked for? What a NodeClaim says, in nouns."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from dovetail import api, labels
from dovetail.errors import InputError
from dovetail.model.pool import NodeClassRef
from dovetail.model.requirements import Requirement, requirement
from dovetail.model.resources import Resources
from dovetail.model.taints import Taint
from dovetail.units import quantity


class NodeClaim(msgspec.Struct, frozen=True, gc=False):
    """A node that is wanted. `uid` makes it one node, however often a cloud is asked for it."""

    name: str
    uid: str
    node_class: NodeClassRef = NodeClassRef()
    requirements: tuple[Requirement, ...] = ()
    requests: Resources = {}
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()

    @property
    def node_pool(self) -> str:
        """The pool it belongs to; empty for a claim that somebody made by hand."""
        return self.labels.get(labels.NODE_POOL, "")


def node_claim(wire: api.NodeClaim) -> NodeClaim:
    """The claim. Raises InputError for what no API server that knows the kind would store."""
    spec, meta = wire.spec, wire.metadata
    try:
        return NodeClaim(
            name=meta.name,
            uid=meta.uid,
            node_class=NodeClassRef(
                spec.node_class_ref.group, spec.node_class_ref.kind, spec.node_class_ref.name
            ),
            requirements=tuple(
                requirement(one.key, one.operator, one.values, one.min_values)
                for one in spec.requirements
            ),
            requests={
                name: quantity.amount(name, text) for name, text in spec.resources.requests.items()
            },
            labels=meta.labels,
            annotations=meta.annotations,
            taints=_taints(spec.taints),
            startup_taints=_taints(spec.startup_taints),
        )
    except ValueError as error:
        msg = f"node claim {meta.name}: {error}"
        raise InputError(msg) from None


def _taints(wire: tuple[api.Taint, ...]) -> tuple[Taint, ...]:
    return tuple(Taint(one.key, one.value, one.effect) for one in wire)
