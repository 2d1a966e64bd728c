"""Converts a Provisioner (`karpenter.sh/v1alpha5`, `v1alpha4`) to a NodePool of v1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from dovetail import labels
from dovetail.api.karpenter import NodePool
from dovetail.api.older.door import ConversionOptions, OlderNodeClasses
from dovetail.api.older.draft import Draft, Fields, as_fields, items
from dovetail.api.older.fields import report_unknown
from dovetail.api.older.renames import Renames
from dovetail.api.older.shapes import BetaPool, Provisioner

API_VERSION: Final = "karpenter.sh/v1"
_TEMPLATE: Final = "spec.template.spec"
_NO_CONTAINER_RUNTIME: Final = "v1 has containerd on every node and no such field; left out"
# The lists that came before `requirements`, and the labels that they constrained.
_LISTS: Final = {
    "architectures": labels.ARCH,
    "operatingSystems": labels.OS,
    "instanceTypes": labels.INSTANCE_TYPE,
    "zones": labels.ZONE,
}
_DEFAULTS: Final = (
    (labels.OS, "linux"),
    (labels.ARCH, "amd64"),
    (labels.CAPACITY_TYPE, labels.ON_DEMAND),
)
_OTHERS: Final[Mapping[str, type[msgspec.Struct]]] = {
    "NodePool (karpenter.sh/v1beta1)": BetaPool,
    "NodePool (karpenter.sh/v1)": NodePool,
}


def to_node_pool(
    source: Fields, options: ConversionOptions, classes: OlderNodeClasses | None, renames: Renames
) -> Draft:
    """The NodePool of a Provisioner. `classes` is the provider of its node template, if known."""
    draft = Draft(source)
    draft.put("apiVersion", API_VERSION, "apiVersion")
    draft.put("kind", "NodePool", "kind")
    draft.copy("metadata")
    renames.metadata(draft, is_new=True)
    draft.copy("spec.labels", "spec.template.metadata.labels")
    draft.copy("spec.annotations", "spec.template.metadata.annotations")
    for field in ("labels", "annotations"):
        renames.entries(draft, ("spec", "template", "metadata", field))
    _reference(draft, classes)
    _requirements(draft, renames, classes if options.writes_defaults else None)
    draft.copy("spec.taints", f"{_TEMPLATE}.taints")
    draft.copy("spec.startupTaints", f"{_TEMPLATE}.startupTaints")
    _expiry(draft)
    _consolidation(draft)
    draft.copy("spec.limits.resources", "spec.limits")
    draft.leave_out("spec.limits.unready", "v1 does not limit nodes that are not ready; left out")
    draft.copy("spec.weight")
    take_kubelet(draft, "spec.kubeletConfiguration")
    draft.leave_out("status", "the controller computes it anew; left out")
    report_unknown(draft, Provisioner, others=_OTHERS)
    return draft


def take_kubelet(draft: Draft, where: str) -> None:
    """Set the kubelet's configuration aside for the node class."""
    draft.kubelet_field = where
    draft.kubelet = {key: value for key, value in draft.fields(where).items() if value is not None}
    if draft.kubelet.pop("containerRuntime", None) is not None:
        draft.tell(f"{where}.containerRuntime", _NO_CONTAINER_RUNTIME)
    for key in ("systemReserved", "kubeReserved"):
        given = draft.kubelet.get(key)
        if isinstance(given, dict):  # v1 takes texts only
            draft.kubelet[key] = {name: str(amount) for name, amount in given.items()}


def _reference(draft: Draft, classes: OlderNodeClasses | None) -> None:
    field = f"{_TEMPLATE}.nodeClassRef"
    given = draft.fields("spec.providerRef")
    group, kind = (classes.group, classes.kind) if classes is not None else ("", "")
    if not given and draft.source_value("spec.provider") is not None:
        name, origin = draft.name, "spec.provider"
    elif given.get("name"):
        name, origin = str(given["name"]), "spec.providerRef"
        draft.leave_out("spec.provider", "providerRef is there as well, and counts; left out")
    else:
        name, origin = "default", "spec.providerRef"
        draft.tell(
            origin, "names no node template, and there is no provider; nodeClassRef names default"
        )
    if classes is None:
        group = str(given.get("apiVersion", "")).partition("/")[0]
        kind = str(given.get("kind", ""))
        message = "no provider that is installed converts this kind: check group and kind of "
        draft.tell(origin, f"{message}{field}")
    draft.put(field, {"group": group, "kind": kind, "name": name}, origin)
    draft.moves[(*field.split("."), "name")] = ("spec", "providerRef", "name")


def _requirements(draft: Draft, renames: Renames, defaults: OlderNodeClasses | None) -> None:
    field = f"{_TEMPLATE}.requirements"
    path = tuple(field.split("."))
    draft.put(field, draft.source_value("spec.requirements") or [], "spec.requirements")
    renames.requirements(draft, path)
    written = items(draft.at(field))
    n_given = len(written)
    for old, key in _LISTS.items():
        values = draft.source_value(f"spec.{old}")
        if values:
            draft.moves[(*path, len(written))] = ("spec", old)
            written.append({"key": key, "operator": "In", "values": values})
    constrained = {str(entry["key"]) for entry in written}
    constrained |= as_fields(draft.at("spec.template.metadata.labels")).keys()
    added: list[Fields] = [
        {"key": key, "operator": "In", "values": [value]}
        for key, value in _DEFAULTS
        if key not in constrained
    ]
    if defaults is not None:
        own = defaults.default_requirements(frozenset(constrained))
        _tell_defaults(draft, [*added, *own])
        written += [*added, *own]
    if len(written) > n_given or not n_given:
        _replace(draft, path, written)


def _replace(draft: Draft, path: tuple[str, ...], written: list[Fields]) -> None:
    """Set the list, with its items still where they came from."""
    moves = {at: origin for at, origin in draft.moves.items() if at[: len(path)] == path}
    draft.put(path, list(written), "spec.requirements")
    draft.moves |= moves


def _tell_defaults(draft: Draft, added: list[Fields]) -> None:
    if not added:
        return
    stated = "; ".join(
        f"{entry['key']} {entry['operator']} {_values(entry['values'])}" for entry in added
    )
    draft.tell(
        "spec.requirements",
        f"defaults of v1alpha5 are written out, since v1 has none: {stated}; "
        "remove those that are not wanted",
    )


def _values(given: object) -> str:
    return ", ".join(str(value) for value in given) if isinstance(given, list) else str(given)


def _expiry(draft: Draft) -> None:
    field = f"{_TEMPLATE}.expireAfter"
    seconds = draft.source_value("spec.ttlSecondsUntilExpired")
    if seconds is None:
        draft.put(field, "Never")
        draft.tell(
            "spec.ttlSecondsUntilExpired",
            "absent, nodes did not expire: expireAfter Never is written, since v1 has 720h",
        )
        return
    draft.put(field, f"{seconds}s", "spec.ttlSecondsUntilExpired")
    draft.tell("spec.ttlSecondsUntilExpired", FORCEFUL)


FORCEFUL: Final = (
    "in v1 an expired node is drained at once: no budget limits that, and no replacement is "
    "launched before; set terminationGracePeriod or Never if that is not wanted"
)


def _consolidation(draft: Draft) -> None:
    empty = draft.source_value("spec.ttlSecondsAfterEmpty")
    consolidates = draft.source_value("spec.consolidation.enabled") is True
    policy, after = "spec.disruption.consolidationPolicy", "spec.disruption.consolidateAfter"
    if consolidates:
        draft.put(policy, "WhenEmptyOrUnderutilized", "spec.consolidation.enabled")
        draft.put(after, "0s" if empty is None else f"{empty}s", "spec.ttlSecondsAfterEmpty")
        draft.moves[("spec", "disruption")] = ("spec", "consolidation")
    elif empty is not None:
        draft.put(policy, "WhenEmpty")
        draft.put(after, f"{empty}s", "spec.ttlSecondsAfterEmpty")
    else:
        draft.put(policy, "WhenEmptyOrUnderutilized")
        draft.put(after, "Never")
        draft.tell(
            "spec.consolidation",
            "neither it nor ttlSecondsAfterEmpty is set: consolidateAfter Never is written, since "
            "v1 consolidates unless told not to",
        )
    if consolidates and empty is not None:
        draft.tell(
            "spec.ttlSecondsAfterEmpty",
            "stands beside consolidation.enabled, which excludes it: both are converted, nodes are "
            f"consolidated {empty}s after the last pod came or went",
        )
