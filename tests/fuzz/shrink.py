"""What is the least of a cluster that still goes wrong? Take things away as long as it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from dovetail.model.pod import PodSpec
from dovetail.model.snapshot import Snapshot
from dovetail.model.topology import NodePolicy

Goes = Callable[[Snapshot], bool]
_EMPTY_SPEC = PodSpec({"pods": 1})


def shrink(snapshot: Snapshot, goes_wrong: Goes) -> Snapshot:
    """A smaller cluster that still goes wrong, and from which nothing more can be taken."""
    shrunk = True
    while shrunk:
        shrunk = False
        for smaller in _smaller(snapshot):
            if goes_wrong(smaller):
                snapshot, shrunk = smaller, True
                break
    return snapshot


def _smaller(snapshot: Snapshot) -> Iterator[Snapshot]:
    for name in ("pods", "nodes", "daemon_sets", "node_pools"):
        items = getattr(snapshot, name)
        for index in range(len(items)):
            yield msgspec.structs.replace(snapshot, **{name: items[:index] + items[index + 1 :]})
    for pool, kinds in snapshot.instance_types.items():
        for index in range(len(kinds)):
            fewer = {**snapshot.instance_types, pool: kinds[:index] + kinds[index + 1 :]}
            yield msgspec.structs.replace(snapshot, instance_types=fewer)
    yield from _plainer_pods(snapshot)
    yield from _plainer_pools(snapshot)
    yield from _fewer_offerings(snapshot)


def _plainer_pods(snapshot: Snapshot) -> Iterator[Snapshot]:
    """Each distinct spec without one of its wishes."""
    specs = {id(pod.spec): pod.spec for pod in snapshot.pods}
    for number, spec in specs.items():
        for plainer in _plainer_specs(spec):
            pods = tuple(
                msgspec.structs.replace(pod, spec=plainer) if id(pod.spec) == number else pod
                for pod in snapshot.pods
            )
            yield msgspec.structs.replace(snapshot, pods=pods)


def _plainer_specs(spec: PodSpec) -> Iterator[PodSpec]:
    for resource in spec.requests:
        if resource != "pods":
            rest = {key: amount for key, amount in spec.requests.items() if key != resource}
            yield msgspec.structs.replace(spec, requests=rest)
    for name in PodSpec.__struct_fields__:
        held = getattr(spec, name)
        if name == "requests" or held == getattr(_EMPTY_SPEC, name):
            continue
        yield msgspec.structs.replace(spec, **{name: getattr(_EMPTY_SPEC, name)})
        for index in range(len(held) if isinstance(held, tuple) and len(held) > 1 else 0):
            yield msgspec.structs.replace(spec, **{name: held[:index] + held[index + 1 :]})
    yield from _plainer_spreads(spec)


def _plainer_spreads(spec: PodSpec) -> Iterator[PodSpec]:
    usual = {
        "min_domains": 1,
        "node_affinity_policy": NodePolicy.HONOR,
        "node_taints_policy": NodePolicy.IGNORE,
        "match_label_keys": (),
    }
    for index, one in enumerate(spec.spread):
        for name, value in usual.items():
            if getattr(one, name) != value:
                plainer = msgspec.structs.replace(one, **{name: value})
                spreads = (*spec.spread[:index], plainer, *spec.spread[index + 1 :])
                yield msgspec.structs.replace(spec, spread=spreads)


def _plainer_pools(snapshot: Snapshot) -> Iterator[Snapshot]:
    for index, pool in enumerate(snapshot.node_pools):
        for name in ("requirements", "taints", "startup_taints", "limits", "labels", "weight"):
            held = getattr(pool, name)
            if not held:
                continue
            pools = list(snapshot.node_pools)
            pools[index] = msgspec.structs.replace(pool, **{name: type(held)()})
            yield msgspec.structs.replace(snapshot, node_pools=tuple(pools))


def _fewer_offerings(snapshot: Snapshot) -> Iterator[Snapshot]:
    for pool, kinds in snapshot.instance_types.items():
        for number, kind in enumerate(kinds):
            for index in range(len(kind.offerings)):
                rest = kind.offerings[:index] + kind.offerings[index + 1 :]
                fewer = list(kinds)
                fewer[number] = msgspec.structs.replace(kind, offerings=rest)
                types = {**snapshot.instance_types, pool: tuple(fewer)}
                yield msgspec.structs.replace(snapshot, instance_types=types)
