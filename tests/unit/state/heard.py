"""What an API tells, in a few words: objects as the live memory hears of them."""

from __future__ import annotations

from dovetail import api
from dovetail.state.changes import Observed, Vanished

TYPE = "node.kubernetes.io/instance-type"
WAITS: api.Tree = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
NODE_CLASS: api.Tree = {"group": "g", "kind": "K", "name": "n"}


def observed(kind: str, name: str, **fields: api.Tree) -> Observed:
    """An object; `meta` adds to its metadata."""
    found = next(one for one in api.KINDS.values() if one.name == kind)
    more = fields.pop("meta", {})
    assert isinstance(more, dict)
    meta: api.Tree = {"name": name, "uid": f"uid-{name}", **more}
    return Observed(api.read(found, {"metadata": meta, **fields}))


def vanished(kind: str, name: str) -> Vanished:
    """The same object, gone."""
    found = next(one for one in api.KINDS.values() if one.name == kind)
    return Vanished(found, name, "default" if found.is_namespaced else "")


def pod(name: str, node: str = "", promised: str = "", **meta: api.Tree) -> Observed:
    """A pod that waits, or one that has its node."""
    status: api.Tree = {"conditions": WAITS, "nominatedNodeName": promised}
    return observed("Pod", name, spec={"nodeName": node}, status=status, meta=meta)


def node(name: str, *, claim: str = "", is_initialized: bool = True) -> Observed:
    """A node, ours if it has a claim."""
    labels: dict[str, api.Tree] = {"karpenter.sh/nodepool": "p"} if claim else {}
    if claim and is_initialized:
        labels["karpenter.sh/initialized"] = "true"
    room: api.Tree = {"cpu": "4", "pods": "10"}
    return observed(
        "Node",
        name,
        meta={"labels": labels},
        spec={"providerID": claim and f"id-{claim}"},
        status={"capacity": room, "allocatable": room},
    )


def claim(name: str, *, is_launched: bool = True, is_leaving: bool = False) -> Observed:
    """A claim of pool p."""
    meta: dict[str, api.Tree] = {"labels": {"karpenter.sh/nodepool": "p"}}
    if is_leaving:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    asked: api.Tree = [{"key": TYPE, "operator": "In", "values": ["s", "l"]}]
    return observed(
        "NodeClaim",
        name,
        meta=meta,
        spec={"nodeClassRef": NODE_CLASS, "requirements": asked},
        status={"providerID": f"id-{name}"} if is_launched else {},
    )
