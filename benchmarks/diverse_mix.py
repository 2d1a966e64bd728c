"""What is the reference's own benchmark mix? A fifth each of five kinds of pod, at random.

In `reference_pod` pods that want company in their zone want that of their own kind, since others
may never come; in `diverse_pod` they want anybody's. Every pod draws its own label, selector and
size, and has its own spec object: equal pods are not told to be equal. That is what makes the mix
adversarial.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from benchmarks.catalogues import MIB
from benchmarks.workloads import NAMESPACE
from dovetail import labels
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.topology import PodTerm, Spread, equality

_VALUES: Final = "abcdefg"
_CPU_MILLIS: Final = (100, 250, 500, 1000, 1500)
_MEMORY_MIB: Final = (100, 256, 512, 1024, 2048, 4096)


def diverse_pod(ordinal: int, chance: random.Random) -> Pod:
    """One pod; its ordinal says which of the five kinds it is."""
    return _pod(ordinal, chance, _KINDS)


def reference_pod(ordinal: int, chance: random.Random) -> Pod:
    """The same, where zone affinity is to pods with the same label."""
    return _pod(ordinal, chance, _REFERENCE_KINDS)


def _pod(ordinal: int, chance: random.Random, kinds: _Kinds) -> Pod:
    make = kinds[ordinal % len(kinds)]
    requests = {
        "cpu": chance.choice(_CPU_MILLIS),
        "memory": chance.choice(_MEMORY_MIB) * MIB,
        "pods": 1,
    }
    labels_by_key, spec = make(requests, chance)
    name = f"diverse-{ordinal}"
    return Pod(name=name, namespace=NAMESPACE, spec=spec, uid=name, labels=labels_by_key)


_Drawn = tuple[dict[str, str], PodSpec]


def _plain(requests: dict[str, int], chance: random.Random) -> _Drawn:
    return {"my-label": chance.choice(_VALUES)}, PodSpec(requests=requests)


def _zone_spread(requests: dict[str, int], chance: random.Random) -> _Drawn:
    return _spread(labels.ZONE, requests, chance)


def _host_spread(requests: dict[str, int], chance: random.Random) -> _Drawn:
    return _spread(labels.HOSTNAME, requests, chance)


def _spread(topology_key: str, requests: dict[str, int], chance: random.Random) -> _Drawn:
    selector = equality({"my-label": chance.choice(_VALUES)})
    spec = PodSpec(requests=requests, spread=(Spread(topology_key, selector),))
    return {"my-label": chance.choice(_VALUES)}, spec


def _zone_affinity(requests: dict[str, int], chance: random.Random) -> _Drawn:
    selector = equality({"my-affinity": chance.choice(_VALUES)})
    spec = PodSpec(requests=requests, affinity=(PodTerm(labels.ZONE, selector),))
    return {"my-affinity": chance.choice(_VALUES)}, spec


def _own_zone_affinity(requests: dict[str, int], chance: random.Random) -> _Drawn:
    own = {"my-affinity": chance.choice(_VALUES)}
    return own, PodSpec(requests=requests, affinity=(PodTerm(labels.ZONE, equality(own)),))


def _host_anti_affinity(requests: dict[str, int], _: random.Random) -> _Drawn:
    """All of these exclude each other, so that a fifth of the pods needs a node each."""
    alike = {"app": "nginx"}
    term = PodTerm(labels.HOSTNAME, equality(alike))
    return alike, PodSpec(requests=requests, anti_affinity=(term,))


_Kinds = tuple[Callable[[dict[str, int], random.Random], _Drawn], ...]
_KINDS: Final[_Kinds] = (
    _plain,
    _zone_spread,
    _host_spread,
    _zone_affinity,
    _host_anti_affinity,
)
_REFERENCE_KINDS: Final[_Kinds] = (
    _plain,
    _zone_spread,
    _host_spread,
    _own_zone_affinity,
    _host_anti_affinity,
)
