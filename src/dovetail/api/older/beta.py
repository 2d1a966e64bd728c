"""Converts NodePools and NodeClaims of `karpenter.sh/v1beta1` to v1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from dovetail import labels
from dovetail.api.decoding import DecodeError, Tree, decode
from dovetail.api.karpenter import NodeClaim, NodePool
from dovetail.api.older.door import OlderNodeClasses
from dovetail.api.older.draft import Draft, Fields, as_fields, items
from dovetail.api.older.fields import report_unknown
from dovetail.api.older.provisioners import API_VERSION, FORCEFUL, take_kubelet
from dovetail.api.older.renames import Renames
from dovetail.api.older.shapes import BetaClaim, BetaPool, Provisioner

_TEMPLATE: Final = "spec.template.spec"
_DISRUPTION: Final = "spec.disruption"
_KUBELET_ANNOTATION: Final = "compatibility.karpenter.sh/v1beta1-kubelet-conversion"
_RESOURCES: Final = "was internal and had to be empty; left out"
_OTHERS: Final = {"Provisioner (karpenter.sh/v1alpha5)": Provisioner}
_CONDITIONS: Final = {
    "MachineLaunched": "Launched",
    "MachineRegistered": "Registered",
    "MachineInitialized": "Initialized",
    "MachineDrifted": "Drifted",
    "MachineEmpty": "Consolidatable",
    "Empty": "Consolidatable",
}


def to_node_pool(source: Fields, providers: Sequence[OlderNodeClasses], renames: Renames) -> Draft:
    """The NodePool of v1."""
    draft = Draft(source, source)
    report_unknown(draft, BetaPool, current=NodePool, others=_OTHERS)
    draft.put("apiVersion", API_VERSION, "apiVersion")
    take_annotated_kubelet(draft)
    renames.metadata(draft, is_new=False)
    for field in ("labels", "annotations"):
        renames.entries(draft, ("spec", "template", "metadata", field))
    reference(draft, f"{_TEMPLATE}.nodeClassRef", providers)
    if not draft.has(f"{_TEMPLATE}.requirements"):
        draft.put(f"{_TEMPLATE}.requirements", [])
    renames.requirements(draft, tuple(f"{_TEMPLATE}.requirements".split(".")))
    if draft.has(f"{_TEMPLATE}.kubelet"):
        take_kubelet(draft, f"{_TEMPLATE}.kubelet")
    draft.remove(f"{_TEMPLATE}.kubelet")
    draft.leave_out(f"{_TEMPLATE}.resources", _RESOURCES)
    draft.remove(f"{_TEMPLATE}.resources")
    _expiry(draft)
    _consolidation(draft)
    return draft


def to_node_claim(source: Fields, providers: Sequence[OlderNodeClasses], renames: Renames) -> Draft:
    """The NodeClaim of v1."""
    draft = Draft(source, source)
    report_unknown(draft, BetaClaim, current=NodeClaim, others={})
    draft.put("apiVersion", API_VERSION, "apiVersion")
    renames.metadata(draft, is_new=False)
    reference(draft, "spec.nodeClassRef", providers)
    if not draft.has("spec.requirements"):
        draft.put("spec.requirements", [])
    renames.requirements(draft, ("spec", "requirements"))
    draft.leave_out("spec.kubelet", "v1 has it in the node class; the node keeps it; left out")
    draft.remove("spec.kubelet")
    for condition in items(draft.at("status.conditions")):
        name = str(condition.get("type"))
        condition["type"] = _CONDITIONS.get(name, name)
    return draft


def inherit_expiry(claim: Draft, pools: Sequence[Draft]) -> None:
    """Give a NodeClaim the `expireAfter` of its pool, which v1beta1 looked up in the pool."""
    if claim.has("spec.expireAfter"):
        return
    owner = claim.at(("metadata", "labels", labels.NODE_POOL))
    for pool in pools:
        after = pool.at(f"{_TEMPLATE}.expireAfter")
        if pool.name == owner and isinstance(after, str):
            claim.put("spec.expireAfter", after)
            return
    if owner not in {pool.name for pool in pools}:
        claim.tell(
            "spec.expireAfter",
            "its NodePool is not among the manifests: v1 assumes 720h; write the expireAfter of "
            "the pool if it has another",
        )


def reference(draft: Draft, field: str, providers: Sequence[OlderNodeClasses]) -> None:
    """Turn the apiVersion of a reference into a group, with the defaults of v1beta1."""
    given = draft.fields(field)
    path = tuple(field.split("."))
    own = providers[0] if providers else None
    group = given.get("group") or str(given.get("apiVersion", "")).partition("/")[0]
    by_group = {provider.group: provider for provider in providers}
    if not group and own is not None:
        group = own.group
    owner = by_group.get(str(group))
    kind = given.get("kind") or (owner.kind if owner is not None else "")
    draft.put(field, {"group": group, "kind": kind, "name": given.get("name", "")}, path)
    draft.moves[(*path, "group")] = (*path, "group" if given.get("group") else "apiVersion")
    if not given.get("name"):
        draft.refuse(path, "names no node class; expected apiVersion, kind and name")


def _expiry(draft: Draft) -> None:
    old, new = f"{_DISRUPTION}.expireAfter", f"{_TEMPLATE}.expireAfter"
    given = draft.source_value(old)
    if given is None:
        return
    if draft.has(new):
        if draft.at(new) != given:
            draft.tell(old, f"{new} is there as well, and counts; left out")
        draft.remove(old)
    else:
        draft.move(old, new)
    if given != "Never":
        draft.tell(old, FORCEFUL)


def _consolidation(draft: Draft) -> None:
    policy, after = f"{_DISRUPTION}.consolidationPolicy", f"{_DISRUPTION}.consolidateAfter"
    if draft.source_value(policy) == "WhenUnderutilized":
        draft.put(policy, "WhenEmptyOrUnderutilized", policy)
    if draft.source_value(_DISRUPTION) is not None and not draft.has(after):
        draft.put(after, "0s")


def take_annotated_kubelet(draft: Draft) -> None:
    """Take the kubelet's configuration that the webhook of v1.0 kept in an annotation."""
    path = ("metadata", "annotations", _KUBELET_ANNOTATION)
    given = draft.source_value(path)
    if not isinstance(given, str):
        return
    try:
        decode(dict[str, object], given.encode())
    except DecodeError:
        draft.tell(path, "is no JSON object; it is left as it is")
        return
    kubelet: Tree = msgspec.json.decode(given)
    draft.kubelet, draft.kubelet_field = (
        as_fields(kubelet),
        f"metadata.annotations.{_KUBELET_ANNOTATION}",
    )
    draft.remove(path)
    if not draft.at("metadata.annotations"):
        draft.remove("metadata.annotations")
