"""Launch templates, kept whole, so that an instance gets everything that its template says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tests.ec2.extension import moto_state, paging
from tests.ec2.extension.filters import matching
from tests.ec2.extension.instances import tag_list
from tests.ec2.extension.wire import AwsError, Tree
from tests.ec2.extension.world import World, tags_for

_PRINCIPAL = f"arn:aws:iam::{moto_state.ACCOUNT}:root"


@dataclass
class LaunchTemplate:
    """A template with all of its versions."""

    template_id: str
    name: str
    created_at: datetime
    versions: list[Tree]
    tags: dict[str, str]

    def describe(self) -> Tree:
        """The template as EC2 sends it."""
        return {
            "LaunchTemplateId": self.template_id,
            "LaunchTemplateName": self.name,
            "CreateTime": self.created_at,
            "CreatedBy": _PRINCIPAL,
            "DefaultVersionNumber": 1,
            "LatestVersionNumber": len(self.versions),
            "Tags": tag_list(self.tags),
        }


def create(world: World, parameters: Tree) -> Tree:
    """CreateLaunchTemplate."""
    name = parameters["LaunchTemplateName"]
    if any(template.name == name for template in world.templates.values()):
        raise AwsError(
            "InvalidLaunchTemplateName.AlreadyExistsException",
            "Launch template name already in use.",
        )
    template = LaunchTemplate(
        template_id=world.new_id("lt"),
        name=name,
        created_at=world.clock.now(),
        versions=[parameters["LaunchTemplateData"]],
        tags=tags_for(parameters, "launch-template"),
    )
    world.templates[template.template_id] = template
    return {"LaunchTemplate": template.describe()}


def create_version(world: World, parameters: Tree) -> Tree:
    """CreateLaunchTemplateVersion."""
    template = by_reference(world, parameters)
    source = parameters.get("SourceVersion")
    base = data(template, source) if source else {}
    template.versions.append({**base, **parameters["LaunchTemplateData"]})
    return {"LaunchTemplateVersion": _describe_version(template, len(template.versions))}


def describe(world: World, parameters: Tree) -> Tree:
    """DescribeLaunchTemplates."""
    templates = list(world.templates.values())
    wanted = [{"LaunchTemplateName": name} for name in parameters.get("LaunchTemplateNames", [])]
    wanted += [{"LaunchTemplateId": one} for one in parameters.get("LaunchTemplateIds", [])]
    if wanted:
        templates = [by_reference(world, reference) for reference in wanted]
    shown = matching(
        templates,
        parameters.get("Filters", []),
        values=lambda one: {
            "launch-template-name": one.name,
            "create-time": one.created_at.isoformat(),
        },
        tags=lambda one: one.tags,
    )
    items, token = paging.page(shown, parameters, least=1, most=200, usual=200)
    return {"LaunchTemplates": [one.describe() for one in items], "NextToken": token}


def describe_versions(world: World, parameters: Tree) -> Tree:
    """DescribeLaunchTemplateVersions."""
    template = by_reference(world, parameters)
    numbers = [_number(template, one) for one in parameters.get("Versions", [])]
    numbers = numbers or list(range(1, len(template.versions) + 1))
    items, token = paging.page(numbers, parameters, least=1, most=200, usual=200)
    versions = [_describe_version(template, number) for number in items]
    return {"LaunchTemplateVersions": versions, "NextToken": token}


def delete(world: World, parameters: Tree) -> Tree:
    """DeleteLaunchTemplate."""
    template = by_reference(world, parameters)
    del world.templates[template.template_id]
    return {"LaunchTemplate": template.describe()}


def by_reference(world: World, reference: Tree) -> LaunchTemplate:
    """The template that a call names by id or by name."""
    template_id, name = reference.get("LaunchTemplateId"), reference.get("LaunchTemplateName")
    for template in world.templates.values():
        if template_id == template.template_id or (not template_id and name == template.name):
            return template
    if template_id:
        msg = f"The specified launch template, with template ID {template_id}, does not exist."
        raise AwsError("InvalidLaunchTemplateId.NotFound", msg)
    msg = f"The specified launch template, with template name {name}, does not exist."
    raise AwsError("InvalidLaunchTemplateName.NotFoundException", msg)


def data(template: LaunchTemplate, version: str) -> Tree:
    """What a version of the template says."""
    return template.versions[_number(template, version) - 1]


def _number(template: LaunchTemplate, version: str) -> int:
    number = {"$Latest": len(template.versions), "$Default": 1, "": 1}.get(version)
    number = int(version) if number is None else number
    if not 1 <= number <= len(template.versions):
        msg = f"Could not find the specified version {version} for the launch template"
        raise AwsError("InvalidLaunchTemplateId.VersionNotFound", msg)
    return number


def _describe_version(template: LaunchTemplate, number: int) -> Tree:
    return {
        "LaunchTemplateId": template.template_id,
        "LaunchTemplateName": template.name,
        "VersionNumber": number,
        "CreateTime": template.created_at,
        "CreatedBy": _PRINCIPAL,
        "DefaultVersion": number == 1,
        "LaunchTemplateData": template.versions[number - 1],
    }
