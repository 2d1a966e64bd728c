"""The page about EC2NodeClass names every field, and its examples are sound."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from dovetail import api
from dovetail.providers.aws.node_class import kubelet, kubelet_keys
from dovetail.providers.aws.node_class.hashing import HASH_VERSION
from dovetail.providers.aws.plugin import PLUGIN
from tests.unit.providers.aws.node_class.definition import definition

PAGE = (Path(__file__).parents[2] / "docs" / "aws-node-class.md").read_text(encoding="utf-8")
FENCED = re.compile(r"```.*?```", re.DOTALL)
NAMED = set(re.findall(r"`([^`]+)`", FENCED.sub("", PAGE)))


def _fields(schema: dict[str, Any]) -> Iterator[str]:
    for name, inner in schema.get("properties", {}).items():
        yield name
        yield from _fields(inner)
        yield from _fields(inner.get("items", {}))


def _examples() -> list[Any]:
    return [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]


def test_every_field_of_the_spec_is_on_the_page() -> None:
    """A new field is a new line."""
    (version,) = definition()["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert sorted(set(_fields(schema)) - NAMED) == []


def test_every_variable_key_and_reason_is_on_the_page() -> None:
    """What users can write, and what they are told."""
    reasons = {
        kubelet.INVALID_CONFIGURATION,
        kubelet.UNSUPPORTED_CONFIGURATION,
        kubelet.EXPRESSIONS_DISABLED,
        kubelet.EXPRESSION_INVALID,
        kubelet.EXPRESSION_EVALUATION_FAILED,
    }
    wanted = {*kubelet.VARIABLES, *kubelet_keys.MANAGED, *kubelet_keys.SIGNALS, *reasons}
    assert sorted(wanted - NAMED) == []
    assert HASH_VERSION in NAMED


def test_the_examples_are_sound() -> None:
    """A class that validates, and kubelet settings that compile."""
    node_class, settings = _examples()
    kind = api.find_extended("karpenter.k8s.aws/v1", "EC2NodeClass", (PLUGIN.extension,))
    assert kind is not None
    assert api.problems(api.read(kind, node_class), (PLUGIN.extension,)) == []
    parsed = kubelet.parse_kubelet(settings["kubelet"])
    assert set(parsed.expressions) == {"maxPods", "kubeReserved.cpu", "kubeReserved.memory"}
