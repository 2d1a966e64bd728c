"""Directives of strategic merge patches that only kubectl writes."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.apiserver.patches.strategic import Strategic
from dovetail.apiserver.traits import Lists, Traits
from dovetail.kube.errors import InvalidError

CONTAINERS = {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}


def merged(target: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """The target with the patch laid over it."""
    return Strategic(Lists(Traits())).merge(target, patch)


def test_an_order_is_kept_to() -> None:
    """What the directive does not name stays in front."""
    patch = {
        "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}],
        "containers": [{"name": "c", "image": "2"}],
    }
    found = merged(CONTAINERS, patch)["containers"]
    assert [one["name"] for one in found] == ["b", "c", "a"]


def test_only_retained_keys_stay() -> None:
    """A union of which one member is set drops the others."""
    target = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}
    patch = {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}
    assert merged(target, patch) == {"strategy": {"type": "Recreate"}}


def test_a_mapping_can_be_replaced_or_deleted_whole() -> None:
    """A directive inside it says so."""
    target = {"a": {"x": 1, "y": 2}, "b": {"z": 3}}
    patch = {"a": {"$patch": "replace", "w": 4}, "b": {"$patch": "delete"}}
    assert merged(target, patch) == {"a": {"w": 4}}


def test_ports_of_containers_and_services_are_told_apart() -> None:
    """One has containerPort as its key, the other port."""
    container = {"ports": [{"containerPort": 80, "name": "old"}]}
    assert merged(container, {"ports": [{"containerPort": 80, "name": "new"}]}) == {
        "ports": [{"containerPort": 80, "name": "new"}]
    }
    service = {"ports": [{"port": 80, "name": "web"}]}
    assert merged(service, {"ports": [{"port": 81, "name": "more"}]})["ports"] == [
        {"port": 81, "name": "more"},
        {"port": 80, "name": "web"},
    ]


def test_an_item_must_have_its_key() -> None:
    """Otherwise nobody knows which one is meant."""
    with pytest.raises(InvalidError):
        merged(CONTAINERS, {"containers": [{"image": "2"}]})


def test_neither_target_nor_patch_is_changed() -> None:
    """Both are somebody else's."""
    patch = {"containers": [{"name": "a", "image": "2"}]}
    merged(CONTAINERS, patch)
    assert CONTAINERS["containers"][0]["image"] == "1"
    assert patch == {"containers": [{"name": "a", "image": "2"}]}
