"""CreateTags and DeleteTags: resources of the extension get theirs here, the others in moto."""

from __future__ import annotations

from tests.ec2.extension.wire import AwsError, Tree
from tests.ec2.extension.world import World

_OURS = ("i-", "lt-", "cr-", "pg-", "ami-")


def split(parameters: Tree) -> tuple[list[str], list[str]]:
    """The resources of the extension, and those of moto."""
    resources = parameters["Resources"]
    ours = [one for one in resources if one.startswith(_OURS)]
    return ours, [one for one in resources if one not in ours]


def create(world: World, resources: list[str], tags: list[Tree]) -> None:
    """Tag resources of the extension."""
    _check(world, resources)
    added = {tag["Key"]: tag.get("Value", "") for tag in tags}
    for resource in resources:
        if resource in world.instances:
            world.tag(world.instances[resource], added)
        else:
            _tags_of(world, resource).update(added)


def delete(world: World, resources: list[str], tags: list[Tree]) -> None:
    """Remove tags from resources of the extension."""
    _check(world, resources)
    removed = {tag["Key"]: "" for tag in tags}
    for resource in resources:
        if resource in world.instances:
            world.tag(world.instances[resource], removed, remove=True)
        else:
            for key in removed:
                _tags_of(world, resource).pop(key, None)


def _check(world: World, resources: list[str]) -> None:
    for resource in resources:
        if resource.startswith("i-") and resource not in world.instances:
            msg = f"The instance ID '{resource}' does not exist"
            raise AwsError("InvalidInstanceID.NotFound", msg)
        if not resource.startswith("i-"):
            _tags_of(world, resource)


def _tags_of(world: World, resource: str) -> dict[str, str]:
    if resource in world.templates:
        return world.templates[resource].tags
    if resource in world.reservations:
        return world.reservations[resource].tags
    if resource in world.placement_groups:
        return world.placement_groups[resource].tags
    if resource in world.images:
        return world.images[resource].tags
    msg = f"The ID '{resource}' is not valid"
    raise AwsError("InvalidID", msg)
