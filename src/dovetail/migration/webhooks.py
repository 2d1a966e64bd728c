"""Finds webhooks of Karpenter that fail once its controller is gone, and block what they guard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dovetail.migration.findings import MigrationFinding, Severity
from dovetail.migration.objects import (
    ClusterObjects,
    ServiceReference,
    Webhook,
    WebhookConfiguration,
)
from dovetail.present.installation.choices import Choices

_KARPENTER: Final = "karpenter"


def webhook_findings(cluster: ClusterObjects, choices: Choices) -> Iterator[MigrationFinding]:
    """Admission webhooks for our kinds, and conversion webhooks of our definitions."""
    groups = frozenset(definition.spec.group for definition in cluster.definitions)
    ours = frozenset(group for group in groups if group.startswith(_KARPENTER))
    for configuration in cluster.webhooks:
        for index, webhook in enumerate(configuration.webhooks):
            if _is_of_karpenter(webhook, ours):
                yield from _admission(cluster, configuration, index)
    yield from _conversions(cluster, choices)


def _is_of_karpenter(webhook: Webhook, groups: frozenset[str]) -> bool:
    service = webhook.client_config.service
    guarded = {group for rule in webhook.rules for group in rule.api_groups}
    return (service is not None and _KARPENTER in service.name) or bool(guarded & groups)


def _admission(
    cluster: ClusterObjects, configuration: WebhookConfiguration, index: int
) -> Iterator[MigrationFinding]:
    webhook = configuration.webhooks[index]
    service = webhook.client_config.service
    trouble = _trouble(cluster, service)
    if not trouble:
        return
    fails = webhook.failure_policy != "Ignore"
    result = "every write that it guards is rejected" if fails else "its calls fail and are ignored"
    yield MigrationFinding(
        Severity.ERROR if fails else Severity.WARNING,
        f"{configuration.kind} {configuration.metadata.name}",
        f"webhooks[{index}].clientConfig.service",
        f"{webhook.name}: {trouble}: {result}",
        f"kubectl delete {configuration.kind.lower()} {configuration.metadata.name}, once "
        "Karpenter is scaled to 0",
    )


def _conversions(cluster: ClusterObjects, choices: Choices) -> Iterator[MigrationFinding]:
    own_groups = {kind.kind.group for item in choices.extensions for kind in item.node_classes}
    for definition in cluster.definitions:
        group, conversion = definition.spec.group, definition.spec.conversion
        is_ours = group.startswith(_KARPENTER) or group in own_groups
        if not is_ours or conversion.strategy != "Webhook":
            continue
        trouble = _trouble(cluster, conversion.webhook.client_config.service)
        if trouble:
            patch = """'{"spec":{"conversion":{"strategy":"None","webhook":null}}}'"""
            yield MigrationFinding(
                Severity.ERROR,
                f"CustomResourceDefinition {definition.metadata.name}",
                "spec.conversion.webhook.clientConfig.service",
                f"{trouble}: objects stored in another version can then not be read",
                f"store every object as v1 while the webhook runs, then: kubectl patch "
                f"customresourcedefinition {definition.metadata.name} --type=merge -p {patch}",
            )


def _trouble(cluster: ClusterObjects, service: ServiceReference | None) -> str:
    """Why a service does not answer now, or will not once Karpenter is gone; empty if it does."""
    if service is None:
        return ""
    name = f"service {service.namespace}/{service.name}"
    if (service.namespace, service.name) not in cluster.services:
        return "" if "Service" in cluster.hidden else f"{name} does not exist"
    if _KARPENTER in service.name:
        return f"{name} does not answer once Karpenter is scaled to 0"
    return ""
