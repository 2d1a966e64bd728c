"""Makes the documents of a request: a NodePool and, if it is new, its node class."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail import labels
from dovetail.generator import quiet_hours
from dovetail.generator.fitting import settings
from dovetail.generator.request import NodePoolRequest, RequestedTaint
from dovetail.generator.selection import (
    ProviderCatalogue,
    architectures,
    bounds,
    capacity_types,
    gpu_resources,
    launchable,
    usual,
)
from dovetail.model.requirements import Operator
from dovetail.units.commented import Commented, CommentedTree

Member = CommentedTree | Commented
Tree = dict[str, Member]
API_VERSION = "karpenter.sh/v1"
_SPOT_COMMENTS = {
    "never": "On-demand only: instances are not interrupted.",
    "allowed": "Spot where it is available and cheaper, else on-demand.\n"
    "Pods must tolerate an interruption with two minutes' notice.",
    "only": "Spot only: while spot is unavailable, pods stay pending.",
}


def node_pool(request: NodePoolRequest, catalogue: ProviderCatalogue) -> Tree:
    """The NodePool, with comments."""
    spec: Tree = {}
    if request.weight is not None:
        spec["weight"] = Commented(
            request.weight, "Pools of higher weight are used first; the default is 0."
        )
    spec["limits"] = Commented(
        _limits(request, catalogue),
        "All nodes of the pool together. No node is launched beyond that.",
    )
    spec["disruption"] = _disruption(request)
    spec["template"] = _template(request, catalogue)
    return {
        "apiVersion": API_VERSION,
        "kind": "NodePool",
        "metadata": {"name": request.name},
        "spec": spec,
    }


def node_class(request: NodePoolRequest, catalogue: ProviderCatalogue) -> Tree | None:
    """The node class, with comments; None if the request names one that exists."""
    if not is_new_class(request):
        return None
    kind = catalogue.form.node_class
    document: Tree = {
        "apiVersion": f"{kind.group}/{kind.version}",
        "kind": kind.name,
        "metadata": {"name": class_name(request)},
    }
    spec = catalogue.form.node_class_spec(settings(request))
    return document | ({"spec": spec} if spec else {})


def is_new_class(request: NodePoolRequest) -> bool:
    """Whether the node class is written as well."""
    return not request.node_class.name or bool(settings(request))


def class_name(request: NodePoolRequest) -> str:
    """The name of the node class: as requested, else that of the pool."""
    return request.node_class.name or request.name


def _limits(request: NodePoolRequest, catalogue: ProviderCatalogue) -> Tree:
    limits: Tree = {}
    if request.cpu is not None:
        limits["cpu"] = str(request.cpu)
    if request.memory is not None:
        limits["memory"] = str(request.memory)
    if request.gpus:
        limits[gpu_name(request, catalogue)] = str(request.gpus)
    return limits


def gpu_name(request: NodePoolRequest, catalogue: ProviderCatalogue) -> str:
    """The name of the GPUs as a resource."""
    return next(iter(gpu_resources(launchable(request, catalogue))), "nvidia.com/gpu")


def _disruption(request: NodePoolRequest) -> Member:
    budgets: list[Member] = [
        Commented({"nodes": "10%"}, "At most a tenth of the nodes is disrupted at once.")
    ]
    for text in request.quiet_hours:
        hours = quiet_hours.parse(text)
        budgets.append(
            Commented(
                {
                    "nodes": "0",
                    "reasons": ["Underutilized", "Drifted"],
                    "schedule": hours.schedule,
                    "duration": hours.duration,
                },
                f"Quiet hours, {text} UTC: no consolidation, no replacement after drift.\n"
                "Empty nodes are still removed, and expired ones replaced.",
            )
        )
    return {
        "consolidationPolicy": "WhenEmptyOrUnderutilized",
        "consolidateAfter": Commented(
            "5m", "A node is consolidated once no pod was added or removed for this long."
        ),
        "budgets": budgets,
    }


def _template(request: NodePoolRequest, catalogue: ProviderCatalogue) -> Tree:
    kind = catalogue.form.node_class
    reference: Tree = {"group": kind.group, "kind": kind.name, "name": class_name(request)}
    spec: Tree = {
        "nodeClassRef": reference
        if is_new_class(request)
        else Commented(reference, f"This {kind.name} must exist in the cluster.")
    }
    if request.taints:
        spec["taints"] = Commented(
            [_taint(taint) for taint in request.taints],
            "Only pods that tolerate these taints are placed on the pool.",
        )
    spec["requirements"] = _requirements(request, catalogue)
    template: Tree = {}
    if request.labels:
        ordered: Tree = {key: request.labels[key] for key in sorted(request.labels)}
        template["metadata"] = {"labels": ordered}
    return template | {"spec": spec}


def _taint(taint: RequestedTaint) -> Tree:
    value: Tree = {"value": taint.value} if taint.value else {}
    return {"key": taint.key, **value, "effect": taint.effect}


def _requirements(request: NodePoolRequest, catalogue: ProviderCatalogue) -> list[Member]:
    form = catalogue.form
    listed: list[Member] = [
        _requirement(
            labels.CAPACITY_TYPE,
            Operator.IN,
            capacity_types(request),
            comment=_SPOT_COMMENTS[request.spot],
        ),
        _requirement(
            labels.ARCH,
            Operator.IN,
            architectures(request, catalogue),
            comment=_architecture_comment(request, catalogue),
        ),
        _requirement(labels.OS, Operator.IN, ("linux",)),
    ]
    if request.families:
        listed.append(_requirement(form.family_label, Operator.IN, request.families))
    listed += (
        _requirement(item.key, item.operator, item.values, comment=item.comment)
        for item in usual(request, form)
    )
    listed += (_requirement(key, how, (value,)) for key, how, value in bounds(request, form))
    if request.zones:
        listed.append(_requirement(labels.ZONE, Operator.IN, request.zones))
    return listed


def _architecture_comment(request: NodePoolRequest, catalogue: ProviderCatalogue) -> str:
    chosen = architectures(request, catalogue)
    return "Images must be built for each of these." if len(chosen) > 1 else ""


def _requirement(
    key: str, operator: str, values: Sequence[str], *, comment: str = ""
) -> Tree | Commented:
    listed: list[Member] = [*values]
    tree: Tree = {"key": key, "operator": str(operator), "values": listed}
    return Commented(tree, comment) if comment else tree
