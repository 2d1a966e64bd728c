"""What would kube-scheduler see? Nodes there are or will be, and the pods bound to them so far.

Nothing here is clever: a host is a name, labels, taints and what it can hold; binding a pod appends
it to a list. The checker replays a plan against such a world, one pod at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dovetail.model.pod import DaemonSet, Pod
from dovetail.model.snapshot import Snapshot
from dovetail.model.taints import Taint


@dataclass(frozen=True)
class Host:
    """A node as kube-scheduler would see it once it is up."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    allocatable: Mapping[str, int] = field(default_factory=dict)
    attach_limits: Mapping[str, int] = field(default_factory=dict)
    daemons: tuple[DaemonSet, ...] = ()  # those whose pod is still to come
    is_unschedulable: bool = False
    is_new: bool = False


@dataclass
class World:
    """Hosts and what is bound to each; the snapshot is kept for storage and namespaces."""

    snapshot: Snapshot
    hosts: dict[str, Host] = field(default_factory=dict)
    bound: dict[str, list[Pod]] = field(default_factory=dict)

    def add(self, host: Host) -> None:
        """Let a node appear."""
        self.hosts[host.name] = host
        self.bound.setdefault(host.name, [])

    def drop(self, host: Host) -> None:
        """Let a node vanish."""
        del self.hosts[host.name]
        del self.bound[host.name]

    def bind(self, pod: Pod, host_name: str) -> None:
        """Put the pod on the node, no questions asked."""
        self.bound[host_name].append(pod)

    def unbind(self, pod: Pod, host_name: str) -> None:
        """Take the pod off the node."""
        self.bound[host_name].remove(pod)

    def pods_and_hosts(self) -> Iterable[tuple[Pod, Host]]:
        """Every bound pod that stays, with its node.

        kube-scheduler lets pods that are terminating keep others away or attract them; a plan
        does not, since they are gone before its nodes are there.
        """
        for name, pods in self.bound.items():
            host = self.hosts[name]
            for pod in pods:
                if pod.deleting_at is None:
                    yield pod, host

    def coming(self, host: Host) -> Iterable[Pod]:
        """Pods of daemon sets that will be on the node before any pod that waits for it."""
        for one in host.daemons:
            yield Pod(one.name, one.namespace, one.spec, labels=one.labels, node_name=host.name)

    def copy(self) -> World:
        """A world that can be changed without changing this one."""
        return World(
            self.snapshot, dict(self.hosts), {name: list(pods) for name, pods in self.bound.items()}
        )
