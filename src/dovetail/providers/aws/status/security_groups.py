"""Resolves `spec.securityGroupSelectorTerms`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from dovetail.clock import Clock
from dovetail.providers.aws.calls import calling, required
from dovetail.providers.aws.filters import DescribeFilter, tag_filters, term_text
from dovetail.providers.aws.node_class.types import (
    EC2NodeClass,
    SecurityGroup,
    SecurityGroupSelectorTerm,
)
from dovetail.providers.aws.status.conditions import ClassCondition
from dovetail.providers.aws.status.selection import (
    DescribeFilters,
    SelectorField,
    SelectorSource,
    SelectorTerm,
    selector_condition,
)
from dovetail.providers.aws.status.step import StepResult

if TYPE_CHECKING:
    from types_aiobotocore_ec2 import EC2Client

FIELD: Final = "spec.securityGroupSelectorTerms"
NOT_FOUND: Final = "SecurityGroupsNotFound"
_SELECTOR: Final = SelectorField(
    FIELD,
    ClassCondition.SECURITY_GROUPS,
    NOT_FOUND,
    "security group",
    "tag the security groups of the nodes",
)
_ACTION: Final = "ec2:DescribeSecurityGroups"
_KEPT_FOR: Final = timedelta(minutes=1)
_AGAIN_AFTER: Final = timedelta(minutes=5)


def security_group_terms(terms: Sequence[SecurityGroupSelectorTerm]) -> tuple[SelectorTerm, ...]:
    """The terms as they are asked for; an id goes before a name, a name before tags."""
    return tuple(
        SelectorTerm(
            term_text({"id": term.id, "name": term.name}, term.tags),
            term.id,
            (DescribeFilter("group-name", (term.name,)),) if term.name else tag_filters(term.tags),
        )
        for term in terms
    )


class SecurityGroupStep:
    """Evaluates `SecurityGroupsReady`."""

    condition = ClassCondition.SECURITY_GROUPS

    def __init__(self, ec2: EC2Client, clock: Clock) -> None:
        self._ec2 = ec2
        self._source = SelectorSource(
            self._describe, id_filter="group-id", clock=clock, keep_for=_KEPT_FOR
        )

    async def evaluate(self, node_class: EC2NodeClass) -> StepResult:
        """The security groups now."""
        terms = security_group_terms(node_class.spec.security_group_selector_terms)
        selection = await self._source.select(terms)
        groups = tuple(selection.by_id.values())
        return StepResult(
            selector_condition(_SELECTOR, selection, terms),
            msgspec.structs.replace(node_class.status, security_groups=groups),
            _AGAIN_AFTER,
        )

    async def _describe(self, filters: DescribeFilters) -> dict[str, SecurityGroup]:
        by_id: dict[str, SecurityGroup] = {}
        with calling(_ACTION):
            pages = self._ec2.get_paginator("describe_security_groups")
            async for page in pages.paginate(Filters=[item.wire() for item in filters]):
                for group in required(page.get("SecurityGroups"), _ACTION):
                    group_id = group.get("GroupId", "")
                    by_id[group_id] = SecurityGroup(id=group_id, name=group.get("GroupName", ""))
        return by_id
