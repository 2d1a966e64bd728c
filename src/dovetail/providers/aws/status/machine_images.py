"""Resolves `spec.amiSelectorTerms`."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import msgspec

from dovetail.providers.aws.filters import unmatched_text
from dovetail.providers.aws.images.queries import ami_term_text
from dovetail.providers.aws.images.source import ImageFindings, ImageSource
from dovetail.providers.aws.node_class.types import EC2NodeClass, EC2NodeClassSpec
from dovetail.providers.aws.status.conditions import ClassCondition, ConditionUpdate, fails, holds
from dovetail.providers.aws.status.step import StepResult

FIELD: Final = "spec.amiSelectorTerms"
NOT_FOUND: Final = "AMINotFound"
UNSUPPORTED_ALIAS: Final = "UnsupportedAlias"
_AGAIN_AFTER: Final = timedelta(minutes=5)
_EMPTY_AGAIN_AFTER: Final = timedelta(minutes=1)


def image_condition(spec: EC2NodeClassSpec, findings: ImageFindings) -> ConditionUpdate:
    """Whether there are images; the message names terms that match none."""
    condition = ClassCondition.AMIS
    texts = [ami_term_text(term) for term in spec.ami_selector_terms]
    if findings.unsupported:
        aliases = [term.alias for term in spec.ami_selector_terms if term.alias]
        message = f"{FIELD}: alias {', '.join(aliases)}: {findings.unsupported}"
        return fails(condition, UNSUPPORTED_ALIAS, message)
    unmatched = unmatched_text(FIELD, findings.unmatched, texts)
    missing = ", ".join(findings.parameters)
    if not findings.amis:
        why = f" (SSM parameters that do not exist: {missing})" if missing else ""
        message = (
            f"no AMI matches {unmatched or FIELD}{why}: check owner and region of the images, or "
            "change the selector"
        )
        return fails(condition, NOT_FOUND, message)
    notes = [f"no AMI matches {unmatched}"] if unmatched else []
    deprecated = [ami.id for ami in findings.amis if ami.deprecated]
    if deprecated:
        notes.append(f"deprecated: {', '.join(deprecated)}")
    return holds(condition, "; ".join(notes))


class ImageStep:
    """Evaluates `AMIsReady`."""

    condition = ClassCondition.AMIS

    def __init__(self, source: ImageSource) -> None:
        self._source = source

    async def evaluate(self, node_class: EC2NodeClass) -> StepResult:
        """The images now."""
        findings = await self._source.find(node_class)
        again_after = _AGAIN_AFTER if findings.amis else _EMPTY_AGAIN_AFTER
        return StepResult(
            image_condition(node_class.spec, findings),
            msgspec.structs.replace(node_class.status, amis=findings.amis),
            again_after,
        )
