from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dovetail.api.facts
from dovetail import api
from dovetail.api.facts import Rule
from dovetail.providers.kwok.plugin import REQUIREMENT_RULE
from tests.unit.api.manifests import (
    BUFFER,
    CLAIM,
    KWOK,
    OVERLAY,
    POOL,
    REFERENCE,
    Tree,
    problems,
    spoiled,
)

rules = dovetail.api.facts
TEMPLATE = "spec.template.spec"
REQUIREMENTS = f"{TEMPLATE}.requirements"


@pytest.mark.parametrize(
    "tree", [POOL, CLAIM, OVERLAY, BUFFER, KWOK], ids=lambda tree: str(tree["kind"])
)
def test_a_sound_object_has_no_problems(tree: Tree) -> None:
    """With every field that it may have."""
    assert problems(tree) == []


def _requirement(key: str, operator: str, *values: str, **more: int) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values), **more}


BAD = [
    # how calm it is
    (
        POOL,
        "metadata.annotations",
        {"dovetail.sh/most-evictions-per-day": "often"},
        "metadata.annotations.dovetail.sh/most-evictions-per-day",
        "expected a whole number",
    ),
    (
        POOL,
        "metadata.annotations",
        {"dovetail.sh/eviction-cost": "-1h"},
        "metadata.annotations.dovetail.sh/eviction-cost",
        "expected a duration",
    ),
    (
        POOL,
        "metadata.annotations",
        {"dovetail.sh/least-saving-per-eviction": "-0.1"},
        "metadata.annotations.dovetail.sh/least-saving-per-eviction",
        "expected dollars an hour",
    ),
    (
        POOL,
        "metadata.annotations",
        {"dovetail.sh/node-price": "1000.01"},
        "metadata.annotations.dovetail.sh/node-price",
        'expected dollars an hour from "0" to "1000"',
    ),
    # who it is
    (POOL, "metadata.name", "", "metadata.name", "expected a name"),
    (POOL, "metadata.name", "Über", "metadata.name", "expected lower-case letters"),
    (POOL, "apiVersion", "karpenter.sh/v1beta1", "apiVersion", "expected karpenter.sh/v1"),
    # labels of the nodes
    (
        POOL,
        "spec.template.metadata.labels.karpenter~sh/x",
        "a",
        "spec.template.metadata.labels",
        rules.NO_RESTRICTED_LABELS.message,
    ),
    (
        POOL,
        "spec.template.metadata.labels.notkarpenter~sh/x",
        "a",
        "spec.template.metadata.labels",
        rules.NO_RESTRICTED_LABELS.message,
    ),
    (
        POOL,
        "spec.template.metadata.labels.karpenter~sh/nodepool",
        "a",
        "spec.template.metadata.labels",
        rules.NO_NODE_POOL_LABEL.message,
    ),
    (
        POOL,
        "spec.template.metadata.labels.kubernetes~io/hostname",
        "a",
        "spec.template.metadata.labels",
        rules.NO_HOSTNAME_LABEL.message,
    ),
    (
        POOL,
        "spec.template.metadata.labels.x~karpenter~kwok~sh/y",
        "a",
        "spec.template.metadata.labels.x.karpenter.kwok.sh/y",
        "expected another label",
    ),
    (
        POOL,
        "spec.template.metadata.labels.team",
        "a b",
        "spec.template.metadata.labels.team",
        "at most 63 letters",
    ),
    (
        POOL,
        "spec.template.metadata.labels.team",
        "a" * 64,
        "spec.template.metadata.labels.team",
        "expected at most 63",
    ),
    (
        POOL,
        "spec.template.metadata.labels.a/b/c",
        "x",
        "spec.template.metadata.labels.a/b/c",
        "is no label key",
    ),
    (
        POOL,
        "spec.template.metadata.labels",
        {f"l{n}": "x" for n in range(101)},
        "spec.template.metadata.labels",
        "expected at most 100",
    ),
    # requirements
    (
        POOL,
        f"{REQUIREMENTS}.2.key",
        "karpenter.sh/x",
        f"{REQUIREMENTS}[2].key",
        rules.RESTRICTED_KEY.message,
    ),
    (
        POOL,
        f"{REQUIREMENTS}.2.key",
        "karpenter.sh/nodepool",
        f"{REQUIREMENTS}[2].key",
        rules.NOT_NODE_POOL.message,
    ),
    (
        POOL,
        f"{REQUIREMENTS}.2.key",
        "kubernetes.io/hostname",
        f"{REQUIREMENTS}[2].key",
        rules.NOT_HOSTNAME.message,
    ),
    (
        POOL,
        f"{REQUIREMENTS}.2.key",
        "karpenter.kwok.sh/instance-colour",
        f"{REQUIREMENTS}[2].key",
        REQUIREMENT_RULE.message,
    ),
    (POOL, f"{REQUIREMENTS}.2.key", "a b", f"{REQUIREMENTS}[2].key", "expected a name of letters"),
    (POOL, f"{REQUIREMENTS}.2.key", "a" * 317, f"{REQUIREMENTS}[2].key", "expected at most 316"),
    (POOL, f"{REQUIREMENTS}.2.key", "a" * 64, f"{REQUIREMENTS}[2].key", "is no label key"),
    (POOL, f"{REQUIREMENTS}.2.operator", "Is", f"{REQUIREMENTS}[2].operator", "one of In, NotIn"),
    (POOL, f"{REQUIREMENTS}.2.values", ["a b"], f"{REQUIREMENTS}[2].values[0]", "at most 63"),
    (POOL, f"{REQUIREMENTS}.2.minValues", 0, f"{REQUIREMENTS}[2].minValues", "at least 1"),
    (POOL, f"{REQUIREMENTS}.2.minValues", 51, f"{REQUIREMENTS}[2].minValues", "at most 50"),
    (
        POOL,
        f"{REQUIREMENTS}.2",
        _requirement("a", "In"),
        f"{REQUIREMENTS}[2]",
        rules.IN_HAS_VALUES.message,
    ),
    *(
        (
            POOL,
            f"{REQUIREMENTS}.2",
            _requirement("a", operator, *values),
            f"{REQUIREMENTS}[2]",
            rules.BOUND_IS_ONE_NUMBER.message,
        )
        for operator in ("Gt", "Lt", "Gte", "Lte")
        for values in ((), ("1", "2"), ("x",), ("9" * 20,))
    ),
    (
        POOL,
        f"{REQUIREMENTS}.2",
        _requirement("a", "In", "x", minValues=2),
        f"{REQUIREMENTS}[2]",
        rules.IN_HAS_MIN_VALUES.message,
    ),
    (
        POOL,
        f"{REQUIREMENTS}.0",
        _requirement("karpenter.sh/capacity-type", "In", "sport"),
        f"{REQUIREMENTS}[0].values",
        "at least 1 of the capacity types",
    ),
    (
        POOL,
        f"{REQUIREMENTS}.0",
        _requirement("karpenter.sh/capacity-type", "In", "spot", "other", minValues=2),
        f"{REQUIREMENTS}[0].values",
        "at least 2 of the capacity types",
    ),
    (
        POOL,
        REQUIREMENTS,
        [{"key": "a", "operator": "Exists"}] * 101,
        REQUIREMENTS,
        "at most 100",
    ),
    # the node class
    (POOL, f"{TEMPLATE}.nodeClassRef.group", "a/b", f"{TEMPLATE}.nodeClassRef.group", "without a"),
    (POOL, f"{TEMPLATE}.nodeClassRef.group", "", f"{TEMPLATE}.nodeClassRef.group", "is empty"),
    (POOL, f"{TEMPLATE}.nodeClassRef.kind", "", f"{TEMPLATE}.nodeClassRef.kind", "is empty"),
    (POOL, f"{TEMPLATE}.nodeClassRef.name", "", f"{TEMPLATE}.nodeClassRef.name", "is empty"),
    # taints
    (POOL, f"{TEMPLATE}.taints.0.key", "", f"{TEMPLATE}.taints[0].key", "is empty"),
    (POOL, f"{TEMPLATE}.taints.0.key", "a b", f"{TEMPLATE}.taints[0].key", "expected a name"),
    (POOL, f"{TEMPLATE}.taints.0.value", "a b", f"{TEMPLATE}.taints[0].value", "expected a name"),
    (POOL, f"{TEMPLATE}.taints.0.value", "a/b", f"{TEMPLATE}.taints[0].value", "at most 63"),
    (POOL, f"{TEMPLATE}.taints.0.effect", "No", f"{TEMPLATE}.taints[0].effect", "one of NoSch"),
    (
        POOL,
        f"{TEMPLATE}.startupTaints.0.effect",
        "NoSchedule",
        f"{TEMPLATE}.startupTaints[0]",
        "is there twice",
    ),
    # spans of time
    (POOL, f"{TEMPLATE}.expireAfter", "1d", f"{TEMPLATE}.expireAfter", 'or "Never"'),
    (POOL, f"{TEMPLATE}.expireAfter", "9999999h", f"{TEMPLATE}.expireAfter", "292 years"),
    (
        POOL,
        f"{TEMPLATE}.terminationGracePeriod",
        "Never",
        f"{TEMPLATE}.terminationGracePeriod",
        "expected hours, minutes and seconds",
    ),
    (
        POOL,
        "spec.disruption.consolidateAfter",
        "soon",
        "spec.disruption.consolidateAfter",
        'or "Never"',
    ),
    (
        POOL,
        "spec.disruption.consolidationPolicy",
        "Always",
        "spec.disruption.consolidationPolicy",
        "expected one of WhenEmpty",
    ),
    # budgets
    (
        POOL,
        "spec.disruption.budgets.0.nodes",
        "101%",
        "spec.disruption.budgets[0].nodes",
        'expected a number such as "5"',
    ),
    (
        POOL,
        "spec.disruption.budgets.0.nodes",
        "-1",
        "spec.disruption.budgets[0].nodes",
        'expected a number such as "5"',
    ),
    (
        POOL,
        "spec.disruption.budgets.0.nodes",
        "2147483648",
        "spec.disruption.budgets[0].nodes",
        "expected at most 2147483647",
    ),
    (
        POOL,
        "spec.disruption.budgets.0.nodes",
        "9" * 5000,
        "spec.disruption.budgets[0].nodes",
        "expected at most 2147483647",
    ),
    (
        POOL,
        "spec.disruption.budgets.0.duration",
        "-1h",
        "spec.disruption.budgets[0].duration",
        "expected hours and minutes",
    ),
    (
        POOL,
        "spec.disruption.budgets.0.reasons",
        ["Expired"],
        "spec.disruption.budgets[0].reasons[0]",
        "expected one of Underutilized",
    ),
    (
        POOL,
        "spec.disruption.budgets.0.reasons",
        ["Empty", "Empty"],
        "spec.disruption.budgets[0].reasons[1]",
        "'Empty' is there twice",
    ),
    (
        POOL,
        "spec.disruption.budgets.0.schedule",
        "daily",
        "spec.disruption.budgets[0].schedule",
        "five cron fields",
    ),
    (
        POOL,
        "spec.disruption.budgets.0.schedule",
        "0 0 * * 7",
        "spec.disruption.budgets[0].schedule",
        "expected values from 0 to 6",
    ),
    (
        POOL,
        "spec.disruption.budgets.0.schedule",
        "60 0 * * *",
        "spec.disruption.budgets[0].schedule",
        "expected values from 0 to 59",
    ),
    (
        POOL,
        "spec.disruption.budgets.0.schedule",
        "0 24 * * *",
        "spec.disruption.budgets[0].schedule",
        "expected values from 0 to 23",
    ),
    (
        POOL,
        "spec.disruption.budgets.0.schedule",
        "0 0 32 * *",
        "spec.disruption.budgets[0].schedule",
        "expected values from 1 to 31",
    ),
    (
        POOL,
        "spec.disruption.budgets.0.schedule",
        "0 0 * 13 *",
        "spec.disruption.budgets[0].schedule",
        "expected values from 1 to 12",
    ),
    (
        POOL,
        "spec.disruption.budgets.0.schedule",
        "*/0 0 * * *",
        "spec.disruption.budgets[0].schedule",
        "'*/0' is no minute",
    ),
    (
        POOL,
        "spec.disruption.budgets.0.schedule",
        "0 9-8 * * *",
        "spec.disruption.budgets[0].schedule",
        "'9-8' is no hour",
    ),
    (
        POOL,
        "spec.disruption.budgets.0.schedule",
        "0 0 * * 0" + ",0" * 600,
        "spec.disruption.budgets[0].schedule",
        "expected at most 1024",
    ),
    (
        POOL,
        "spec.disruption.budgets.0.duration",
        "90s",
        "spec.disruption.budgets[0].duration",
        "expected hours and minutes",
    ),
    (
        POOL,
        "spec.disruption.budgets.0.duration",
        ...,
        "spec.disruption.budgets[0]",
        rules.SCHEDULE_WITH_DURATION.message,
    ),
    (
        POOL,
        "spec.disruption.budgets.0.schedule",
        ...,
        "spec.disruption.budgets[0]",
        rules.SCHEDULE_WITH_DURATION.message,
    ),
    (
        POOL,
        "spec.disruption.budgets",
        [{"nodes": "1"}] * 51,
        "spec.disruption.budgets",
        "expected at most 50",
    ),
    # the pool itself
    (POOL, "spec.weight", 0, "spec.weight", "expected at least 1"),
    (POOL, "spec.weight", 101, "spec.weight", "expected at most 100"),
    (POOL, "spec.replicas", 1, "spec", rules.STATIC_HAS_NO_WEIGHT.message),
    (POOL, "spec.replicas", 1, "spec", rules.STATIC_LIMITS_NODES_ONLY.message),
    (POOL, "spec.replicas", -1, "spec.replicas", "expected at least 0"),
    (POOL, "spec.limits.cpu", "lots", "spec.limits.cpu", "is not a quantity"),
    (POOL, "spec.limits.cpu", -1, "spec.limits.cpu", "expected 0 or more"),
    (POOL, "spec.limits.a b", 1, "spec.limits.a b", "is no resource name"),
    # claims
    (
        CLAIM,
        "spec.requirements.0.key",
        "karpenter.sh/x",
        "spec.requirements[0].key",
        rules.RESTRICTED_KEY.message,
    ),
    (CLAIM, "spec.expireAfter", "1d", "spec.expireAfter", 'or "Never"'),
    (
        CLAIM,
        "spec.taints",
        [{"key": "a", "effect": "NoExecute"}] * 2,
        "spec.taints[1]",
        "is there twice",
    ),
    (
        CLAIM,
        "spec.resources.requests.cpu",
        "x",
        "spec.resources.requests.cpu",
        "is not a quantity",
    ),
    # overlays
    (
        OVERLAY,
        "spec.requirements.0",
        _requirement("a", "NotIn"),
        "spec.requirements[0]",
        rules.NOT_IN_HAS_VALUES.message,
    ),
    (
        OVERLAY,
        "spec.requirements.0",
        _requirement("a", "In"),
        "spec.requirements[0]",
        rules.IN_HAS_VALUES.message,
    ),
    (
        OVERLAY,
        "spec.requirements.0.key",
        "kubernetes.io/hostname",
        "spec.requirements[0].key",
        rules.NOT_HOSTNAME.message,
    ),
    *(
        (OVERLAY, "spec.priceAdjustment", text, "spec.priceAdjustment", "expected a signed amount")
        for text in ("1.5", "10%", "-101%", "-100.5%", "+", "free")
    ),
    (OVERLAY, "spec.price", "0.5", "spec", rules.ONE_PRICE.message),
    (
        spoiled(OVERLAY, "spec.priceAdjustment", ...),
        "spec.price",
        "-1",
        "spec.price",
        "expected a price",
    ),
    *(
        (
            OVERLAY,
            f"spec.capacity.{name}",
            1,
            "spec.capacity",
            rules.EXTENDED_RESOURCES_ONLY.message,
        )
        for name in ("cpu", "memory", "ephemeral-storage", "pods")
    ),
    (OVERLAY, "spec.weight", 10001, "spec.weight", "expected at most 10000"),
    (OVERLAY, "spec.weight", 0, "spec.weight", "expected at least 1"),
    # buffers
    (BUFFER, "spec.replicas", ..., "spec", rules.BUFFER_IS_COUNTED.message),
    (BUFFER, "spec.replicas", -1, "spec.replicas", "expected at least 0"),
    (BUFFER, "spec.percentage", -1, "spec.percentage", "expected at least 0"),
    (BUFFER, "spec.limits", {"cpu": "x"}, "spec.limits.cpu", "is not a quantity"),
    (BUFFER, "spec.podTemplateRef", ..., "spec", "expected podTemplateRef or scalableRef"),
    (BUFFER, "spec.podTemplateRef.name", "", "spec.podTemplateRef.name", "is empty"),
    (
        BUFFER,
        "spec.scalableRef",
        {"apiGroup": "apps", "kind": "Deployment", "name": "web"},
        "spec",
        rules.ONE_BUFFER_SOURCE.message,
    ),
    (
        BUFFER,
        "spec",
        {"scalableRef": {"apiGroup": "apps", "kind": "DaemonSet", "name": "x"}, "percentage": 5},
        "spec.scalableRef.kind",
        "expected one of Deployment",
    ),
    (
        BUFFER,
        "spec",
        {"scalableRef": {"apiGroup": "batch", "kind": "Deployment", "name": "x"}},
        "spec.scalableRef.apiGroup",
        "expected apps",
    ),
    # kwok
    (KWOK, "spec.nodeRegistrationDelay", "soon", "spec.nodeRegistrationDelay", "a duration such"),
]


@pytest.mark.parametrize(
    ("tree", "path", "value", "field", "message"),
    BAD,
    ids=[f"{number}: {tree['kind']} {path}" for number, (tree, path, *_) in enumerate(BAD)],
)
def test_a_broken_rule_is_told_with_field_and_expectation(
    tree: Tree, path: str, value: object, field: str, message: str
) -> None:
    """One object for each rule."""
    found = problems(spoiled(tree, path, value))
    assert any(one.field == field and message in one.message for one in found), found


def _rules() -> Iterator[tuple[str, Rule]]:
    for name, value in vars(rules).items():
        if isinstance(value, Rule):
            yield name, value


SAID_BETTER_ELSEWHERE = {"SCHEDULE_READABLE"}  # which part of the schedule is wrong, and why


@pytest.mark.parametrize(("name", "rule"), list(_rules()), ids=[name for name, _ in _rules()])
def test_every_rule_about_one_object_refuses_one_above(name: str, rule: Rule) -> None:
    """No rule is forgotten; those about change cannot be judged from one object."""
    if rule.holds is None:
        assert "oldSelf" in rule.cel or name in SAID_BETTER_ELSEWHERE
        return
    assert any(message == rule.message for *_, message in BAD), name


def test_every_problem_is_reported_not_only_the_first() -> None:
    """So that a manifest is mended in one go."""
    tree = spoiled(spoiled(POOL, "spec.weight", 0), f"{TEMPLATE}.expireAfter", "1d")
    assert {one.field for one in problems(tree)} == {"spec.weight", f"{TEMPLATE}.expireAfter"}


def test_a_field_that_its_schema_refuses_is_not_told_off_twice() -> None:
    """The runtime check of a restricted label repeats what the schema says."""
    found = problems(spoiled(POOL, f"{REQUIREMENTS}.2.key", "karpenter.sh/x"))
    assert [one.field for one in found] == [f"{REQUIREMENTS}[2].key"]


def test_defaults_are_those_of_the_reference() -> None:
    """What a manifest leaves out is as users know it."""
    tree: Tree = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "a"},
        "spec": {"template": {"spec": {"nodeClassRef": REFERENCE, "requirements": []}}},
    }
    pool = api.decode(api.NodePool, tree)
    assert pool.spec.template.spec.expire_after == "720h"
    assert pool.spec.disruption.consolidate_after == "0s"
    assert pool.spec.disruption.consolidation_policy == "WhenEmptyOrUnderutilized"
    assert [one.nodes for one in pool.spec.disruption.budgets] == ["10%"]
    assert pool.spec.weight is None
    assert api.problems(pool) == []
