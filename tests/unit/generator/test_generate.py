"""What a request comes to: valid documents, the same bytes each time."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from dovetail import api
from dovetail.apiserver import MemoryKube
from dovetail.apiserver.http.fields import sift
from dovetail.apiserver.http.kinds import OFFERED
from dovetail.clock import SystemClock
from dovetail.cloud.registry import extensions
from dovetail.decide.disrupt.flaws import flaws
from dovetail.generator import generate, provider_names
from dovetail.generator.generate import embedded_request
from dovetail.kube.manifests import read_all_problems
from dovetail.kube.seam import Scope
from dovetail.state.objects import node_pool
from tests.unit.generator.requests import FULL, GPU, KWOK, PLAIN, catalogue, text_of

SAMPLES = [
    pytest.param(PLAIN, id="little"),
    pytest.param(FULL, id="everything"),
    pytest.param(GPU, id="gpus"),
    pytest.param(KWOK, id="kwok"),
]
FIELDS = [
    pytest.param(
        {"cpu": 64, "memory": "1Ti"}, "spec.limits", {"cpu": "64", "memory": "1Ti"}, id="totals"
    ),
    pytest.param({"gpus": 4}, "spec.limits", {"cpu": "64", "nvidia.com/gpu": "4"}, id="gpus"),
    pytest.param({"weight": 7}, "spec.weight", 7, id="weight"),
    pytest.param({"labels": {"a": "b"}}, "spec.template.metadata.labels", {"a": "b"}, id="labels"),
    pytest.param(
        {"taints": [{"key": "a", "effect": "NoExecute"}]},
        "spec.template.spec.taints",
        [{"key": "a", "effect": "NoExecute"}],
        id="taints",
    ),
    pytest.param(
        {"nodeClass": {"name": "x"}},
        "spec.template.spec.nodeClassRef",
        {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "x"},
        id="node class",
    ),
    pytest.param(
        {"quietHours": ["sat,sun 00:00-24:00"]},
        "spec.disruption.budgets",
        [
            {"nodes": "10%"},
            {
                "nodes": "0",
                "reasons": ["Underutilized", "Drifted"],
                "schedule": "0 0 * * sat,sun",
                "duration": "24h",
            },
        ],
        id="quiet hours",
    ),
]
CONSTRAINTS = [
    pytest.param({}, "karpenter.sh/capacity-type", ("In", ["on-demand"]), id="no spot"),
    pytest.param(
        {"spot": "allowed"}, "karpenter.sh/capacity-type", ("In", ["spot", "on-demand"]), id="spot"
    ),
    pytest.param({"spot": "only"}, "karpenter.sh/capacity-type", ("In", ["spot"]), id="only spot"),
    pytest.param({}, "kubernetes.io/arch", ("In", ["amd64"]), id="usual architecture"),
    pytest.param(
        {"families": ["m7g", "m6i"]},
        "kubernetes.io/arch",
        ("In", ["amd64", "arm64"]),
        id="architectures of families",
    ),
    pytest.param(
        {"architectures": ["arm64"]}, "kubernetes.io/arch", ("In", ["arm64"]), id="architecture"
    ),
    pytest.param(
        {"families": ["m7g"]}, "karpenter.k8s.aws/instance-family", ("In", ["m7g"]), id="families"
    ),
    pytest.param(
        {}, "karpenter.k8s.aws/instance-category", ("In", ["c", "m", "r"]), id="no families"
    ),
    pytest.param(
        {"cpuPerNode": {"min": 4}}, "karpenter.k8s.aws/instance-cpu", ("Gte", ["4"]), id="least cpu"
    ),
    pytest.param(
        {"cpuPerNode": {"max": 16}},
        "karpenter.k8s.aws/instance-cpu",
        ("Lte", ["16"]),
        id="most cpu",
    ),
    pytest.param(
        {"memoryPerNode": {"min": "16Gi"}},
        "karpenter.k8s.aws/instance-memory",
        ("Gte", ["16384"]),
        id="least memory, in MiB",
    ),
    pytest.param(
        {"zones": ["us-west-2a"]}, "topology.kubernetes.io/zone", ("In", ["us-west-2a"]), id="zones"
    ),
    pytest.param({"gpus": 4}, "karpenter.k8s.aws/instance-gpu-count", ("Gt", ["0"]), id="gpus"),
    pytest.param(
        {"gpus": 4},
        "karpenter.k8s.aws/instance-gpu-manufacturer",
        ("In", ["nvidia"]),
        id="gpus of any family",
    ),
]


def pool_of(request: dict[str, Any]) -> Any:
    """The NodePool of a request, as YAML reads it."""
    return list(yaml.safe_load_all(text_of(request)))[-1]


def at(tree: Any, path: str) -> Any:
    """What stands at a path of names."""
    for name in path.split("."):
        tree = tree[name]
    return tree


@pytest.mark.parametrize("request_", SAMPLES)
def test_the_file_is_accepted_by_validate(request_: dict[str, Any]) -> None:
    """By the reader behind `dovetail validate`, unknown fields included."""
    text = text_of(request_)
    stdin = io.BytesIO(text.encode())
    manifests, problems = read_all_problems(["-"], stdin, extensions())
    assert problems == ()
    assert len(manifests.manifests) == text.count("---\n") + 1


@pytest.mark.parametrize("request_", SAMPLES)
def test_the_documents_fit_their_definitions(request_: dict[str, Any]) -> None:
    """Every field is declared in the schema of its custom resource definition."""
    for document in generate(request_, catalogue(request_.get("provider", "aws"))).documents:
        [kind] = [one for one in OFFERED if one.kind.name == document["kind"]]
        found = sift(dict(document), kind)
        assert (found.tree, found.unknown) == (document, ())


@pytest.mark.parametrize("request_", SAMPLES)
async def test_the_documents_are_accepted_by_an_api_server(request_: dict[str, Any]) -> None:
    """With the rules of its admission."""
    kube = MemoryKube(SystemClock())
    for document in generate(request_, catalogue(request_.get("provider", "aws"))).documents:
        [kind] = [one.kind for one in OFFERED if one.kind.name == document["kind"]]
        await kube.create(kind, dict(document))
        page = await kube.list(Scope(kind))
        assert len(page.items) == 1


def test_quiet_hours_are_budgets_without_flaws() -> None:
    """They begin, end and leave gaps, as `dovetail budgets` checks."""
    *_, document = generate(FULL, catalogue("aws")).documents
    wire = api.decode(api.NodePool, document)
    budgets = node_pool(wire).disruption.budgets
    assert len(budgets) == 3
    assert flaws(budgets, datetime(2026, 3, 2, tzinfo=UTC)) == ()


@pytest.mark.parametrize("request_", SAMPLES)
def test_the_text_is_the_documents(request_: dict[str, Any]) -> None:
    """Comments aside, the file and what tools get are the same."""
    generated = generate(request_, catalogue(request_.get("provider", "aws")))
    assert tuple(yaml.safe_load_all(generated.text)) == generated.documents


@pytest.mark.parametrize("request_", SAMPLES)
def test_the_request_can_be_read_back_from_the_file(request_: dict[str, Any]) -> None:
    """It stands in the first lines; what it comes to is the same file to the byte."""
    text = text_of(request_)
    embedded = embedded_request(text)
    assert embedded is not None
    assert text_of(yaml.safe_load(embedded)) == text


def test_a_file_of_somebody_else_holds_no_request() -> None:
    """Nor does an empty one."""
    assert [embedded_request(text) for text in ("", "# name: a\n", "kind: NodePool\n")] == [
        None
    ] * 3


def test_the_order_of_labels_and_fields_does_not_matter() -> None:
    """Maps have no order, so the same request gives the same bytes."""
    backwards = dict(reversed(FULL.items()))
    backwards["labels"] = dict(reversed(FULL["labels"].items()))
    assert text_of(backwards) == text_of(FULL)


@pytest.mark.parametrize(("change", "path", "want"), FIELDS)
def test_a_field_of_the_request_is_a_field_of_the_pool(
    change: dict[str, Any], path: str, want: object
) -> None:
    """Each in its place."""
    assert at(pool_of(PLAIN | change), path) == want


@pytest.mark.parametrize(("change", "key", "want"), CONSTRAINTS)
def test_a_field_of_the_request_is_a_requirement_of_the_pool(
    change: dict[str, Any], key: str, want: tuple[str, list[str]]
) -> None:
    """With its key, operator and values."""
    requirements = pool_of(PLAIN | change)["spec"]["template"]["spec"]["requirements"]
    assert [(one["operator"], one["values"]) for one in requirements if one["key"] == key] == [want]


def test_a_node_class_is_written_if_it_is_new() -> None:
    """By its settings; a name alone is one that exists."""
    documents = [list(yaml.safe_load_all(text_of(request))) for request in (PLAIN, FULL)]
    assert [[one["kind"] for one in each] for each in documents] == [
        ["NodePool"],
        ["EC2NodeClass", "NodePool"],
    ]
    node_class, pool = documents[1]
    assert node_class["metadata"]["name"] == "payments-nodes"
    assert pool["spec"]["template"]["spec"]["nodeClassRef"]["name"] == "payments-nodes"
    spec = node_class["spec"]
    assert spec["role"] == "KarpenterNodeRole-web"
    assert spec["amiSelectorTerms"] == [{"alias": "al2023@v20260101"}]
    assert spec["subnetSelectorTerms"] == [{"tags": {"karpenter.sh/discovery": "web"}}]
    assert spec["securityGroupSelectorTerms"] == [{"tags": {"karpenter.sh/discovery": "web"}}]
    assert spec["blockDeviceMappings"][0]["ebs"]["volumeSize"] == "100Gi"


def test_a_new_node_class_is_named_after_its_pool() -> None:
    """And has the newest image, which a warning points out."""
    generated = generate(PLAIN | {"nodeClass": {"role": "r", "cluster": "c"}}, catalogue("aws"))
    node_class, _ = yaml.safe_load_all(generated.text)
    assert node_class["metadata"]["name"] == "payments"
    assert node_class["spec"]["amiSelectorTerms"] == [{"alias": "al2023@latest"}]
    assert [line.partition(":")[0] for line in generated.warnings] == ["nodeClass.image"]


@pytest.mark.parametrize(
    ("request_", "want"),
    [
        pytest.param(PLAIN, [], id="nothing"),
        pytest.param(GPU, [], id="nodes with GPUs are tainted"),
        pytest.param(GPU | {"taints": []}, ["taints"], id="nodes with GPUs without a taint"),
        pytest.param(PLAIN | {"zones": ["eu-west-1a"]}, ["zones"], id="zones of another region"),
    ],
)
def test_what_is_probably_not_meant_is_a_warning(request_: dict[str, Any], want: list[str]) -> None:
    """The documents are generated all the same."""
    got = generate(request_, catalogue("aws")).warnings
    assert [line.partition(":")[0] for line in got] == want


def test_comments_explain_the_pool_to_a_reviewer() -> None:
    """What was requested, quiet hours, limits, spot and taints."""
    text = text_of(FULL)
    for comment in (
        "# Generated by `dovetail new nodepool`",
        "#   name: payments",
        "# All nodes of the pool together.",
        "# Quiet hours, mon-fri 08:00-18:00 UTC",
        "# Spot where it is available",
        "# Only pods that tolerate these taints",
        "# The IAM role of the nodes.",
    ):
        assert comment in text


def test_the_built_in_providers_generate_pools() -> None:
    """Each brings its form."""
    assert set(provider_names()) >= {"aws", "kwok"}


def test_text_that_yaml_reads_as_something_else_is_quoted() -> None:
    """Labels such as "no" and "7" stay text."""
    labels = {"a": "no", "b": "7", "c": "null", "d": "1e3", "e": "", "f": "yes", "g": "0x10"}
    assert at(pool_of(PLAIN | {"labels": labels}), "spec.template.metadata.labels") == labels


def test_every_offered_family_makes_a_valid_pool() -> None:
    """None of them contradicts the other fields."""
    for family in catalogue("aws").families():
        has_gpus = any(
            name.endswith("/gpu")
            for item in catalogue("aws").of_family(family)
            for name in item.capacity
        )
        total = {"gpus": 64} if has_gpus else {"cpu": 4096}
        tree: dict[str, Any] = {
            "name": "a",
            "families": [family],
            "nodeClass": {"name": "b"},
            **total,
        }
        [pool] = generate(tree | total, catalogue("aws")).documents
        kind = api.KINDS["karpenter.sh", "NodePool"]
        assert list(api.problems(api.read(kind, api.encode(pool)), extensions())) == []
