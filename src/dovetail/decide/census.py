"""Who is where? The pods of the cluster by their node, counted once for each list of pods."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from dovetail.decide.recall import recalled
from dovetail.model.pod import Pod


class Census(msgspec.Struct, frozen=True):
    """Pods without a node, and those of each node."""

    unbound: tuple[Pod, ...]
    by_node: Mapping[str, tuple[Pod, ...]]


@recalled
def census(pods: tuple[Pod, ...]) -> Census:
    """Sort the pods by node."""
    found: dict[str, list[Pod]] = {"": []}
    for pod in pods:
        held = found.get(pod.node_name)
        if held is None:
            found[pod.node_name] = [pod]
        else:
            held.append(pod)
    unbound = tuple(found.pop(""))
    return Census(unbound, {node: tuple(held) for node, held in found.items()})
