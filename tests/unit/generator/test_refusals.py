"""What is wrong with a request is refused with field and remedy, all of it at once."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dovetail.errors import InputError
from dovetail.generator import RequestError, generate, provider_catalogue
from dovetail.model.requirements import Requirements, requirement
from tests.unit.generator.requests import KWOK, PLAIN, catalogue

FAMILY = "karpenter.k8s.aws/instance-family"
TAINT = {"key": "a", "effect": "NoSchedule"}
NEW = {"role": "r", "cluster": "c"}
REFUSALS = [
    # the fields by themselves
    pytest.param([], "", "a list; expected the fields", id="no map"),
    pytest.param({"nmae": "a"}, "nmae", "expected name", id="unknown key"),
    pytest.param({"zzz": 1}, "zzz", "expected one of name, provider", id="unlike any key"),
    pytest.param(
        {"nodeClass": NEW | {"rol": "a"}}, "nodeClass.rol", "expected role", id="inner key"
    ),
    pytest.param(
        {"taints": [TAINT | {"effekt": "a"}]}, "taints[0].effekt", "expected effect", id="in list"
    ),
    pytest.param({"cpu": ["64"]}, "cpu", "found a list; expected an amount", id="list as amount"),
    pytest.param({"cpu": True}, "cpu", "found true or false", id="truth as amount"),
    pytest.param({"cpu": "many"}, "cpu", "is not a quantity; expected a number", id="no amount"),
    pytest.param({"cpu": -4}, "cpu", "negative; expected 0 or more", id="negative cpu"),
    pytest.param({"memory": "-1Gi"}, "memory", "negative; expected 0", id="negative memory"),
    pytest.param({"gpus": -1}, "gpus", "too small; expected at least 1", id="negative gpus"),
    pytest.param({"gpus": "4"}, "gpus", "found text; expected a whole number", id="text as count"),
    pytest.param({"gpus": 10**30}, "gpus", "expected a whole number", id="endless count"),
    pytest.param({"weight": 101}, "weight", "expected at most 100", id="heavy"),
    pytest.param({"spot": "maybe"}, "spot", "expected one of never, allowed, only", id="spot"),
    pytest.param({"spot": True}, "spot", "expected text", id="spot as truth"),
    pytest.param({"name": "Pay"}, "name", "expected lower-case letters", id="name"),
    pytest.param({"name": None}, "name", "missing; expected the name", id="no name"),
    pytest.param({"zones": "a"}, "zones", "found text; expected a list", id="text as list"),
    pytest.param({"zones": [1]}, "zones[0]", "found a number; expected text", id="number as zone"),
    pytest.param({"zones": [""]}, "zones[0]", "is empty; expected a name", id="empty zone"),
    pytest.param({"labels": ["a"]}, "labels", "expected a map of texts", id="list as labels"),
    pytest.param({"labels": {"a": 7}}, "labels.a", "expected text, in quotes", id="number label"),
    pytest.param({"labels": {"a": "b c"}}, "labels.a", "expected at most 63", id="label value"),
    pytest.param({"labels": {"a b": "c"}}, "labels.a b", "expected a name such", id="label key"),
    pytest.param({"taints": ["a"]}, "taints[0]", "a map of key, value, effect", id="text as taint"),
    pytest.param({"architectures": ["x86"]}, "architectures[0]", "amd64, arm64", id="architecture"),
    pytest.param({"cpuPerNode": 4}, "cpuPerNode", "a map of min, max", id="number as range"),
    # contradictions
    pytest.param({"cpu": None}, "cpu, memory, gpus", "nothing is requested", id="nothing"),
    pytest.param({"cpu": 0}, "cpu", "allows no node; expected", id="no cpu"),
    pytest.param({"memory": "0Gi"}, "memory", "allows no node; expected", id="no memory"),
    pytest.param(
        {"cpuPerNode": {"min": 8, "max": 4}}, "cpuPerNode", "min 8 is above max 4", id="min and max"
    ),
    pytest.param(
        {"memoryPerNode": {"min": "8Gi", "max": "4Gi"}},
        "memoryPerNode",
        "min 8Gi is above max 4Gi; expected",
        id="min and max of memory",
    ),
    pytest.param(
        {"cpuPerNode": {"min": "1500m"}}, "cpuPerNode.min", "no whole number", id="part of a cpu"
    ),
    pytest.param({"cpuPerNode": {"max": 0}}, "cpuPerNode.max", "allows no node", id="no max"),
    pytest.param(
        {"cpuPerNode": {"min": 96}}, "cpuPerNode.min", "more than cpu allows", id="min above total"
    ),
    pytest.param(
        {"zones": ["us-west-2a", "us-west-2a"]}, "zones[1]", "twice; expected it once", id="zones"
    ),
    pytest.param({"families": ["m7g", "m7g"]}, "families[1]", "twice", id="family twice"),
    pytest.param(
        {"architectures": ["arm64", "arm64"]}, "architectures[1]", "twice", id="architecture twice"
    ),
    pytest.param({"taints": [{"key": "a"}]}, "taints[0].effect", "missing", id="taint: no effect"),
    pytest.param(
        {"taints": [{"effect": "NoSchedule"}]}, "taints[0].key", "missing", id="taint: no key"
    ),
    pytest.param(
        {"taints": [{"key": "a b", "effect": "NoSchedule"}]},
        "taints[0].key",
        "is no taint key; expected",
        id="taint: odd key",
    ),
    pytest.param(
        {"taints": [{"key": "a", "value": "b c", "effect": "NoSchedule"}]},
        "taints[0].value",
        "is no taint value; expected",
        id="taint: odd value",
    ),
    pytest.param(
        {"taints": [{"key": "a", "effect": "Never"}]},
        "taints[0].effect",
        "expected one of NoSchedule",
        id="taint: odd effect",
    ),
    pytest.param(
        {"taints": [{"key": "a", "effect": "NoSchedule"}] * 2}, "taints[1]", "twice", id="taints"
    ),
    pytest.param(
        {"labels": {"karpenter.sh/nodepool": "a"}},
        "labels.karpenter.sh/nodepool",
        "expected name or another label",
        id="label of the autoscaler",
    ),
    pytest.param(
        {"labels": {"kubernetes.io/hostname": "a"}},
        "labels.kubernetes.io/hostname",
        "expected another label",
        id="host name",
    ),
    pytest.param(
        {"labels": {"topology.kubernetes.io/zone": "a"}},
        "labels.topology.kubernetes.io/zone",
        "expected zones",
        id="zone as label",
    ),
    # quiet hours
    pytest.param(
        {"quietHours": ["nights"]}, "quietHours[0]", "expected days and hours", id="words"
    ),
    pytest.param({"quietHours": ["08:00-25:00"]}, "quietHours[0]", "no time of day", id="25:00"),
    pytest.param({"quietHours": ["08:61-09:00"]}, "quietHours[0]", "no time of day", id="08:61"),
    pytest.param({"quietHours": ["08:00-08:00"]}, "quietHours[0]", "00:00-24:00", id="no time"),
    pytest.param({"quietHours": ["24:00-08:00"]}, "quietHours[0]", "expected 00:00", id="24:00"),
    pytest.param({"quietHours": ["mo 8:00-9:00"]}, "quietHours[0]", "no day of the week", id="mo"),
    pytest.param({"quietHours": ["00:00-24:00"]}, "quietHours", "the whole week", id="always"),
    pytest.param(
        {"quietHours": ["mon-fri 00:00-24:00", "sat,sun 00:00-12:00", "sat,sun 12:00-24:00"]},
        "quietHours",
        "the whole week",
        id="always, together",
    ),
    # the provider
    pytest.param({"families": ["m77"]}, "families[0]", "no instance family", id="family"),
    pytest.param(
        {"families": ["m7g"], "architectures": ["amd64"]},
        "families[0]",
        "arm64 in architectures",
        id="family of another architecture",
    ),
    pytest.param(
        {"gpus": 4, "families": ["m7g"]}, "families", "m7g has no GPUs; expected", id="no GPUs"
    ),
    pytest.param(
        {"gpus": 4, "families": ["g5", "m5", "c5"]}, "families", "m5, c5 have no GPUs", id="some"
    ),
    pytest.param({"families": ["g5"]}, "gpus", "g5 has GPUs; expected the most", id="no total"),
    pytest.param(
        {"cpu": None, "gpus": 4, "families": ["p5"]},
        "gpus",
        "less than the smallest node",
        id="few",
    ),
    pytest.param({"cpu": 1, "families": ["p3dn"], "gpus": 8}, "cpu", "smallest node", id="few cpu"),
    pytest.param({"cpu": None, "memory": "1Mi"}, "memory", "smallest node", id="few memory"),
    pytest.param({"zones": ["zone-a"]}, "zones[0]", "expected a zone such as", id="zone"),
    pytest.param(
        {"zones": ["us-west-2a", "eu-west-1a"]}, "zones", "different regions", id="two regions"
    ),
    pytest.param(
        {"cpuPerNode": {"min": 3, "max": 3}},
        "cpuPerNode",
        "no instance type of provider aws",
        id="nothing fits",
    ),
    pytest.param({"nodeClass": {}}, "nodeClass", "role and cluster are missing", id="no class"),
    pytest.param(
        {"nodeClass": {"role": "r"}}, "nodeClass", "cluster is missing", id="half a class"
    ),
    pytest.param(
        {"nodeClass": NEW | {"image": "al9"}}, "nodeClass.image", "family@version", id="image"
    ),
    pytest.param({"nodeClass": NEW | {"disk": "100"}}, "nodeClass.disk", "1Gi to", id="disk"),
    pytest.param({"nodeClass": {"name": "A"}}, "nodeClass.name", "lower-case", id="class name"),
]
REFUSALS_OF_KWOK = [
    pytest.param({"gpus": 4}, "gpus", "no instance types with GPUs", id="gpus"),
    pytest.param(
        {"memoryPerNode": {"min": "1Gi"}}, "memoryPerNode", "expected cpuPerNode", id="mem"
    ),
    pytest.param({"nodeClass": {"role": "r"}}, "nodeClass.role", "means nothing", id="setting"),
]


def problems_of(tree: Any, provider: str = "aws") -> list[tuple[str, str]]:
    """What is wrong with a request: fields and messages."""
    with pytest.raises(RequestError) as raised:
        generate(tree, catalogue(provider), "request.yaml")
    assert str(raised.value).count("request.yaml: ") == len(raised.value.problems)
    return [(problem.field, problem.message) for problem in raised.value.problems]


@pytest.mark.parametrize(("change", "field", "message"), REFUSALS)
def test_a_request_is_refused_with_field_and_remedy(change: Any, field: str, message: str) -> None:
    """Only the field that is wrong is named."""
    tree = PLAIN | change if isinstance(change, dict) else change
    [(got_field, got)] = problems_of(tree)
    assert got_field == field
    assert message in got
    assert "expected" in got


@pytest.mark.parametrize(("change", "field", "message"), REFUSALS_OF_KWOK)
def test_providers_refuse_what_they_do_not_have(
    change: dict[str, Any], field: str, message: str
) -> None:
    """By their form and their instance types."""
    [(got_field, got)] = problems_of(KWOK | change, "kwok")
    assert got_field == field
    assert message in got


def test_everything_that_is_wrong_is_named_at_once_in_the_order_of_the_fields() -> None:
    """Of all three kinds: fields, contradictions, and what the provider lacks."""
    tree = {
        "nodeClass": {"name": "a", "rule": "b"},
        "quietHours": ["25:00-26:00", "never"],
        "taints": [7, {"key": "a"}],
        "zones": ["us-west-2a", "us-west-2a", "eu-west-1a"],
        "spot": "maybe",
        "cpuPerNode": {"min": 8, "max": 4},
        "families": ["g5", "m5", "g55"],
        "gpus": 4,
        "cpu": "-4",
        "colour": "blue",
    }
    assert [field for field, _ in problems_of(tree)] == [
        "colour",
        "name",
        "cpu",
        "families[2]",
        "families",
        "cpuPerNode",
        "spot",
        "zones[1]",
        "zones",
        "taints[0]",
        "taints[1].effect",
        "quietHours[0]",
        "quietHours[1]",
        "nodeClass.rule",
    ]


def test_gpus_of_several_kinds_need_a_pool_for_each() -> None:
    """Their limits are of different resources."""
    aws = catalogue("aws")
    [first, *_] = aws.of_family("g5")
    amd = msgspec.structs.replace(
        first,
        name="g9ad.xlarge",
        requirements=Requirements(
            [
                *(item for item in first.requirements.values() if item.key != FAMILY),
                requirement(FAMILY, "In", ["g9ad"]),
            ]
        ),
        capacity={"cpu": 4000, "memory": 2**34, "amd.com/gpu": 1},
    )
    both = msgspec.structs.replace(aws, types=(*aws.types, amd))
    with pytest.raises(RequestError) as raised:
        generate(PLAIN | {"gpus": 4, "families": ["g5", "g9ad"]}, both)
    [problem] = raised.value.problems
    assert problem.field == "families"
    assert problem.message == (
        "have GPUs of several kinds, amd.com/gpu, nvidia.com/gpu; expected a pool for each"
    )


def test_a_provider_that_generates_no_pools_has_no_catalogue() -> None:
    """The others are named."""
    with pytest.raises(InputError, match="'cloudy' generates NodePools; expected one of aws, kwok"):
        provider_catalogue("cloudy")
