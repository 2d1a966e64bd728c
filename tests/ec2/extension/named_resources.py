"""Finds the tags that a call's resources have when it comes, as IAM judges calls by them."""

from __future__ import annotations

from collections.abc import Iterator

from tests.ec2.extension import moto_state
from tests.ec2.extension.wire import Request, Tree
from tests.ec2.extension.world import World

_OF_INSTANCES = {"TerminateInstances": "InstanceIds", "CreateTags": "Resources"}
_OF_TEMPLATES = frozenset({"CreateFleet", "DeleteLaunchTemplate", "RunInstances"})


def tags_of_named(world: World, request: Request) -> dict[str, dict[str, str]]:
    """Tags by the id or name of each resource that is named and exists."""
    parameters = request.parameters
    if request.service == "iam" and "InstanceProfileName" in parameters:
        name = parameters["InstanceProfileName"]
        tags = moto_state.profile_tags().get(name)
        return {} if tags is None else {name: tags}
    if request.service != "ec2":
        return {}
    named = parameters.get(_OF_INSTANCES.get(request.action, ""), [])
    found = {one: dict(world.instances[one].tags) for one in named if one in world.instances}
    if request.action in _OF_TEMPLATES:
        names = set(_template_names(parameters))
        templates = world.templates.values()
        found |= {one.name: dict(one.tags) for one in templates if one.name in names}
    return found


def _template_names(parameters: Tree) -> Iterator[str]:
    yield parameters.get("LaunchTemplateName", "")
    yield parameters.get("LaunchTemplate", {}).get("LaunchTemplateName", "")
    for config in parameters.get("LaunchTemplateConfigs", []):
        yield config.get("LaunchTemplateSpecification", {}).get("LaunchTemplateName", "")
