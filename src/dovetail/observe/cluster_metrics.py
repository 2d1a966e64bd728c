"""Renders gauges of pods, nodes and pools from a snapshot, at each scrape.

Nothing is kept between scrapes. All of it comes in parts of a few hundred lines, each in its place
under its heading.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Final

from dovetail import labels
from dovetail.decide.nodes import census, leaving_nodes
from dovetail.decide.pools import price_of, prices
from dovetail.model.node import Node
from dovetail.model.pod import Pod
from dovetail.model.resources import CPU, NODES, Resources, subtract, total
from dovetail.model.snapshot import Snapshot
from dovetail.observe.pod_limits import PodLimits

_PART: Final = 500  # lines
_ESCAPED: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def gauge(name: str, help_text: str, lines: Iterable[str]) -> Iterator[str]:
    """A gauge with its heading, in parts; each line as `series` makes it."""
    yield f"# HELP {name} {help_text}\n# TYPE {name} gauge\n"
    waiting = iter(lines)
    while part := list(islice(waiting, _PART)):
        yield "".join(part)


def series(name: str, labelled: str, value: float) -> str:
    """One line. `labelled` is as `label_text` makes it."""
    return f"{name}{{{labelled}}} {value:.10g}\n"


def label_text(labels: Mapping[str, str]) -> str:
    """Labels as they stand between braces."""
    return ",".join(f'{key}="{escape(value)}"' for key, value in labels.items())


def escape(value: str) -> str:
    """A label's value as it stands between quotation marks."""
    if "\\" in value or '"' in value or "\n" in value:
        return value.translate(_ESCAPED)
    return value


_WELL_KNOWN: Final = tuple(sorted(labels.WELL_KNOWN))
_POD_STATE: Final = "karpenter_pods_state"
_LIFETIME: Final = "karpenter_nodes_current_lifetime_seconds"
_NO_NODE: Final = Node("")


def cluster_text(snapshot: Snapshot, limits: PodLimits, now: datetime) -> Iterator[str]:
    """Every gauge of the cluster, in parts."""
    nodes = _Nodes(snapshot, limits)
    yield from _utilization(nodes)
    yield from gauge(_POD_STATE, "1 for each pod, with its state.", _pod_lines(snapshot))
    yield from _node_gauges(nodes, now)
    yield from _pool_gauges(snapshot)


def node_count_text(snapshot: Snapshot) -> Iterator[str]:
    """How many nodes are known, those on their way included."""
    name = "karpenter_cluster_state_node_count"
    yield from gauge(
        name,
        "Nodes in the cluster state, including nodes that are starting.",
        [f"{name} {len(snapshot.nodes)}\n"],
    )


class _Nodes:
    """The nodes that have joined, with what their pods take and what their series are called."""

    def __init__(self, snapshot: Snapshot, limits: PodLimits) -> None:
        self.joined = [node for node in snapshot.nodes if not _is_in_flight(node)]
        self._limits = limits
        self._pods = census(snapshot.pods).by_node

    @cached_property
    def labels_by_node(self) -> dict[str, str]:
        """The labels of each node's series."""
        return {node.name: label_text(_node_labels(node)) for node in self.joined}

    @cached_property
    def requests(self) -> dict[str, tuple[Resources, Resources]]:
        """What the pods of each node ask for, and the daemons among them."""
        return {
            node.name: self._requested_amounts(self._pods.get(node.name, ()))
            for node in self.joined
        }

    def limits(self, node: Node) -> tuple[Resources, Resources]:
        """What the pods of a node may take, and the daemons among them."""
        node_limits = self._limits.on(node.name)
        return node_limits.pods, node_limits.daemons

    @staticmethod
    def _requested_amounts(pods: Iterable[Pod]) -> tuple[Resources, Resources]:
        alive = [pod for pod in pods if not pod.is_terminal]
        return (
            total(pod.spec.requests for pod in alive),
            total(pod.spec.requests for pod in alive if pod.is_daemon),
        )


def _is_in_flight(node: Node) -> bool:
    return not node.is_registered and node.name == node.node_claim


def _node_labels(node: Node) -> dict[str, str]:
    """Labels that providers fix come after those that every node has; the first of a name wins."""
    node_labels = {
        "node_name": node.name,
        "phase": "",  # Kubernetes stopped saying it
        "managed": "true" if node.node_claim or node.node_pool else "false",
    }
    own = (key for key in sorted(node.labels) if labels.is_of_provider(key))
    for key in (*_WELL_KNOWN, *own):
        suffix = key.partition("/")[2].lower().replace("-", "_").replace(".", "_")
        node_labels.setdefault(suffix, node.labels.get(key, ""))
    return node_labels


def _node_gauges(nodes: _Nodes, now: datetime) -> Iterator[str]:
    for suffix, help_text, amounts in (
        ("allocatable", "Allocatable resources of a node.", lambda _nodes, node: node.allocatable),
        ("total_pod_requests", "Resource requests of the pods on a node.", _pod_requests),
        ("total_pod_limits", "Resource limits of the pods on a node.", _pod_limits),
        (
            "total_daemon_requests",
            "Resource requests of the DaemonSet pods on a node.",
            lambda nodes, node: nodes.requests[node.name][1],
        ),
        ("total_daemon_limits", "Resource limits of the DaemonSet pods on a node.", _daemon_limits),
        ("system_overhead", "Resources that a node reserves for the system.", _overhead),
    ):
        name = f"karpenter_nodes_{suffix}"
        lines = (
            series(
                name, f'{nodes.labels_by_node[node.name]},resource_type="{_kind(resource)}"', value
            )
            for node in nodes.joined
            for resource, value in _values(amounts(nodes, node))
        )
        yield from gauge(name, help_text, lines)
    ages = (
        series(_LIFETIME, nodes.labels_by_node[node.name], (now - node.created_at).total_seconds())
        for node in nodes.joined
        if node.created_at is not None
    )
    yield from gauge(_LIFETIME, "Age of nodes.", ages)


def _pod_requests(nodes: _Nodes, node: Node) -> Resources:
    return nodes.requests[node.name][0]


def _pod_limits(nodes: _Nodes, node: Node) -> Resources:
    return nodes.limits(node)[0]


def _daemon_limits(nodes: _Nodes, node: Node) -> Resources:
    return nodes.limits(node)[1]


def _overhead(_nodes: _Nodes, node: Node) -> Resources:
    return subtract(node.capacity, node.allocatable)


def _utilization(nodes: _Nodes) -> Iterator[str]:
    name = "karpenter_cluster_utilization_percent"
    room = total(node.allocatable for node in nodes.joined)
    asked = total(amounts for amounts, _ in nodes.requests.values())
    lines = (
        series(name, f'resource_type="{_kind(item)}"', 100 * asked.get(item, 0) / amount)
        for item, amount in sorted(room.items())
        if amount and item != NODES
    )
    yield from gauge(name, "Requested share of allocatable resources.", lines)


def _pod_lines(snapshot: Snapshot) -> Iterator[str]:
    nodes = {node.name: node for node in snapshot.nodes}
    places = {"": _place(_NO_NODE)} | {name: _place(node) for name, node in nodes.items()}
    for pod in snapshot.pods:
        place = places.get(pod.node_name, places[""])
        yield (
            f'{_POD_STATE}{{name="{pod.name}",namespace="{pod.namespace}",owner="{_owner(pod)}",'
            f'node="{pod.node_name}",scheduled="{"true" if pod.node_name else "false"}",{place},'
            f'phase="{pod.phase}",ready="{"true" if pod.is_ready else "false"}"}} 1\n'
        )


def _place(node: Node) -> str:
    pool = node.labels.get(labels.NODE_POOL, "")
    return label_text(
        {
            "nodepool": pool,
            "zone": node.zone,
            "arch": node.labels.get(labels.ARCH, ""),
            "capacity_type": node.capacity_type,
            "instance_type": node.instance_type,
            "managed": "true" if pool else "false",
        }
    )


def _owner(pod: Pod) -> str:
    owner = pod.owner
    if owner is None:
        return ""
    kind = owner.kind.lower()
    return escape(f"/apis/{owner.api_version}/namespaces/{pod.namespace}/{kind}s/{owner.name}")


def _pool_gauges(snapshot: Snapshot) -> Iterator[str]:
    usage = _usage(snapshot)
    for suffix, help_text, by_pool in (
        ("limit", "Limits of a NodePool.", {p.name: p.limits for p in snapshot.node_pools}),
        ("usage", "Resources in use by a NodePool.", usage),
    ):
        name = f"karpenter_nodepools_{suffix}"
        lines = (
            series(name, f'resource_type="{_kind(item)}",nodepool="{escape(pool.name)}"', value)
            for pool in snapshot.node_pools
            for item, value in _values(by_pool.get(pool.name, {}), with_nodes=True)
        )
        yield from gauge(name, help_text, lines)
    name = "karpenter_nodepools_cost_total"
    costs = _costs(snapshot)
    lines = (
        series(name, f'nodepool="{escape(pool.name)}"', costs.get(pool.name, 0) / 1e9)
        for pool in snapshot.node_pools
    )
    yield from gauge(name, "Price of the nodes of a NodePool, in dollars an hour.", lines)


def _usage(snapshot: Snapshot) -> dict[str, dict[str, int]]:
    """What each pool has, nodes that are leaving apart."""
    gone = leaving_nodes(snapshot)
    result: dict[str, dict[str, int]] = {}
    for node in snapshot.nodes:
        if node.node_pool and node.name not in gone:
            usage = result.setdefault(node.node_pool, {NODES: 0})
            usage[NODES] += 1
            for name, amount in node.capacity.items():
                if name != NODES:
                    usage[name] = usage.get(name, 0) + amount
    return result


def _costs(snapshot: Snapshot) -> dict[str, int]:
    known = prices(snapshot)
    costs: dict[str, int] = {}
    for node in snapshot.nodes:
        if node.node_pool:
            costs[node.node_pool] = costs.get(node.node_pool, 0) + price_of(node, known)
    return costs


def _values(amounts: Mapping[str, int], *, with_nodes: bool = False) -> Iterator[tuple[str, float]]:
    """Amounts as metrics state them: cpu in cores."""
    for name, amount in amounts.items():
        if name == CPU:
            yield name, amount / 1000
        elif name != NODES or with_nodes:
            yield name, amount


def _kind(resource: str) -> str:
    return escape(resource.lower().replace("-", "_"))
