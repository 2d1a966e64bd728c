"""What one node holds for encoding; remembered while nothing on the node changes.

From one look at a cluster to the next hardly any node changes; what its pods come to is found
again as long as they are the very same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from dovetail import labels
from dovetail.model.node import Node
from dovetail.model.pod import Pod, PodSpec
from dovetail.solve.encoding.groups import Profile, profile_of, read_labels

Bound = Mapping[str, tuple[Pod, ...]]  # the pods of every node that has some, by its name


class NodePart(msgspec.Struct, frozen=True):
    """A node with its pods, and what they come to."""

    node: Node
    pods: tuple[Pod, ...]
    labels: dict[str, str]  # as expressions see them
    read: frozenset[str]  # pod labels that somebody there reads
    use: dict[str, int]
    profiles: dict[Profile, int]  # of pods that count for terms
    namespaces: frozenset[str]
    shy: tuple[tuple[Pod, int], ...]  # those that keep others away, one of those alike, how many
    ports: tuple[PodSpec, ...]  # who takes ports
    daemons: tuple[tuple[str, str], ...]  # namespace and name of daemon sets that are there


_remembered: list[tuple[tuple[str, ...], dict[str, NodePart]]] = [((), {})]


def pieces_of(
    nodes: Sequence[Node], bound: Bound, read: Iterable[str]
) -> tuple[tuple[str, ...], list[NodePart]]:
    """The pod labels that anybody reads, with those that others do, and what each node holds."""
    keys, last = _remembered[0]
    parts = [
        _remembered_part(last.get(node.name), node, bound.get(node.name, ())) for node in nodes
    ]
    known: dict[int, tuple[str, ...]] = {}
    every = set(read)
    for node, piece in zip(nodes, parts, strict=True):
        every |= _read_labels(bound.get(node.name, ()), known) if piece is None else piece.read
    if keys != tuple(sorted(every)):
        keys, parts = tuple(sorted(every)), [None] * len(parts)
    pieces = [
        _piece(node, bound.get(node.name, ()), keys, known) if piece is None else piece
        for node, piece in zip(nodes, parts, strict=True)
    ]
    _remembered[0] = (keys, {piece.node.name: piece for piece in pieces})
    return keys, pieces


def _remembered_part(last: NodePart | None, node: Node, pods: tuple[Pod, ...]) -> NodePart | None:
    """What is remembered of a node, if it is still right."""
    if last is None or last.pods != pods:
        return None
    is_same = last.node.labels == node.labels and last.node.node_pool == node.node_pool
    return last if is_same else None


def _read_labels(pods: Iterable[Pod], known: dict[int, tuple[str, ...]]) -> frozenset[str]:
    """The pod labels that the selectors of these read."""
    keys: set[str] = set()
    for pod in pods:
        if id(pod.spec) not in known:
            known[id(pod.spec)] = read_labels((pod.spec,), ())
        keys.update(known[id(pod.spec)])
    return frozenset(keys)


def _piece(
    node: Node, pods: tuple[Pod, ...], keys: tuple[str, ...], known: dict[int, tuple[str, ...]]
) -> NodePart:
    use: dict[str, int] = {}
    profiles: dict[Profile, int] = {}
    for pod in pods:
        for name, amount in pod.spec.requests.items():
            use[name] = use.get(name, 0) + amount
    counted = [pod for pod in pods if not pod.is_terminal and pod.deleting_at is None]
    for pod in counted:
        profile = profile_of(pod, keys)
        profiles[profile] = profiles.get(profile, 0) + 1
    return NodePart(
        node=node,
        pods=pods,
        labels=expected_labels(node),
        read=_read_labels(pods, known),
        use=use,
        profiles=profiles,
        namespaces=frozenset(pod.namespace for pod in pods),
        shy=_pod_counts(counted),
        ports=tuple(pod.spec for pod in pods if pod.spec.host_ports and not pod.is_terminal),
        daemons=tuple(
            (pod.namespace, pod.owner.name)
            for pod in pods
            if pod.owner is not None and pod.is_daemon
        ),
    )


def _pod_counts(pods: Iterable[Pod]) -> tuple[tuple[Pod, int], ...]:
    alike: dict[tuple[int, str, tuple[tuple[str, str], ...]], list[Pod]] = {}
    for pod in pods:
        if pod.spec.anti_affinity:
            key = (id(pod.spec), pod.namespace, tuple(sorted(pod.labels.items())))
            alike.setdefault(key, []).append(pod)
    return tuple((alike_pods[0], len(alike_pods)) for alike_pods in alike.values())


def expected_labels(node: Node) -> dict[str, str]:
    """The labels of a node, as they will be once it has started."""
    by_key = {labels.normalize(key): value for key, value in node.labels.items()}
    if node.node_pool:
        by_key.update({key: by_key.get(key, "true") for key in labels.SIMULATION_ONLY})
    return by_key
