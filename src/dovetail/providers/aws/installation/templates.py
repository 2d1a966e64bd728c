"""Prints what the account needs: the templates that the plugin brings."""

from __future__ import annotations

from typing import Final

from dovetail.cloud.prerequisites import CloudTemplates, TemplateRequest
from dovetail.errors import InputError
from dovetail.providers.aws.installation.parameters import (
    CLOUDFORMATION,
    FORMATS,
    JSON,
    PARAMETERS,
    TERRAFORM,
    read_installation,
)


def rendered(request: TemplateRequest) -> str:
    """The template in the format of the request. Raises InputError."""
    installation = read_installation(request)
    match request.format:
        case str(name) if name == CLOUDFORMATION:
            from dovetail.providers.aws.installation.cloudformation import cloudformation

            return cloudformation(installation)
        case str(name) if name == TERRAFORM:
            from dovetail.providers.aws.installation.terraform import terraform

            return terraform(installation)
        case str(name) if name == JSON:
            from dovetail.providers.aws.installation.policy_json import policy_json

            return policy_json(installation)
        case unknown:
            msg = f"--cloud: expected {', '.join(FORMATS)}, not {unknown!r}"
            raise InputError(msg)


TEMPLATES: Final = CloudTemplates(FORMATS, PARAMETERS, rendered)
