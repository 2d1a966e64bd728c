"""A cluster of 1,000 nodes and 15,000 pods in which something happens all the time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random

import msgspec

from dovetail import labels
from dovetail.model.instance import InstanceType
from dovetail.model.node import Condition, Node
from dovetail.model.plan import Launch, Nominate, Plan
from dovetail.model.pod import Owner, Pod
from dovetail.model.requirements import requirement
from dovetail.model.snapshot import Decision, Snapshot
from dovetail.model.verdict import Blocked, Blocker, PoolReason, Unschedulable
from dovetail.providers.aws.catalogue import offline as aws
from dovetail.testing import node_pool, pod

START = datetime(2026, 1, 1, tzinfo=UTC)
POOLS = ("general", "spot", "batch", "gpu", "system")
N_NODES, N_PODS, N_WORKLOADS = 1000, 15_000, 150
N_MOVED, N_STIRRED, N_LAUNCHED = 150, 100, 3


def uid(name: str) -> str:
    """As random as a real one, and the same each time."""
    found = hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
    return "-".join((found[:8], found[8:12], found[12:16], found[16:20], found[20:]))


class LargeCluster:
    """Pods come, go and are replaced; nodes are stirred by it."""

    def __init__(self) -> None:
        self._chance = Random(7)  # noqa: S311  repeatable
        self._types = aws.instance_types()
        self._now = START
        self._workloads = [self._template(number) for number in range(N_WORKLOADS)]
        self._nodes = {f"ip-10-{at // 256}-{at % 256}-7": at for at in range(N_NODES)}
        self.nodes = {name: self._node(name, at) for name, at in self._nodes.items()}
        self.pods = dict(self._pod(at) for at in range(N_PODS))
        self._n_made = N_PODS

    def _template(self, number: int) -> tuple[Pod, Owner, dict[str, str]]:
        name = f"service-{number}"
        mark = uid(name)[:10]
        owned = Owner("ReplicaSet", f"{name}-{mark}", uid(f"owner {name}"))
        marked = {"app": name, "team": f"team-{number % 12}", labels.POD_TEMPLATE_HASH: mark}
        return pod(name, cpu=f"{100 + 10 * number}m", memory="512Mi"), owned, marked

    def _node(self, name: str, at: int) -> Node:
        kind: InstanceType = self._types[at * 7 % len(self._types)]
        stated = kind.requirements.single_values()
        pool = POOLS[at % len(POOLS)]
        marks = {
            labels.NODE_POOL: pool,
            labels.HOSTNAME: name,
            labels.ZONE: f"us-east-1{'abc'[at % 3]}",
        }
        return Node(
            name=name,
            labels={**stated, **marks},
            annotations={"node.alpha.kubernetes.io/ttl": "0"},
            capacity=kind.capacity,
            allocatable=kind.allocatable,
            node_pool=pool,
            node_claim=f"{pool}-{uid(name)[:5]}",
            provider_id=f"aws:///us-east-1a/i-{uid(name)[:17]}",
            conditions=(Condition("Consolidatable", "True", changed_at=START),),
            created_at=START - timedelta(seconds=at),
        )

    def _pod(self, at: int) -> tuple[str, Pod]:
        like, owner, marked = self._workloads[at % N_WORKLOADS]
        name = f"{owner.name}-{uid(str(at))[-7:]}"
        made = msgspec.structs.replace(
            like,
            name=name,
            uid=uid(name),
            labels=marked,
            owner=owner,
            node_name=self._chance.choice(list(self._nodes)) if at >= N_PODS else self._home(at),
            phase="Running",
            created_at=self._now - timedelta(seconds=at % 5000),
            started_at=self._now - timedelta(seconds=at % 5000 - 3),
        )
        return name, made

    def _home(self, at: int) -> str:
        return f"ip-10-{at % N_NODES // 256}-{at % N_NODES % 256}-7"

    def decisions(self, n_decisions: int) -> Iterator[Decision]:
        """One decision after the other, ten seconds apart."""
        pools = tuple(node_pool(name) for name in POOLS)
        base = Snapshot(node_pools=pools, instance_types=dict.fromkeys(POOLS, self._types))
        for number in range(1, n_decisions + 1):
            snapshot = msgspec.structs.replace(
                base,
                pods=tuple(one for _, one in sorted(self.pods.items())),
                nodes=tuple(one for _, one in sorted(self.nodes.items())),
                revision=number,
            )
            yield Decision(number, self._now, 0.5, snapshot, self._plan(number))
            self._live()

    def _live(self) -> None:
        self._now += timedelta(seconds=10)
        for name in self._chance.sample(sorted(self.pods), N_MOVED):
            del self.pods[name]
            key, made = self._pod(self._n_made)
            self.pods[key] = made
            self._n_made += 1
        for name in self._chance.sample(sorted(self.nodes), N_STIRRED):
            stirred = msgspec.structs.replace(self.nodes[name], last_pod_event_at=self._now)
            self.nodes[name] = stirred

    def _plan(self, number: int) -> Plan:
        keys = sorted(self.pods)
        waiting = [f"default/{one}" for one in self._chance.sample(keys, N_MOVED)]
        return Plan(
            launches=tuple(self._launch(number, at) for at in range(N_LAUNCHED)),
            nominations=(Nominate("ip-10-0-0-7", tuple(waiting)),),
            unschedulable=tuple(_hopeless(one) for one in waiting[:20]),
            blocked=tuple(
                Blocked(name, Blocker.NOTHING_TO_GAIN, f"Its pods cost {at} cents elsewhere too.")
                for name, at in self._nodes.items()
            ),
            binding_order=tuple(waiting),
            n_pods=len(waiting),
            wake_at=self._now + timedelta(seconds=30),
        )

    def _launch(self, number: int, at: int) -> Launch:
        names = [one.name for one in self._types[: 60 + at]]
        return Launch(
            name=f"general-{number}-{at}",
            node_pool="general",
            instance_type=names[0],
            zone="us-east-1a",
            capacity_type="on-demand",
            price_nanousd=96_000_000 + at,
            instance_types=tuple(names),
            requests={"cpu": 3500 + number, "memory": 2**33},
            pods=tuple(f"default/{one}" for one in sorted(self.pods)[at : at + 10]),
            requirements=(requirement(labels.INSTANCE_TYPE, "In", names),),
        )


def _hopeless(name: str) -> Unschedulable:
    reasons = tuple(
        PoolReason(pool, "InsufficientResources", "It asks for cpu 900; the largest has 192.", 700)
        for pool in POOLS
    )
    return Unschedulable(name, "None of 5 NodePools can launch a node for it.", reasons)
