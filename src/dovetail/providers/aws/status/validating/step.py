"""Evaluates `ValidationSucceeded`: all checks in their order, then dry runs of a launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final

import msgspec

from dovetail import api
from dovetail.clock import Clock
from dovetail.providers.aws.bootstrap.user_data import UserDataError
from dovetail.providers.aws.calls import CallFailedError
from dovetail.providers.aws.catalogue.inputs import CatalogueInputs
from dovetail.providers.aws.catalogue.instance_types import instance_types
from dovetail.providers.aws.cluster import ClusterFacts
from dovetail.providers.aws.expiring_cache import ExpiringCache
from dovetail.providers.aws.node_class.types import EC2NodeClass
from dovetail.providers.aws.settings import AwsSettings
from dovetail.providers.aws.status.conditions import (
    TRUE,
    ClassCondition,
    ConditionUpdate,
    fails,
    holds,
    unknown,
)
from dovetail.providers.aws.status.step import StepResult
from dovetail.providers.aws.status.validating.checks import (
    CIDR_RESOLUTION_FAILED,
    cidr_problem,
    dependency_problem,
    expression_problem,
    kubelet_problem,
    needs_service_cidr,
    tag_problem,
    verdict_key,
)
from dovetail.providers.aws.status.validating.dry_runs import DryRuns
from dovetail.providers.aws.status.validating.trial_templates import TrialBoot, trial_template
from dovetail.providers.aws.status.validating.trials import (
    TrialSubject,
    TrialTemplate,
    trial_subject,
)

INVALID_USER_DATA: Final = "InvalidUserData"
NO_INSTANCE_TYPE: Final = "NoInstanceType"
_AGAIN_AFTER: Final = timedelta(minutes=10)
_VERDICT_KEPT_FOR: Final = timedelta(minutes=30)
_FAILURE_KEPT_FOR: Final = timedelta(minutes=10)  # so that a permission that is given is noticed
_NO_MACHINE: Final = "no instance type boots the images of the class"


class ValidationSources(msgspec.Struct, frozen=True):
    """What validation asks besides AWS: machine types, and the NodePools of a class."""

    catalogue: Callable[[], CatalogueInputs]
    pools: Callable[[str], Sequence[api.NodePool]]


class ValidationStep:
    """Evaluates `ValidationSucceeded`; the last step, since it needs what the others found."""

    condition = ClassCondition.VALIDATION

    def __init__(
        self,
        sources: ValidationSources,
        settings: AwsSettings,
        *,
        dry_runs: DryRuns,
        cluster: ClusterFacts,
        clock: Clock,
    ) -> None:
        self._sources = sources
        self._settings = settings
        self._dry_runs = dry_runs
        self._cluster = cluster
        self._verdicts: ExpiringCache[str, ConditionUpdate] = ExpiringCache(clock)

    def forget(self) -> None:
        """Forget all verdicts: a class has gone."""
        self._verdicts.drop(lambda _: True)

    async def evaluate(self, node_class: EC2NodeClass) -> StepResult:
        """The verdict now."""
        update = await self._cidr_problem(node_class) or self._problem(node_class)
        if update is None:
            update = await self._verdict(node_class)
        return StepResult(update, node_class.status, _AGAIN_AFTER)

    async def _cidr_problem(self, node_class: EC2NodeClass) -> ConditionUpdate | None:
        if not needs_service_cidr(node_class):
            return None
        try:
            return cidr_problem(node_class, await self._cluster.service_cidr())
        except CallFailedError as error:
            message = f"the addresses of Services, which AL2023 nodes need, are not known: {error}"
            return fails(self.condition, CIDR_RESOLUTION_FAILED, message)

    def _problem(self, node_class: EC2NodeClass) -> ConditionUpdate | None:
        machines = self._sources.catalogue().machines
        return (
            kubelet_problem(node_class, self._settings)
            or dependency_problem(node_class)
            or expression_problem(node_class, machines, self._settings)
            or tag_problem(node_class)
        )

    async def _verdict(self, node_class: EC2NodeClass) -> ConditionUpdate:
        if self._settings.disable_dry_run:
            return holds(self.condition)
        key = verdict_key(node_class)
        kept = self._verdicts.get(key)
        if kept is not None:
            return kept
        subject = self._subject(node_class)
        if subject is None:
            return unknown(self.condition, NO_INSTANCE_TYPE, _NO_MACHINE)
        try:
            template = await self._template(node_class, subject)
        except UserDataError as error:
            return fails(self.condition, INVALID_USER_DATA, str(error))
        verdict = await self._dry_runs.verdict(node_class, subject, template)
        keep_for = _VERDICT_KEPT_FOR if verdict.status == TRUE else _FAILURE_KEPT_FOR
        self._verdicts.put(key, verdict, keep_for=keep_for)
        return verdict

    async def _template(self, node_class: EC2NodeClass, subject: TrialSubject) -> TrialTemplate:
        machines = self._sources.catalogue().machines
        machine = next((item for item in machines if item.name == subject.instance_type), None)
        needs_cidr = needs_service_cidr(node_class)
        cidr = await self._cluster.service_cidr() if needs_cidr else ""
        return trial_template(node_class, subject, TrialBoot(machine, cidr), self._settings)

    def _subject(self, node_class: EC2NodeClass) -> TrialSubject | None:
        types = instance_types(node_class, self._sources.catalogue(), self._settings)
        return trial_subject(node_class, types, self._sources.pools(node_class.metadata.name))
