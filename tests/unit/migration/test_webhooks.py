"""Webhooks of Karpenter are found, and no others."""

from __future__ import annotations

from tests.unit.migration.clusters import findings, healthy, service, webhook


async def test_a_webhook_whose_service_goes_with_karpenter_is_an_error() -> None:
    """It answers still, but not once Karpenter is scaled to 0."""
    (got,) = await findings([*healthy(), webhook(), service()])
    assert got.severity == "error"
    assert "does not answer once Karpenter is scaled to 0" in got.message
    assert "every write that it guards is rejected" in got.message


async def test_a_webhook_that_may_fail_is_a_warning() -> None:
    """Calls time out, and writes go through."""
    (got,) = await findings([*healthy(), webhook(policy="Ignore")])
    assert (got.severity, "fail and are ignored" in got.message) == ("warning", True)


async def test_a_webhook_for_our_kinds_with_a_service_of_its_own_is_fine() -> None:
    """A policy engine stays when Karpenter goes; without its service it blocks."""
    assert await findings([*healthy(), webhook("policies"), service("policies")]) == ()
    (got,) = await findings([*healthy(), webhook("policies")])
    assert "service kube-system/policies does not exist" in got.message


async def test_a_webhook_for_other_kinds_is_not_ours_to_judge() -> None:
    """Whatever its service."""
    other = webhook("policies")
    other["webhooks"][0]["rules"] = [{"apiGroups": ["apps"]}]
    assert await findings([*healthy(), other]) == ()
