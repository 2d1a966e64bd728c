"""Finds an object by kind and name as one types it, and suggests others if there is none."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import Final, assert_never

import msgspec

from dovetail.errors import InputError
from dovetail.model.node import Node
from dovetail.model.pod import Pod
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.present.table import listing

_SHOWN: Final = 3


class SubjectKind(StrEnum):
    """What can be asked about."""

    POD = "pod"
    NODE = "node"
    NODE_CLAIM = "nodeclaim"
    NODE_POOL = "nodepool"


_SPELLINGS: Final = {
    "pod": SubjectKind.POD,
    "pods": SubjectKind.POD,
    "po": SubjectKind.POD,
    "node": SubjectKind.NODE,
    "nodes": SubjectKind.NODE,
    "no": SubjectKind.NODE,
    "nodeclaim": SubjectKind.NODE_CLAIM,
    "nodeclaims": SubjectKind.NODE_CLAIM,
    "nodepool": SubjectKind.NODE_POOL,
    "nodepools": SubjectKind.NODE_POOL,
}


_TITLES: Final = {
    SubjectKind.POD: "Pod",
    SubjectKind.NODE: "Node",
    SubjectKind.NODE_CLAIM: "NodeClaim",
    SubjectKind.NODE_POOL: "NodePool",
}


class LookupSubject(msgspec.Struct, frozen=True):
    """Something that is asked about. The namespace of a pod may be left open."""

    kind: SubjectKind
    name: str
    namespace: str = ""


def subject(text: str, namespace: str = "") -> LookupSubject:
    """What `pod/NAME`, `pod/NAMESPACE/NAME`, `node/NAME` and the like mean."""
    word, _, rest = text.partition("/")
    kind = _SPELLINGS.get(word.lower())
    if kind is SubjectKind.POD and "/" in rest:
        namespace, _, rest = rest.partition("/")
    if kind is None or not rest or "/" in rest:
        msg = f"expected pod/NAME, node/NAME, nodeclaim/NAME or nodepool/NAME, not {text!r}"
        raise InputError(msg)
    return LookupSubject(kind, rest, namespace)


def find(asked: LookupSubject, snapshot: Snapshot) -> Pod | Node | NodePool:
    """The object that is meant. Raises InputError if there is none, or more than one."""
    match asked.kind:
        case SubjectKind.POD:
            return find_pod(asked, snapshot)
        case SubjectKind.NODE | SubjectKind.NODE_CLAIM:
            return find_node(asked, snapshot)
        case SubjectKind.NODE_POOL:
            return find_pool(asked, snapshot)
        case unknown:
            assert_never(unknown)


def find_pod(asked: LookupSubject, snapshot: Snapshot) -> Pod:
    """The pod that is meant. Raises InputError if there is none, or more than one."""
    pods = [
        pod
        for pod in snapshot.pods
        if pod.name == asked.name and asked.namespace in ("", pod.namespace)
    ]
    if len(pods) > 1:
        keys = " or ".join(f"pod/{pod.key}" for pod in pods)
        msg = f"there are {len(pods)} pods called {asked.name}: say {keys}"
        raise InputError(msg)
    if not pods:
        raise _unknown(asked, {pod.key: pod.name for pod in snapshot.pods})
    return pods[0]


def find_node(asked: LookupSubject, snapshot: Snapshot) -> Node:
    """The node that is meant, by its own name or its claim's. Raises InputError if none is."""
    is_claim = asked.kind is SubjectKind.NODE_CLAIM
    for node in snapshot.nodes:
        if asked.name == (node.node_claim if is_claim else node.name):
            return node
    other = next(
        (node for node in snapshot.nodes if asked.name in (node.name, node.node_claim)), None
    )
    if other is not None:
        kind = SubjectKind.NODE if is_claim else SubjectKind.NODE_CLAIM
        text = f"there is no {_TITLES[asked.kind]} {asked.name} in the input, but a {_TITLES[kind]}"
        msg = f"{text} of that name: say {kind}/{asked.name}"
        raise InputError(msg)
    names = [node.node_claim if is_claim else node.name for node in snapshot.nodes]
    raise _unknown(asked, {name: name for name in names if name})


def find_pool(asked: LookupSubject, snapshot: Snapshot) -> NodePool:
    """The pool that is meant. Raises InputError if there is none."""
    for pool in snapshot.node_pools:
        if pool.name == asked.name:
            return pool
    raise _unknown(asked, {pool.name: pool.name for pool in snapshot.node_pools})


def _unknown(asked: LookupSubject, names: Mapping[str, str]) -> InputError:
    """That there is no such object, and which have nearly the same name (keys, by bare names)."""
    kind, name = _TITLES[asked.kind], asked.name
    if asked.namespace:
        name, names = f"{asked.namespace}/{name}", {key: key for key in names}
    if not names:
        return InputError(f"there is no {kind} {name}: the input has no {kind}s")
    close = get_close_matches(name, sorted(set(names.values())), n=_SHOWN, cutoff=0.5)
    near = [key for item in close for key in sorted(names) if names[key] == item]
    near = near or [key for key in sorted(names) if name in key]
    if near:
        *others, last = near[:_SHOWN]
        some = f"{', '.join(others)} or {last}" if others else last
        return InputError(f"there is no {kind} {name} in the input; did you mean {some}?")
    return InputError(f"there is no {kind} {name} in the input; it has {listing(sorted(names))}")
