"""Judges the calls of a test by the policies that `dovetail install --cloud json` prints."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from dovetail.cloud.prerequisites import TemplateRequest
from dovetail.providers.aws.apis import USER_AGENT
from dovetail.providers.aws.installation.templates import TEMPLATES
from tests.ec2.control import ACCOUNT, REGION, RecordedCall
from tests.ec2.permissions.accesses import accesses
from tests.ec2.permissions.iam import Policy, is_allowed

# Every cluster of these tests. A test has one.
CLUSTERS = ("prod", "test-cluster", "startup", "kills")
# What tests name themselves, and the policies are printed for.
_PARAMETERS = {
    "interruption-queue": "interruptions",
    "image-parameters": "/mine",
    "more-node-roles": "late,nobody,other",
}


def of_provider(calls: Iterable[RecordedCall]) -> list[RecordedCall]:
    """The calls that the provider made, and not the test."""
    return [call for call in calls if call.agent.endswith(f" {USER_AGENT}")]


def denials(calls: Iterable[RecordedCall]) -> list[str]:
    """What the policies of the test's cluster deny of the provider's calls."""
    ours = of_provider(calls)
    return min((_denied(ours, cluster) for cluster in CLUSTERS), key=len)


def _denied(calls: Iterable[RecordedCall], cluster: str) -> list[str]:
    found = policies(cluster)
    return [
        f"{call.service}:{call.action} of cluster {cluster}: {access}"
        for call in calls
        for access in accesses(call)
        if not is_allowed(access, found)
    ]


@cache
def policies(cluster: str) -> tuple[Policy, ...]:
    """The policies of the controller, as they are printed."""
    return tuple(printed({"cluster-name": cluster, **_PARAMETERS})["policies"].values())


def printed(values: Mapping[str, str]) -> dict[str, Any]:
    """The JSON document for these values."""
    request = TemplateRequest(
        format="json",
        values={"region": REGION, "account-id": ACCOUNT, **values},
        namespace="dovetail",
        service_account="dovetail",
    )
    document: dict[str, Any] = json.loads(TEMPLATES.render(request))
    return document
