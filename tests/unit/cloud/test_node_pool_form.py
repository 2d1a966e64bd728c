"""The forms of providers agree with what the providers bring otherwise."""

from __future__ import annotations

import re

import pytest

from dovetail.api.checks import fields
from dovetail.cloud.node_pool_form import NodePoolForm
from dovetail.cloud.plugin import ProviderPlugin
from dovetail.generator.request import NodeClassRequest
from dovetail.providers.aws.plugin import PLUGIN as AWS
from dovetail.providers.kwok.plugin import PLUGIN as KWOK


def form_of(plugin: object) -> NodePoolForm:
    """The form of a plugin that has one."""
    assert isinstance(plugin, ProviderPlugin)
    assert plugin.form is not None
    return plugin.form


@pytest.mark.parametrize("plugin", [AWS, KWOK], ids=["aws", "kwok"])
def test_labels_and_node_class_are_those_of_the_provider(plugin: object) -> None:
    """A pool never requires a label that no node has."""
    assert isinstance(plugin, ProviderPlugin)
    form = form_of(plugin)
    assert form.node_class in plugin.node_classes
    used = [form.family_label, form.cpu_label, form.memory_label, form.gpu_label]
    used += [item.key for item in (*form.usual, *form.usual_gpu)]
    assert [key for key in used if key and key not in plugin.label_keys] == []


@pytest.mark.parametrize("plugin", [AWS, KWOK], ids=["aws", "kwok"])
def test_settings_of_a_node_class_are_fields_of_a_request(plugin: object) -> None:
    """And what is needed is allowed."""
    form = form_of(plugin)
    assert set(form.needs) <= set(form.allows)
    assert set(form.allows) <= {field.name for field in fields(NodeClassRequest)} - {"name"}


@pytest.mark.parametrize(
    ("zone", "region"),
    [
        ("us-west-2a", "us-west-2"),
        ("eu-central-1c", "eu-central-1"),
        ("us-gov-west-1b", "us-gov-west-1"),
        ("us-west-2-lax-1a", "us-west-2"),
        ("us-west-2", None),
        ("2a", None),
        ("usw2-az1", None),
    ],
)
def test_the_region_of_a_zone_on_aws(zone: str, region: str | None) -> None:
    """None for what is no name of a zone, such as its id."""
    match = re.fullmatch(form_of(AWS).zone_pattern, zone)
    assert (match and match[1]) == region
