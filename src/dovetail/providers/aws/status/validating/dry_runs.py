"""Tries a launch without launching: are the permissions there, and does EC2 accept the request?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from dovetail.kube.seam import Json
from dovetail.providers.aws.apis import AwsApis
from dovetail.providers.aws.bootstrap.user_data import SIZE_LIMIT, UserDataSize
from dovetail.providers.aws.calls import CallFailedError, Failure, calling
from dovetail.providers.aws.node_class.types import EC2NodeClass
from dovetail.providers.aws.status.conditions import ClassCondition, ConditionUpdate, fails, holds
from dovetail.providers.aws.status.validating.trials import (
    TrialSubject,
    TrialTemplate,
    fleet_trial,
    run_trials,
    tag_list,
)

CREATE_TEMPLATE_FAILED: Final = "CreateLaunchTemplateAuthCheckFailed"
CREATE_FLEET_FAILED: Final = "CreateFleetAuthCheckFailed"
RUN_INSTANCES_FAILED: Final = "RunInstancesAuthCheckFailed"
USER_DATA_TOO_LARGE: Final = "UserDataSizeLimitExceeded"
_WOULD_SUCCEED: Final = "DryRunOperation"
_NAME_TAKEN: Final = "InvalidLaunchTemplateName.AlreadyExistsException"
_PASS_ROLE: Final = "iam:PassRole"  # noqa: S105  a permission, no secret
_Call = Callable[..., Awaitable[object]]


class DryRuns:
    """Dry runs through a client that repeats nothing, so that a verdict comes soon."""

    def __init__(self, apis: AwsApis) -> None:
        self._ec2 = apis.ec2
        self._once = apis.ec2_once

    async def verdict(
        self, node_class: EC2NodeClass, subject: TrialSubject, template: TrialTemplate
    ) -> ConditionUpdate:
        """Whether a launch would succeed. Raises CallFailedError where that cannot be told."""
        if template.n_user_data_bytes > SIZE_LIMIT:
            return user_data_failure(template.n_user_data_bytes)
        problem = await self._create(template)
        if problem is not None:
            return problem
        try:
            problem = await self._launch(node_class, subject, template)
        finally:
            await self._delete(template)
        return problem or holds(ClassCondition.VALIDATION, _size_note(template))

    async def _create(self, template: TrialTemplate) -> ConditionUpdate | None:
        """Make the template; one of that name has the same content."""
        tags = tag_list(template.tags)
        request: dict[str, Json] = {
            "LaunchTemplateName": template.name,
            "LaunchTemplateData": dict(template.data),
            "TagSpecifications": [{"ResourceType": "launch-template", "Tags": tags}],
        }
        create: _Call = self._once.create_launch_template
        return await _problem("ec2:CreateLaunchTemplate", create, request)

    async def _launch(
        self, node_class: EC2NodeClass, subject: TrialSubject, template: TrialTemplate
    ) -> ConditionUpdate | None:
        create_fleet: _Call = self._once.create_fleet
        request = fleet_trial(node_class, subject, template)
        problem = await _problem("ec2:CreateFleet", create_fleet, request)
        if problem is not None:
            return problem
        return await self._run(run_trials(node_class, subject, template))

    async def _run(self, requests: tuple[dict[str, Json], ...]) -> ConditionUpdate | None:
        """One subnet in which a launch would succeed is enough; else the error of the first."""
        run_instances: _Call = self._once.run_instances
        first: ConditionUpdate | CallFailedError | None = None
        for request in requests:
            try:
                problem = await _problem("ec2:RunInstances", run_instances, request)
            except CallFailedError as error:
                first = first or error
                continue
            if problem is None:
                return None
            first = first or problem
        if isinstance(first, CallFailedError):
            raise first
        return first

    async def _delete(self, template: TrialTemplate) -> None:
        """A template that stays behind goes with the class, by its tags."""
        try:
            with calling("ec2:DeleteLaunchTemplate"):
                await self._ec2.delete_launch_template(LaunchTemplateName=template.name)
        except CallFailedError:
            return


def _size_note(template: TrialTemplate) -> str:
    size = UserDataSize(template.n_user_data_bytes)
    if not size.is_near_limit:
        return ""
    return f"user data has {size.n_bytes} bytes, and EC2 accepts {SIZE_LIMIT}"


_REASONS: Final = {
    "ec2:CreateLaunchTemplate": CREATE_TEMPLATE_FAILED,
    "ec2:CreateFleet": CREATE_FLEET_FAILED,
    "ec2:RunInstances": RUN_INSTANCES_FAILED,
}


async def _problem(action: str, call: _Call, request: dict[str, Json]) -> ConditionUpdate | None:
    """What speaks against a launch; None if nothing does. Raises CallFailedError for the rest."""
    try:
        with calling(action):
            await call(**request)
    except CallFailedError as error:
        if error.code in (_WOULD_SUCCEED, _NAME_TAKEN):
            return None
        if error.failure is Failure.DENIED:
            return _denial(error)
        if is_about_user_data(error):
            return user_data_failure(None)
        raise
    return None


def _denial(error: CallFailedError) -> ConditionUpdate:
    remedy = (
        f"; allow {_PASS_ROLE} on the node role (spec.role) to the controller's role"
        if _PASS_ROLE in error.message
        else ""
    )
    message = f"{error}{remedy}"
    return fails(ClassCondition.VALIDATION, _REASONS[error.action], message)


def is_about_user_data(error: CallFailedError) -> bool:
    """Whether EC2 refuses the request because user data is too long."""
    text = error.message.lower()
    return "user data" in text and ("limited" in text or str(SIZE_LIMIT) in text)


def user_data_failure(n_bytes: int | None) -> ConditionUpdate:
    """User data does not fit; a size of None is known to EC2 alone."""
    size = f"{n_bytes} bytes" if n_bytes else "too long"
    message = (
        f"spec.userData: with what makes nodes join the cluster it is {size}, and EC2 accepts "
        f"{SIZE_LIMIT} bytes: shorten it, or load the rest at boot"
    )
    return fails(ClassCondition.VALIDATION, USER_DATA_TOO_LARGE, message)
