"""The ConfigMap of global settings stays, and each of its entries is told of."""

from __future__ import annotations

from typing import Final

import pytest

from dovetail.providers.aws.flags import TABLE as AWS_FLAGS
from dovetail.settings.flags import TABLE
from tests.unit.api.older.conversions import converted, template

ENTRIES: Final = {
    "aws.clusterName": "--cluster-name",
    "aws.clusterEndpoint": "--cluster-endpoint",
    "aws.isolatedVPC": "--isolated-vpc",
    "aws.vmMemoryOverheadPercent": "--vm-memory-overhead-percent",
    "aws.interruptionQueueName": "--interruption-queue",
    "aws.reservedENIs": "--reserved-enis",
    "batchMaxDuration": "--batch-max-duration",
    "batchIdleDuration": "--batch-idle-duration",
    "aws.defaultInstanceProfile": "set as instanceProfile of each class",
    "aws.enablePodENI": "always on",
    "aws.enableENILimitedPodDensity": "maxPods 110",
    "aws.tags": "spec.tags of each class",
    "aws.assumeRoleARN": "IRSA",
    "aws.assumeRoleDuration": "IRSA",
    "featureGates.driftEnabled": "drift is always on",
    "another": "is unknown",
}


def settings(key: str, value: str) -> str:
    """The ConfigMap with one entry."""
    return f"""
apiVersion: v1
kind: ConfigMap
metadata: {{name: karpenter-global-settings}}
data: {{{key}: '{value}'}}
---
"""


@pytest.mark.parametrize("key", ENTRIES)
def test_an_entry_is_told_of(key: str) -> None:
    """Which flag it is, or what to do instead."""
    got = converted(settings(key, "1"))
    assert got.trees[0]["data"] == {key: "1"}
    [notice] = [one for one in got.notices if f": data.{key}: " in one]
    assert ENTRIES[key] in notice


@pytest.mark.parametrize("flag", [text for text in ENTRIES.values() if text.startswith("--")])
def test_a_flag_that_is_named_exists(flag: str) -> None:
    """In the controller or in its provider."""
    assert flag.removeprefix("--") in {one.name for one in (*TABLE.flags, *AWS_FLAGS.flags)}


def test_the_default_profile_is_set_on_each_class() -> None:
    """Unless a class names an identity, or a flag does."""
    text = settings("aws.defaultInstanceProfile", "all")
    assert converted(text + template(identity="")).value(
        "EC2NodeClass", "spec.instanceProfile"
    ) == "all"  # fmt: skip
    assert converted(text + template()).value("EC2NodeClass", "spec.instanceProfile") == "nodes"
    got = converted(text + template(identity=""), role="r")
    assert got.value("EC2NodeClass", "spec.instanceProfile") is None
    assert got.value("EC2NodeClass", "spec.role") == "r"


def test_global_tags_are_put_on_each_class() -> None:
    """Its own count more."""
    text = settings("aws.tags", '{"a": "1", "b": "2"}')
    got = converted(text + template("tags: {a: own}"))
    assert got.value("EC2NodeClass", "spec.tags") == {"a": "own", "b": "2"}
    assert converted(settings("aws.tags", "[]") + template()).errors == []
