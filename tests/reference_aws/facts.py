"""Reads from what a controller did what it did for one combination, in comparable form.

Names that are made at random are replaced by what they stand for; lists whose order means nothing
are sorted; what EC2 takes for granted is left out.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from typing import Any

from dovetail.units import duration
from tests.e2e.ec2_world import CLUSTER
from tests.reference_aws.combinations import Combination
from tests.reference_aws.documents import meaning, sorted_lists, stated
from tests.reference_aws.side_by_side import Observed, Tree

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
_POOL = "karpenter.sh/nodepool"
_PROFILE = "karpenter.k8s.aws/instance-profile-name"
_TYPE_LABELS = "karpenter.k8s.aws/instance-"
# They follow from the zone and the machine that were chosen.
_VARYING_LABELS = (INSTANCE_TYPE, "topology.", "kubernetes.io/hostname")
_OWN_NAMES = "(made at random)"


def facts(observed: Observed, combination: Combination) -> dict[str, Any]:
    """Everything that both must do alike, by what it is about."""
    pairs = dict(_class_facts(_class(observed, combination)))
    if not combination.launches:
        return pairs
    claim = claim_of(observed, combination)
    pairs |= _claim_facts(claim)
    pairs |= _fleet_facts(fleet_of(observed, combination))
    if combination.joins:
        pairs |= _node_facts(observed, claim)
        pairs["tags of the instance"] = _instance_tags(observed, claim)
    return pairs


def _named(objects: list[Tree], name: str) -> Tree:
    (match,) = [each for each in objects if each["metadata"]["name"] == name]
    return match


def _class(observed: Observed, combination: Combination) -> Tree:
    return _named(observed.node_classes, combination.name)


def _class_facts(node_class: Tree) -> Iterator[tuple[str, Any]]:
    metadata, status = node_class["metadata"], node_class.get("status", {})
    yield "annotations of the class", metadata.get("annotations", {})
    yield "finalizers of the class", metadata.get("finalizers", [])
    # Subnets are in the order of their free addresses, which change.
    yield "subnets of the class", sorted_lists(status.get("subnets", []))
    for field in ("securityGroups", "capacityReservations"):
        yield f"{field} of the class", status.get(field, [])
    yield "amis of the class", _images(status.get("amis", []))
    yield "profile of the class", _profile(status.get("instanceProfile", ""))
    for kind, value in _conditions(node_class).items():
        yield f"condition {kind} of the class", value


def _images(images: list[Tree]) -> list[Tree]:
    """In their order; an image that is there twice has no order of its own."""
    ids = [each["id"] for each in images]
    return sorted(map(sorted_lists, images), key=lambda each: (ids.index(each["id"]), str(each)))


def _profile(name: str) -> str:
    """A managed profile has a random name."""
    return f"{CLUSTER}_{_OWN_NAMES}" if name.startswith(f"{CLUSTER}_") else name


def _conditions(tree: Tree) -> dict[str, tuple[str, str]]:
    conditions = tree.get("status", {}).get("conditions", [])
    return {each["type"]: (each["status"], each["reason"]) for each in conditions}


# ------------------------------------------------------------ claims and nodes


def claim_of(observed: Observed, combination: Combination) -> Tree:
    """The NodeClaim of the combination."""
    labelled = [each for each in observed.claims if _pool(each) == combination.name]
    assert len(labelled) == 1, f"{combination.name}: {len(labelled)} claims"
    return labelled[0]


def _pool(claim: Tree) -> str:
    return str(claim["metadata"]["labels"][_POOL])


def _claim_facts(claim: Tree) -> dict[str, Any]:
    metadata, spec = claim["metadata"], claim["spec"]
    annotations = dict(metadata["annotations"])
    if _PROFILE in annotations:
        annotations[_PROFILE] = _profile(annotations[_PROFILE])
    requirements = {
        f"requirement {each['key']} of the claim": sorted_lists(each)
        for each in spec["requirements"]
        if each["key"] != INSTANCE_TYPE
    }
    pairs = {
        "finalizers of the claim": metadata["finalizers"],
        "owners of the claim": [(each["kind"], each["name"]) for each in _owners(metadata)],
        "requests of the claim": spec["resources"]["requests"],
        "taints of the claim": spec.get("taints", []),
        "startup taints of the claim": spec.get("startupTaints", []),
        "class of the claim": spec["nodeClassRef"],
        "expiry of the claim": duration.parse(spec["expireAfter"]),
    }
    pairs |= requirements
    pairs |= {f"annotation {key} of the claim": value for key, value in annotations.items()}
    pairs |= {f"label {key} of the claim": value for key, value in _labels(metadata).items()}
    pairs |= {f"condition {key} of the claim": value for key, value in _conditions(claim).items()}
    return pairs


def _owners(metadata: Tree) -> list[Tree]:
    return list(metadata.get("ownerReferences", []))


def _labels(metadata: Tree) -> dict[str, str]:
    """Labels without those of the chosen type, and without values that follow from the choice."""
    return {
        key: "" if key.startswith(_VARYING_LABELS) else value
        for key, value in metadata["labels"].items()
        if not key.startswith(_TYPE_LABELS)
    }


def type_labels(claim: Tree) -> dict[str, str]:
    """The labels of a claim that follow from its instance type.

    The bandwidth of the network is left out; `meant.KNOWN` says why.
    """
    labels: dict[str, str] = claim["metadata"]["labels"]
    return {
        key: value
        for key, value in labels.items()
        if key.startswith(_TYPE_LABELS) and not key.endswith("-network-bandwidth")
    }


def _node_facts(observed: Observed, claim: Tree) -> dict[str, Any]:
    node = _named(observed.nodes, claim["status"]["nodeName"])
    metadata = node["metadata"]
    annotations = dict(metadata["annotations"])
    if _PROFILE in annotations:
        annotations[_PROFILE] = _profile(annotations[_PROFILE])
    pairs = {f"annotation {key} of the node": value for key, value in annotations.items()}
    pairs |= {f"label {key} of the node": value for key, value in _labels(metadata).items()}
    return pairs | {
        "finalizers of the node": metadata["finalizers"],
        "owners of the node": [
            {key: value for key, value in each.items() if key not in ("name", "uid")}
            for each in _owners(metadata)
        ],
        "taints of the node": sorted(
            (each["key"], each.get("value", ""), each["effect"])
            for each in node["spec"].get("taints", [])
        ),
    }


def _instance_tags(observed: Observed, claim: Tree) -> dict[str, str]:
    (instance,) = [
        each
        for each in observed.instances
        if claim["status"]["providerID"].endswith(each["InstanceId"])
    ]
    stands_for = {
        claim["metadata"]["name"]: "(name of the claim)",
        claim["status"]["nodeName"]: "(name of the node)",
    }
    return {each["Key"]: stands_for.get(each["Value"], each["Value"]) for each in instance["Tags"]}


# ------------------------------------------------------------ what was asked of EC2


def fleet_of(observed: Observed, combination: Combination) -> Tree:
    """The parameters of the fleet request that was made for the combination."""
    requests = [
        call["parameters"]
        for call in observed.calls
        if call["action"] == "CreateFleet"
        and _tags(call["parameters"], "instance").get(_POOL) == combination.name
    ]
    assert requests, f"{combination.name}: no fleet"
    last: Tree = requests[-1]
    return last


def _tags(parameters: Tree, kind: str) -> dict[str, str]:
    return {
        tag["Key"]: tag["Value"]
        for each in parameters.get("TagSpecifications", [])
        if each["ResourceType"] == kind
        for tag in each["Tags"]
    }


def _fleet_facts(fleet: Tree) -> dict[str, Any]:
    apart = ("ClientToken", "LaunchTemplateConfigs", "TagSpecifications")
    pairs = {
        f"{key} of the fleet": sorted_lists(stated(value))
        for key, value in fleet.items()
        if key not in apart
    }
    for each in fleet["TagSpecifications"]:
        pairs[f"tags of the fleet's {each['ResourceType']}"] = _tags(fleet, each["ResourceType"])
    configs = fleet["LaunchTemplateConfigs"]
    keys = {key for config in configs for each in config["Overrides"] for key in each}
    versions = {config["LaunchTemplateSpecification"]["Version"] for config in configs}
    return pairs | {"members of overrides": sorted(keys), "versions of templates": sorted(versions)}


def overrides(fleet: Tree) -> dict[tuple[str, str], Tree]:
    """What the fleet may launch, by type and zone.

    Spot requests are not decided by priority; it is an earlier price where the newest is not known.
    """
    is_spot = fleet["TargetCapacitySpecification"]["DefaultTargetCapacityType"] == "spot"
    return {
        (each["InstanceType"], each["AvailabilityZone"]): {
            key: value for key, value in each.items() if not (is_spot and key == "Priority")
        }
        for config in fleet["LaunchTemplateConfigs"]
        for each in config["Overrides"]
    }


def templates(observed: Observed, combination: Combination) -> dict[str, Tree]:
    """The launch template that the fleet names for each instance type, in comparable form."""
    created = {
        call["parameters"]["LaunchTemplateName"]: call["parameters"]
        for call in observed.calls
        if call["action"] == "CreateLaunchTemplate"
    }
    by_type: dict[str, Tree] = {}
    for config in fleet_of(observed, combination)["LaunchTemplateConfigs"]:
        name = config["LaunchTemplateSpecification"]["LaunchTemplateName"]
        template = _template(created[name], combination.family)
        by_type |= {each["InstanceType"]: template for each in config["Overrides"]}
    return by_type


def _template(parameters: Tree, family: str) -> Tree:
    data = dict(parameters["LaunchTemplateData"])
    user_data = b64decode(data.pop("UserData")).decode()
    profile = data["IamInstanceProfile"]["Name"]
    return {
        **sorted_lists(stated(data)),
        "IamInstanceProfile": _profile(profile),
        "UserData": meaning(family, user_data),
        "tags of the template": _tags(parameters, "launch-template"),
    }
