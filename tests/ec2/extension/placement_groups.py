"""Placement groups, and which partition an instance gets."""

from __future__ import annotations

from dataclasses import dataclass

from tests.ec2.extension import moto_state
from tests.ec2.extension.filters import matching
from tests.ec2.extension.instances import tag_list
from tests.ec2.extension.wire import AwsError, Tree
from tests.ec2.extension.world import World, tags_for


@dataclass
class PlacementGroup:
    """A placement group."""

    group_id: str
    name: str
    strategy: str  # cluster, partition, spread
    n_partitions: int
    state: str
    tags: dict[str, str]


def create(world: World, parameters: Tree) -> Tree:
    """CreatePlacementGroup."""
    name = parameters["GroupName"]
    if any(group.name == name for group in world.placement_groups.values()):
        msg = f"The placement group '{name}' already exists."
        raise AwsError("InvalidPlacementGroup.Duplicate", msg)
    strategy = parameters.get("Strategy", "cluster")
    group = PlacementGroup(
        group_id=world.new_id("pg"),
        name=name,
        strategy=strategy,
        n_partitions=parameters.get("PartitionCount", 2) if strategy == "partition" else 0,
        state="available",
        tags=tags_for(parameters, "placement-group"),
    )
    world.placement_groups[group.group_id] = group
    return {"PlacementGroup": _describe(group)}


def delete(world: World, parameters: Tree) -> Tree:
    """DeletePlacementGroup."""
    group = by_reference(world, {"GroupName": parameters["GroupName"]})
    del world.placement_groups[group.group_id]
    return {}


def describe(world: World, parameters: Tree) -> Tree:
    """DescribePlacementGroups; EC2 does not page it."""
    groups = list(world.placement_groups.values())
    wanted = [{"GroupName": name} for name in parameters.get("GroupNames", [])]
    wanted += [{"GroupId": one} for one in parameters.get("GroupIds", [])]
    if wanted:
        groups = [by_reference(world, reference) for reference in wanted]
    shown = matching(
        groups,
        parameters.get("Filters", []),
        values=lambda one: {
            "group-name": one.name,
            "group-id": one.group_id,
            "state": one.state,
            "strategy": one.strategy,
        },
        tags=lambda one: one.tags,
    )
    return {"PlacementGroups": [_describe(one) for one in shown]}


def by_reference(world: World, reference: Tree) -> PlacementGroup:
    """The group that is named by id or by name."""
    for group in world.placement_groups.values():
        if group.group_id == reference.get("GroupId") or group.name == reference.get("GroupName"):
            return group
    wanted = reference.get("GroupId") or reference.get("GroupName")
    msg = f"The Placement Group '{wanted}' is unknown."
    raise AwsError("InvalidPlacementGroup.Unknown", msg)


def place(world: World, asked: Tree) -> Tree:
    """The placement of a new instance: its group, and in a partition group its partition.

    An instance that asks for no partition gets the emptiest one.
    """
    placed = {key: asked[key] for key in ("Tenancy",) if key in asked}
    if not asked.get("GroupName") and not asked.get("GroupId"):
        return placed
    group = by_reference(world, asked)
    placed |= {"GroupName": group.name, "GroupId": group.group_id}
    if group.strategy == "partition":
        placed["PartitionNumber"] = asked.get("PartitionNumber") or _emptiest(world, group)
    return placed


def _emptiest(world: World, group: PlacementGroup) -> int:
    n_instances = dict.fromkeys(range(1, group.n_partitions + 1), 0)
    for instance in world.instances.values():
        if instance.placement.get("GroupId") == group.group_id and not instance.is_released:
            n_instances[instance.placement["PartitionNumber"]] += 1
    return min(n_instances, key=lambda number: (n_instances[number], number))


def _describe(group: PlacementGroup) -> Tree:
    arn = f"arn:aws:ec2:{moto_state.REGION}:{moto_state.ACCOUNT}:placement-group/{group.name}"
    described: Tree = {
        "GroupName": group.name,
        "GroupId": group.group_id,
        "GroupArn": arn,
        "State": group.state,
        "Strategy": group.strategy,
        "Tags": tag_list(group.tags),
    }
    if group.strategy == "partition":
        described["PartitionCount"] = group.n_partitions
    if group.strategy == "spread":
        described["SpreadLevel"] = "rack"
    return described
